package agents

// scanner reads JSON once: it checks the grammar as encoding/json does and cuts out raw values. It is the
// fast path of the decoder; whatever it does not understand it refuses, and encoding/json decides then.
// The caller has checked that data is valid UTF-8.
type scanner struct {
	data []byte
	pos  int
}

// maxScanDepth bounds the recursion of the fast path.
const maxScanDepth = 200

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

// accept skips white space and the byte c, if c comes next.
func (s *scanner) accept(c byte) bool {
	s.space()
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// text reads a string and returns what stands between the quotes. plain tells that it holds no escapes.
func (s *scanner) text() (raw []byte, plain, ok bool) {
	if !s.accept('"') {
		return nil, false, false
	}
	start := s.pos
	plain = true
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			raw = s.data[start:s.pos]
			s.pos++
			return raw, plain, true
		case c == '\\':
			plain = false
			if !s.escape() {
				return nil, false, false
			}
		case c < 0x20:
			return nil, false, false
		default:
			s.pos++
		}
	}
	return nil, false, false
}

// escape skips a backslash and what it escapes.
func (s *scanner) escape() bool {
	s.pos++
	if s.pos >= len(s.data) {
		return false
	}
	c := s.data[s.pos]
	s.pos++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	case 'u':
		if s.pos+4 > len(s.data) {
			return false
		}
		for _, h := range s.data[s.pos : s.pos+4] {
			if !(h >= '0' && h <= '9' || h >= 'a' && h <= 'f' || h >= 'A' && h <= 'F') {
				return false
			}
		}
		s.pos += 4
		return true
	}
	return false
}

// plain reads a string without escapes.
func (s *scanner) plain() ([]byte, bool) {
	raw, plain, ok := s.text()
	return raw, plain && ok
}

// value reads any value and returns its bytes.
func (s *scanner) value() ([]byte, bool) {
	s.space()
	start := s.pos
	if !s.skip(0) {
		return nil, false
	}
	return s.data[start:s.pos], true
}

func (s *scanner) skip(depth int) bool {
	s.space()
	if s.pos >= len(s.data) || depth > maxScanDepth {
		return false
	}
	switch c := s.data[s.pos]; c {
	case '{':
		s.pos++
		if s.accept('}') {
			return true
		}
		for {
			if _, _, ok := s.text(); !ok || !s.accept(':') || !s.skip(depth+1) {
				return false
			}
			if s.accept('}') {
				return true
			}
			if !s.accept(',') {
				return false
			}
		}
	case '[':
		s.pos++
		if s.accept(']') {
			return true
		}
		for {
			if !s.skip(depth + 1) {
				return false
			}
			if s.accept(']') {
				return true
			}
			if !s.accept(',') {
				return false
			}
		}
	case '"':
		_, _, ok := s.text()
		return ok
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		return s.number()
	}
}

func (s *scanner) word(w string) bool {
	if len(s.data)-s.pos < len(w) || string(s.data[s.pos:s.pos+len(w)]) != w {
		return false
	}
	s.pos += len(w)
	return true
}

// number skips a number of the JSON grammar.
func (s *scanner) number() bool {
	if s.pos < len(s.data) && s.data[s.pos] == '-' {
		s.pos++
	}
	if s.pos < len(s.data) && s.data[s.pos] == '0' {
		s.pos++
	} else if s.digits() == 0 {
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
		if s.digits() == 0 {
			return false
		}
	}
	return true
}

func (s *scanner) digits() int {
	start := s.pos
	for s.pos < len(s.data) && s.data[s.pos] >= '0' && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos - start
}

// count reads a whole number from 0 to 10^15; other numbers are for the slow path.
func (s *scanner) count() (int64, bool) {
	s.space()
	start := s.pos
	n := s.digits()
	if n == 0 || n > 15 || (n > 1 && s.data[start] == '0') {
		return 0, false
	}
	if s.pos < len(s.data) {
		switch s.data[s.pos] {
		case '.', 'e', 'E':
			return 0, false
		}
	}
	var v int64
	for _, c := range s.data[start:s.pos] {
		v = v*10 + int64(c-'0')
	}
	return v, true
}
