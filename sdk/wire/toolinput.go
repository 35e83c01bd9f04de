package wire

import (
	"bytes"
	"encoding/json"
)

// ToolInput is what a tool is given, an object. Its numbers are json.Number, digit for digit as the agent wrote them, also
// those that a float64 rounds or has not: who decides over a tool sees what it uses.
type ToolInput map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (t *ToolInput) UnmarshalJSON(data []byte) (err error) {
	*t, err = exactly(data)
	return err
}

// exactly decodes an object whose numbers are json.Number; nil for null.
func exactly(data []byte) (object map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&object); err != nil {
		return nil, err
	}
	return object, nil
}
