package life

import "strings"

// maxWords is the most of somebody's words that an error repeats, in bytes.
const maxWords = 500

// OneLine is a text in one line of a length for an error.
func OneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxWords {
		text = strings.ToValidUTF8(text[:maxWords], "") + " ..."
	}
	return text
}

// Words keeps the beginning of what a holder says on standard error. It is read after its writer has ended.
type Words struct{ said []byte }

// Write implements io.Writer; it never fails.
func (w *Words) Write(p []byte) (int, error) {
	w.said = append(w.said, p[:min(len(p), maxWords-len(w.said))]...)
	return len(p), nil
}

// String returns the words in one line.
func (w *Words) String() string { return OneLine(string(w.said)) }
