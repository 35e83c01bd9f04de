package api

import (
	"unicode/utf8"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// str consumes a string and returns its decoded bytes. They alias data when there is no escape.
func (s *scanner) str() []byte {
	start := s.pos
	s.pos++
	escaped, plain := false, true
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return s.decoded(start, escaped, plain)
		case c == '\\':
			escaped = true
			if !s.escape() {
				return nil
			}
		case c < 0x20:
			s.fail(s.pos, "a control character in a string must be escaped")
			return nil
		default:
			plain = plain && c < utf8.RuneSelf
			s.pos++
		}
	}
	s.fail(start, "the string does not end")
	return nil
}

// escape consumes one escape sequence.
func (s *scanner) escape() bool {
	rest := s.data[s.pos:]
	n := rawjson.EscapeLen(rest)
	switch {
	case n > 0:
		s.pos += n
		return true
	case len(rest) > 1 && rest[1] == 'u':
		s.fail(s.pos, "\\u needs four hexadecimal digits")
	default:
		s.fail(s.pos, "unknown escape sequence")
	}
	return false
}

func (s *scanner) decoded(start int, escaped, plain bool) []byte {
	text := s.data[start+1 : s.pos-1]
	if !plain && !utf8.Valid(text) {
		s.fail(start, "the string is not valid UTF-8")
		return nil
	}
	if !escaped {
		return text
	}
	return rawjson.Unquote(s.data[start:s.pos])
}
