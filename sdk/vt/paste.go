package vt

import (
	"strings"
	"unicode"
)

// Paste returns text as a bracketed paste. Newlines become what Enter sends, as terminals do it; control characters other
// than tabs are left out, so that nothing in the text can end the paste or be a key.
func Paste(text string) []byte {
	text = strings.ToValidUTF8(text, "\uFFFD")
	b := make([]byte, 0, len(text)+len("\x1b[200~\x1b[201~"))
	b = append(b, "\x1b[200~"...)
	for rest := text; rest != ""; {
		if end := bracketLen(rest); end > 0 {
			rest = rest[end:]
			continue
		}
		switch c := rest[0]; {
		case c == '\r' && len(rest) > 1 && rest[1] == '\n':
			rest = rest[1:]
			continue
		case c == '\n':
			b = append(b, '\r')
			rest = rest[1:]
			continue
		}
		next := strings.IndexFunc(rest, unicode.IsControl)
		switch {
		case next < 0:
			next = len(rest)
			b = append(b, rest...)
		case next > 0:
			b = append(b, rest[:next]...)
		case rest[0] == '\t' || rest[0] == '\r':
			b = append(b, rest[0])
			next = 1
		case rest[0] < 0x80:
			next = 1
		default:
			next = len("\u0080") // C1
		}
		rest = rest[next:]
	}
	return append(b, "\x1b[201~"...)
}

// bracketLen returns the length of a paste bracket that text begins with, 0 if there is none.
func bracketLen(text string) int {
	for _, bracket := range []string{"\x1b[200~", "\x1b[201~"} {
		if strings.HasPrefix(text, bracket) {
			return len(bracket)
		}
	}
	return 0
}
