package protocol

import (
	"time"
	"unicode/utf8"
)

// AppendHead appends the envelope of a frame up to where the payload's value comes; AppendTail ends it. typ is
// one of the Types, an empty id is left out, and stamp is the timestamp's form as a layout of package time, in
// UTC. With the payload appended by hand too, a frame costs no allocation.
func AppendHead(b []byte, typ Type, id string, now time.Time, stamp string) []byte {
	b = append(b, `{"type":"`...)
	b = append(b, typ...)
	if id != "" {
		b = append(b, `","id":`...)
		b = AppendString(b, id)
		b = append(b, `,"timestamp":"`...)
	} else {
		b = append(b, `","timestamp":"`...)
	}
	b = now.UTC().AppendFormat(b, stamp)
	return append(b, `","payload":`...)
}

// AppendTail ends the frame that AppendHead began.
func AppendTail(b []byte) []byte { return append(b, '}') }

// clean says which bytes stand for themselves in a JSON string, whatever is around them: ASCII without controls,
// quote and backslash.
var clean = func() (is [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		is[c] = c != '"' && c != '\\'
	}
	return is
}()

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string. Invalid UTF-8 becomes U+FFFD, as in encoding/json; nothing is escaped
// for the sake of HTML.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if clean[c] {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[start:i]...), `\ufffd`...)
				start = i + 1
			}
			i += size
			continue
		}
		b = append(b, s[start:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
		i++
		start = i
	}
	return append(append(b, s[start:]...), '"')
}
