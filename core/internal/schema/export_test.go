package schema

// ScanRaw reports whether the strict scanner takes data for one JSON value.
func ScanRaw(data []byte) bool {
	s := scanner{data: data}
	s.raw()
	s.finish()
	return s.err == nil
}
