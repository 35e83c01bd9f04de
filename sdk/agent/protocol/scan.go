package protocol

import "unicode/utf8"

// Scanner reads JSON once, front to back, without copies: the fast path of both ends for the frames they get
// most. It checks the grammar as encoding/json does, and what it takes it reads as encoding/json would. What is
// beyond its plain ways (an escape in a string that is wanted, a fraction where a whole number is, values nested
// deep) it refuses, valid or not: the caller then leaves the whole input to encoding/json, which decides and
// words the error. So refusing costs time only.
//
// Each method skips white space before what it reads, and returns false if something else comes next; the
// position is then anywhere, and the Scanner of no more use. What is returned points into the input. Not safe
// for concurrent use.
type Scanner struct {
	data []byte
	pos  int
}

// maxScanDepth bounds the recursion, and keeps what is read fast within the depth that a server takes.
const maxScanDepth = 127

// NewScanner returns a Scanner at the start of data, which must not change as long as what is read is in use.
func NewScanner(data []byte) Scanner { return Scanner{data: data} }

// Fields reads an object. each is called with every key, and must read the value; false from it ends the
// reading. Keys come as they stand: one that comes twice, or differs from a name in case only, is for the caller
// to refuse, as encoding/json has rules of its own for these.
func (s *Scanner) Fields(each func(key []byte) bool) bool {
	if !s.accept('{') {
		return false
	}
	if s.accept('}') {
		return true
	}
	for {
		key, ok := s.Plain()
		if !ok || !s.accept(':') || !each(key) {
			return false
		}
		if s.accept('}') {
			return true
		}
		if !s.accept(',') {
			return false
		}
	}
}

// Plain reads a string of valid UTF-8 without escapes, and returns what is between the quotes.
func (s *Scanner) Plain() ([]byte, bool) {
	if !s.accept('"') {
		return nil, false
	}
	ascii := true
	for i, c := range s.data[s.pos:] {
		switch {
		case clean[c]:
		case c == '"':
			text := s.data[s.pos : s.pos+i]
			s.pos += i + 1
			return text, ascii || utf8.Valid(text)
		case c < utf8.RuneSelf:
			return nil, false
		default:
			ascii = false
		}
	}
	return nil, false
}

// Whole reads a number that is whole, not negative, of up to 18 digits, and written without a point or exponent.
func (s *Scanner) Whole() (int64, bool) {
	s.space()
	start, n := s.pos, int64(0)
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		n = 10*n + int64(s.data[s.pos]-'0')
		s.pos++
		if s.pos-start > 18 {
			return 0, false
		}
	}
	digits := s.pos - start
	if digits == 0 || (digits > 1 && s.data[start] == '0') {
		return 0, false
	}
	if s.pos < len(s.data) && (s.data[s.pos] == '.' || s.data[s.pos] == 'e' || s.data[s.pos] == 'E') {
		return 0, false
	}
	return n, true
}

// Value reads any value and returns its bytes, without the white space around. Like encoding/json, it does not
// ask whether the strings in it are valid UTF-8.
func (s *Scanner) Value() ([]byte, bool) {
	s.space()
	start := s.pos
	if !s.skip(0) {
		return nil, false
	}
	return s.data[start:s.pos], true
}

// AtEnd reports whether nothing but white space is left.
func (s *Scanner) AtEnd() bool {
	s.space()
	return s.pos == len(s.data)
}

func (s *Scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// accept skips white space, and then c if it is there.
func (s *Scanner) accept(c byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == c { // white space is rare on the wire
		s.pos++
		return true
	}
	s.space()
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// skip checks and skips one value.
func (s *Scanner) skip(depth int) bool {
	s.space()
	if s.pos >= len(s.data) || depth > maxScanDepth {
		return false
	}
	switch c := s.data[s.pos]; {
	case c == '"':
		return s.text()
	case c == '{':
		return s.composite('}', true, depth)
	case c == '[':
		return s.composite(']', false, depth)
	case c == '-' || ('0' <= c && c <= '9'):
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return false
}

// composite skips an object or an array, the opening bracket of which comes next.
func (s *Scanner) composite(closing byte, object bool, depth int) bool {
	s.pos++
	if s.accept(closing) {
		return true
	}
	for {
		if object {
			s.space()
			if s.pos >= len(s.data) || s.data[s.pos] != '"' || !s.text() || !s.accept(':') {
				return false
			}
		}
		if !s.skip(depth + 1) {
			return false
		}
		if s.accept(closing) {
			return true
		}
		if !s.accept(',') {
			return false
		}
	}
}

// text skips a string, the opening quote of which comes next.
func (s *Scanner) text() bool {
	for i := s.pos + 1; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case clean[c]:
		case c == '"':
			s.pos = i + 1
			return true
		case c < ' ':
			return false
		case c == '\\':
			i++
			if i >= len(s.data) {
				return false
			}
			switch s.data[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					i++
					if i >= len(s.data) || !isHex(s.data[i]) {
						return false
					}
				}
			default:
				return false
			}
		}
	}
	return false
}

func isHex(c byte) bool {
	return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f') || ('A' <= c && c <= 'F')
}

// number skips a number, the first byte of which comes next.
func (s *Scanner) number() bool {
	if s.data[s.pos] == '-' {
		s.pos++
	}
	start := s.pos
	if n := s.digits(); n == 0 || (n > 1 && s.data[start] == '0') {
		return false
	}
	if s.pos < len(s.data) && s.data[s.pos] == '.' {
		s.pos++
		if s.digits() == 0 {
			return false
		}
	}
	if s.pos < len(s.data) && (s.data[s.pos] == 'e' || s.data[s.pos] == 'E') {
		s.pos++
		if s.pos < len(s.data) && (s.data[s.pos] == '+' || s.data[s.pos] == '-') {
			s.pos++
		}
		return s.digits() > 0
	}
	return true
}

func (s *Scanner) digits() int {
	start := s.pos
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}

func (s *Scanner) word(w string) bool {
	if len(s.data)-s.pos < len(w) || string(s.data[s.pos:s.pos+len(w)]) != w {
		return false
	}
	s.pos += len(w)
	return true
}
