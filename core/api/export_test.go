package api

import (
	"bytes"
	"encoding/json"

	"github.com/wardroom/wardroom/core"
)

// What tests of the package's own parsers and encoders need.
var (
	EncodeFrame       = encodeFrame
	EncodeThreadFrame = encodeThreadFrame
	CheckRoutes       = checkRoutes
	ParseMemory       = parseMemory
)

// Decoded is a body with a field of every kind.
type Decoded struct {
	Text   string            `json:"text" check:"required,min=1,max=5"`
	Choice core.Priority     `json:"choice" enum:"low,high"`
	Count  int64             `json:"count" check:"min=1,max=10"`
	Flag   bool              `json:"flag"`
	Raw    json.RawMessage   `json:"raw"`
	List   []json.RawMessage `json:"list" check:"max=2"`
	Free   map[string]any    `json:"free"`
	Nested struct {
		Inner string `json:"inner" check:"required"`
	} `json:"nested"`
	Words []string          `json:"words" check:"max=2"`
	Names map[string]string `json:"names"`
	Ratio float64           `json:"ratio"`
}

// Decode reads a body into a Decoded.
func Decode(data []byte) (Decoded, error) {
	var d Decoded
	err := decodeJSON(data, &d)
	return d, err
}

// ScanRaw tells whether the strict scanner takes data for one JSON value.
func ScanRaw(data []byte) bool {
	s := scanner{data: data}
	s.raw()
	s.finish()
	return s.err == nil
}

// Encode returns a body as it is answered.
func Encode(body any) string {
	var buf bytes.Buffer
	encode(&buf, body)
	return buf.String()
}
