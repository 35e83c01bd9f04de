package runtime

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Bounds of the exact text of a tool's input on the wire: of what is beyond them the Struct counts alone.
const (
	maxInputJSON  = 256 << 10 // bytes
	maxInputDepth = 128       // arrays and objects within each other
)

// inputToProto returns the input of a tool as a Struct, whose numbers are float64, and as JSON with those that it has. It
// goes through JSON, because values of Go that JSON knows are more than those that a Struct takes. What JSON does not know is
// left out: it is a tool's input, shown to people.
func inputToProto(in wire.ToolInput) (*structpb.Struct, []byte) {
	if in == nil {
		return nil, nil
	}
	raw, err := json.Marshal(in)
	if err != nil {
		return nil, nil
	}
	s := structOf(raw)
	if s == nil || len(raw) > maxInputJSON {
		return s, nil
	}
	return s, raw
}

// structOf returns a JSON object as a Struct; a number beyond a float64 is its text there. nil is returned for what no Struct
// holds.
func structOf(raw []byte) *structpb.Struct {
	s := &structpb.Struct{}
	if s.UnmarshalJSON(raw) == nil {
		return s
	}
	var in wire.ToolInput
	if json.Unmarshal(raw, &in) != nil {
		return nil
	}
	raw, err := json.Marshal(withinFloats(map[string]any(in)))
	if err != nil || s.UnmarshalJSON(raw) != nil {
		return nil
	}
	return s
}

// withinFloats returns a decoded value with the text of each number that a float64 has not.
func withinFloats(value any) any {
	switch v := value.(type) {
	case json.Number:
		if _, err := v.Float64(); err != nil {
			return string(v)
		}
	case []any:
		for i := range v {
			v[i] = withinFloats(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = withinFloats(v[key])
		}
	}
	return value
}

// inputFromProto reads what inputToProto wrote, or an older plugin, which has the Struct alone. The JSON counts if it is an
// object within the bounds, without a key twice, and what the Struct holds but for what float64 cannot; else the Struct does.
func inputFromProto(s *structpb.Struct, raw []byte) wire.ToolInput {
	if in, ok := readInput(raw); ok && (s == nil || proto.Equal(structOf(raw), s)) {
		return in
	}
	if s == nil {
		return nil
	}
	return s.AsMap()
}

// readInput reads the JSON of an input; false if it is not what the contract asks for.
func readInput(raw []byte) (wire.ToolInput, bool) {
	if len(raw) == 0 || len(raw) > maxInputJSON || !utf8.Valid(raw) || !json.Valid(raw) {
		return nil, false
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	value, ok := readValue(d, maxInputDepth)
	in, object := value.(map[string]any)
	return in, ok && object
}

// readValue reads the next value of valid JSON; false if it nests more than depth deep, or has a key twice in an object.
func readValue(d *json.Decoder, depth int) (any, bool) {
	token, err := d.Token()
	if err != nil {
		return nil, false
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return token, true
	}
	if depth == 0 {
		return nil, false
	}
	if delim == '[' {
		list := []any{}
		for d.More() {
			value, ok := readValue(d, depth-1)
			if !ok {
				return nil, false
			}
			list = append(list, value)
		}
		_, err = d.Token()
		return list, err == nil
	}
	object := map[string]any{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, false
		}
		key, _ := token.(string)
		if _, twice := object[key]; twice {
			return nil, false
		}
		value, ok := readValue(d, depth-1)
		if !ok {
			return nil, false
		}
		object[key] = value
	}
	_, err = d.Token()
	return object, err == nil
}
