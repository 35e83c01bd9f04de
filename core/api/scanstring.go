package api

import (
	"encoding/json"
	"unicode/utf8"
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
	at := s.pos
	s.pos++
	if s.pos < len(s.data) {
		switch s.data[s.pos] {
		case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			s.pos++
			return true
		case 'u':
			s.pos++
			for i := 0; i < 4; i, s.pos = i+1, s.pos+1 {
				if s.pos >= len(s.data) || !isHex(s.data[s.pos]) {
					s.fail(at, "\\u needs four hexadecimal digits")
					return false
				}
			}
			return true
		}
	}
	s.fail(at, "unknown escape sequence")
	return false
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
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
	var out string
	if err := json.Unmarshal(s.data[start:s.pos], &out); err != nil {
		s.fail(start, "malformed string")
		return nil
	}
	return []byte(out)
}
