package wire

import (
	"bytes"
	"encoding/json"
)

// ToolInput is what a tool is given, an object. Its numbers are json.Number, digit for digit as the agent wrote them, also
// those that a float64 rounds or has not: who decides over a tool sees what it uses.
type ToolInput map[string]any

// UnmarshalJSON implements json.Unmarshaler.
func (t *ToolInput) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var free map[string]any
	if err := d.Decode(&free); err != nil {
		return err
	}
	*t = free
	return nil
}
