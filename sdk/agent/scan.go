package agent

// scanner reads JSON once, front to back. It checks the grammar as encoding/json does, and refuses what is
// beyond its plain ways: the caller then leaves the whole frame to encoding/json. Refusing costs time only.
type scanner struct {
	data []byte
	pos  int
}

// maxScanDepth bounds the recursion.
const maxScanDepth = 64

// space skips white space.
func (s *scanner) space() {
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
func (s *scanner) accept(c byte) bool {
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

// plain reads a string of printable ASCII without escapes, and returns what is between the quotes.
func (s *scanner) plain() ([]byte, bool) {
	if !s.accept('"') {
		return nil, false
	}
	for i := s.pos; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			text := s.data[s.pos:i]
			s.pos = i + 1
			return text, true
		case c < 0x20 || c >= 0x7f || c == '\\':
			return nil, false
		}
	}
	return nil, false
}

// integer reads a number that is an integer of up to 18 digits and not negative.
func (s *scanner) integer() (int64, bool) {
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

// raw reads any value and returns its bytes, without the white space around.
func (s *scanner) raw() ([]byte, bool) {
	s.space()
	start := s.pos
	if !s.skip(0) {
		return nil, false
	}
	return s.data[start:s.pos], true
}

// skip checks and skips one value.
func (s *scanner) skip(depth int) bool {
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
func (s *scanner) composite(closing byte, object bool, depth int) bool {
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
func (s *scanner) text() bool {
	for i := s.pos + 1; i < len(s.data); i++ {
		switch c := s.data[i]; {
		case c == '"':
			s.pos = i + 1
			return true
		case c < 0x20:
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

// number skips a number.
func (s *scanner) number() bool {
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

func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}

func (s *scanner) word(w string) bool {
	if len(s.data)-s.pos < len(w) || string(s.data[s.pos:s.pos+len(w)]) != w {
		return false
	}
	s.pos += len(w)
	return true
}
