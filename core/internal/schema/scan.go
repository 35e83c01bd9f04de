package schema

import (
	"fmt"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// MaxDepth is how deep objects and arrays may nest.
const MaxDepth = rawjson.MaxDepth

// scanner reads JSON strictly: RFC 8259 syntax in valid UTF-8, no key twice in an object, bounded depth.
// The first fault stops it; err holds it. A body is read once: values that stay raw are checked and sliced
// out of data, not copied.
type scanner struct {
	data  []byte
	pos   int
	depth int
	err   *core.Error
}

// fail records the first syntax fault.
func (s *scanner) fail(at int, format string, args ...any) {
	if s.err != nil {
		return
	}
	line, column := position(s.data, at)
	reason := fmt.Sprintf(format, args...)
	s.err = &core.Error{
		Code:    core.CodeValidation,
		Message: fmt.Sprintf("body is not valid JSON: line %d, column %d: %s", line, column, reason),
		Details: map[string]any{
			"field": "body", "reason": reason, "line": line, "column": column,
			"errors": []core.Problem{{Path: "body", Line: line, Column: column, Reason: reason}},
		},
	}
}

// position turns an offset into a 1-based line and column (in characters).
func position(data []byte, at int) (line, column int) {
	line, start := 1, 0
	at = min(at, len(data))
	for i, b := range data[:at] {
		if b == '\n' {
			line++
			start = i + 1
		}
	}
	return line, utf8.RuneCount(data[start:at]) + 1
}

func (s *scanner) space() { s.pos = rawjson.SkipSpace(s.data, s.pos) }

// peek tells the kind of the value at pos, after white space. It fails at the end and on garbage.
func (s *scanner) peek() rawjson.Kind {
	s.space()
	if s.pos >= len(s.data) {
		s.fail(s.pos, "unexpected end")
		return rawjson.Invalid
	}
	k := rawjson.KindOf(s.data[s.pos:])
	if k == rawjson.Invalid {
		r, _ := utf8.DecodeRune(s.data[s.pos:])
		s.fail(s.pos, "unexpected character %q, a value is expected", r)
	}
	return k
}

// raw checks the value at pos and returns its bytes, which alias data.
func (s *scanner) raw() []byte {
	k := s.peek()
	start := s.pos
	switch k {
	case rawjson.Object:
		s.object(func([]byte, int) { s.raw() })
	case rawjson.Array:
		s.array(func(int) { s.raw() })
	case rawjson.String:
		s.str()
	case rawjson.Number:
		s.number()
	case rawjson.Bool:
		if s.data[s.pos] == 't' {
			s.literal("true")
		} else {
			s.literal("false")
		}
	case rawjson.Null:
		s.literal("null")
	}
	if s.err != nil {
		return nil
	}
	return s.data[start:s.pos:s.pos]
}

func (s *scanner) literal(want string) {
	if len(s.data)-s.pos < len(want) || string(s.data[s.pos:s.pos+len(want)]) != want {
		s.fail(s.pos, "unknown literal, %s is expected", want)
		return
	}
	s.pos += len(want)
}

// number consumes a number and returns its text.
func (s *scanner) number() []byte {
	start := s.pos
	end, ok := rawjson.NumberEnd(s.data, start)
	if !ok || end < len(s.data) && s.data[end] >= '0' && s.data[end] <= '9' { // a digit after a leading zero
		s.fail(start, "malformed number")
		return nil
	}
	s.pos = end
	return s.data[start:end]
}

// object consumes an object. member is called with pos at each value and must consume it; key is decoded
// and stays as it is while data does, keyAt its offset.
func (s *scanner) object(member func(key []byte, keyAt int)) {
	s.enter()
	var keys rawjson.KeySet
	s.pos++
	s.space()
	if s.pos < len(s.data) && s.data[s.pos] == '}' {
		s.pos++
		s.depth--
		return
	}
	for s.err == nil {
		s.space()
		at := s.pos
		if s.pos >= len(s.data) || s.data[s.pos] != '"' {
			s.fail(s.pos, "a key in double quotes is expected")
			return
		}
		key := s.str()
		if s.err != nil {
			return
		}
		if !keys.Add(key) {
			s.fail(at, "the key %q appears twice in one object", Clip(string(key)))
			return
		}
		s.space()
		if s.pos >= len(s.data) || s.data[s.pos] != ':' {
			s.fail(s.pos, "a colon is expected after the key %q", Clip(string(key)))
			return
		}
		s.pos++
		member(key, at)
		if s.err != nil || s.end('}') {
			return
		}
	}
}

// array consumes an array; element is called with pos at each value and must consume it.
func (s *scanner) array(element func(i int)) {
	s.enter()
	s.pos++
	s.space()
	if s.pos < len(s.data) && s.data[s.pos] == ']' {
		s.pos++
		s.depth--
		return
	}
	for i := 0; s.err == nil; i++ {
		element(i)
		if s.err != nil || s.end(']') {
			return
		}
	}
}

// end consumes a comma and returns false, or consumes the closing bracket and returns true.
func (s *scanner) end(closing byte) bool {
	s.space()
	if s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ',':
			s.pos++
			return false
		case closing:
			s.pos++
			s.depth--
			return true
		}
	}
	s.fail(s.pos, "a comma or %q is expected", closing)
	return true
}

func (s *scanner) enter() {
	if s.depth++; s.depth > MaxDepth {
		s.fail(s.pos, "nested deeper than %d levels", MaxDepth)
	}
}

// finish fails when anything but white space follows the value.
func (s *scanner) finish() {
	if s.space(); s.err == nil && s.pos < len(s.data) {
		s.fail(s.pos, "unexpected data after the value")
	}
}

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
