package core

// Masker replaces what must not be read in clear, by the names of fields. It is safe for concurrent use, and its rules may
// change while it is used. A nil Masker is none.
type Masker interface {
	// Active reports whether anything is masked at all.
	Active() bool
	// Mask returns a JSON value with its masked fields replaced: raw itself where it has none, which must not be changed.
	Mask(raw []byte) []byte
	// Masks reports whether the value at a path, its names from the outside in, is masked.
	Masks(path ...string) bool
	// MaskText returns the text of a field, such as one of a line of the log, masked if a path names it.
	MaskText(name, text string) string
}
