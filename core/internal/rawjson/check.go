package rawjson

import (
	"fmt"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest, in every value that comes in: bodies, inputs, results and frames
// of agents, and what runtimes say. It leaves room for the records that hold such values: readers of
// encoding/json stop at 10,000.
const MaxDepth = 128

// SyntaxError says where text stops being acceptable JSON.
type SyntaxError struct {
	Offset int    // bytes before the fault
	Reason string // what is wrong, without position
}

// Error implements error.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.Reason, e.Offset) }

// Check returns nil if raw is exactly one JSON value in UTF-8, nested at most MaxDepth deep and with no
// key twice in an object; else a *SyntaxError for the first fault.
func Check(raw []byte) error { return check(raw, true) }

// CheckLoose is Check, but an object may repeat a key; readers take the last one.
func CheckLoose(raw []byte) error { return check(raw, false) }

// CheckWithin is CheckLoose for text around values: its outermost levels of nesting do not count.
func CheckWithin(raw []byte, levels int) error {
	c := checker{raw: raw, levels: levels}
	return c.whole()
}

// TooDeep reports whether arrays and objects of raw nest more than limit deep. raw need not be JSON. It costs one
// look at each byte, however deep raw is.
func TooDeep(raw []byte, limit int) bool {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = skipString(raw, i) - 1
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

func check(raw []byte, unique bool) error {
	c := checker{raw: raw, unique: unique}
	return c.whole()
}

func (c *checker) whole() error {
	c.space()
	if !c.value(0) {
		return c.err
	}
	c.space()
	if c.pos < len(c.raw) {
		c.fail("unexpected text after the value")
		return c.err
	}
	return nil
}

type checker struct {
	raw    []byte
	pos    int
	unique bool
	levels int // of nesting that do not count
	err    *SyntaxError
}

func (c *checker) fail(format string, args ...any) bool {
	if c.err == nil {
		c.err = &SyntaxError{Offset: c.pos, Reason: fmt.Sprintf(format, args...)}
	}
	return false
}

func (c *checker) space() { c.pos = SkipSpace(c.raw, c.pos) }

func (c *checker) value(depth int) bool {
	if c.pos >= len(c.raw) {
		return c.fail("unexpected end")
	}
	switch b := c.raw[c.pos]; {
	case b == '{':
		return c.object(depth + 1)
	case b == '[':
		return c.array(depth + 1)
	case b == '"':
		return c.text()
	case b == '-' || b >= '0' && b <= '9':
		return c.number()
	case b == 't':
		return c.word("true")
	case b == 'f':
		return c.word("false")
	case b == 'n':
		return c.word("null")
	}
	return c.fail("unexpected character")
}

func (c *checker) word(word string) bool {
	if len(c.raw)-c.pos < len(word) || string(c.raw[c.pos:c.pos+len(word)]) != word {
		return c.fail("unexpected word")
	}
	c.pos += len(word)
	return true
}

func (c *checker) object(depth int) bool {
	if depth > MaxDepth+c.levels {
		return c.fail("nested more than %d deep", MaxDepth)
	}
	var keys KeySet
	c.pos++
	c.space()
	if c.at('}') {
		return true
	}
	for {
		start := c.pos
		if c.pos >= len(c.raw) || c.raw[c.pos] != '"' {
			return c.fail("expected a key")
		}
		if !c.text() {
			return false
		}
		if c.unique && !keys.Add(Unquote(c.raw[start:c.pos])) {
			key := string(Unquote(c.raw[start:c.pos]))
			c.pos = start
			return c.fail("the key %q appears twice", key)
		}
		c.space()
		if !c.at(':') {
			return c.fail("expected a colon")
		}
		c.space()
		if !c.value(depth) {
			return false
		}
		c.space()
		if c.at('}') {
			return true
		}
		if !c.at(',') {
			return c.fail("expected a comma or a closing brace")
		}
		c.space()
	}
}

func (c *checker) array(depth int) bool {
	if depth > MaxDepth+c.levels {
		return c.fail("nested more than %d deep", MaxDepth)
	}
	c.pos++
	c.space()
	if c.at(']') {
		return true
	}
	for {
		if !c.value(depth) {
			return false
		}
		c.space()
		if c.at(']') {
			return true
		}
		if !c.at(',') {
			return c.fail("expected a comma or a closing bracket")
		}
		c.space()
	}
}

// at steps over b if it is next.
func (c *checker) at(b byte) bool {
	if c.pos < len(c.raw) && c.raw[c.pos] == b {
		c.pos++
		return true
	}
	return false
}

func (c *checker) text() bool {
	raw := c.raw
	for i := c.pos + 1; i < len(raw); {
		switch b := raw[i]; {
		case b == '"':
			c.pos = i + 1
			return true
		case b < ' ':
			c.pos = i
			return c.fail("control character in a string")
		case b == '\\':
			n := EscapeLen(raw[i:])
			if n == 0 {
				c.pos = i
				return c.fail("bad escape in a string")
			}
			i += n
		case b < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRune(raw[i:])
			if r == utf8.RuneError && n == 1 {
				c.pos = i
				return c.fail("text is not UTF-8")
			}
			i += n
		}
	}
	c.pos = len(raw)
	return c.fail("unexpected end in a string")
}

func (c *checker) number() bool {
	end, ok := NumberEnd(c.raw, c.pos)
	c.pos = end
	if !ok {
		return c.fail("bad number")
	}
	return true
}
