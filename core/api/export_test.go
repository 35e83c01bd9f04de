package api

// What tests of the package's own parsers and encoders need.
var (
	EncodeFrame       = encodeFrame
	EncodeThreadFrame = encodeThreadFrame
	CheckRoutes       = checkRoutes
	ParseMemory       = parseMemory
)
