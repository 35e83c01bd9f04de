package api

import "bytes"

// What tests of the package's own parsers and encoders need.
var (
	EncodeFrame       = encodeFrame
	EncodeThreadFrame = encodeThreadFrame
	CheckRoutes       = checkRoutes
	ParseMemory       = parseMemory
)

// Encode returns a body as it is answered.
func Encode(body any) string {
	var buf bytes.Buffer
	encodeBody(&buf, body)
	return buf.String()
}
