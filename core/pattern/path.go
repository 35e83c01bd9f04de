package pattern

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// maxPathSegments bounds a path; nothing that an agent answers in earnest is deeper.
const maxPathSegments = 32

// segment is one step of a path: a key of an object or an index of an array.
type segment struct {
	key   string
	index int // -1 for a key
}

// path leads to a value: items[0].name.
type path []segment

// String writes the path as it may be parsed again.
func (p path) String() string {
	var b strings.Builder
	for i, s := range p {
		switch {
		case s.index >= 0:
			fmt.Fprintf(&b, "[%d]", s.index)
		case !isName(s.key):
			b.WriteString(`["` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s.key) + `"]`)
		case i == 0:
			b.WriteString(s.key)
		default:
			b.WriteString("." + s.key)
		}
	}
	return b.String()
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		if !nameByte(s[i]) {
			return false
		}
	}
	return s != ""
}

// nameByte reports whether b may stand in a key that is written without quotes.
func nameByte(b byte) bool {
	return b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9' || b == '_' || b == '-'
}

// parsePath reads name(.name | [index] | ["key"])* up to the end of text.
func parsePath(text string) (path, error) {
	var p path
	rest := text
	for rest != "" || p == nil {
		if len(p) == maxPathSegments {
			return nil, fmt.Errorf("has more than %d parts", maxPathSegments)
		}
		var s segment
		var err error
		switch {
		case p != nil && rest[0] == '[':
			s, rest, err = bracket(rest)
		case p == nil:
			s, rest, err = name(rest)
		case rest[0] == '.':
			s, rest, err = name(rest[1:])
		default:
			err = fmt.Errorf("has an unexpected %q", clip(rest, 16))
		}
		if err != nil {
			return nil, err
		}
		p = append(p, s)
	}
	return p, nil
}

func name(rest string) (segment, string, error) {
	n := 0
	for n < len(rest) && nameByte(rest[n]) {
		n++
	}
	if n == 0 {
		return segment{}, "", errors.New("lacks a name of letters, digits, _ and -")
	}
	return segment{key: rest[:n], index: -1}, rest[n:], nil
}

// bracket reads [0], ["key"] or ['key']; in the key \ makes the next character literal.
func bracket(rest string) (segment, string, error) {
	if len(rest) > 1 && (rest[1] == '"' || rest[1] == '\'') {
		var key strings.Builder
		for i := 2; i < len(rest); i++ {
			switch {
			case rest[i] == '\\' && i+1 < len(rest):
				i++
				key.WriteByte(rest[i])
			case rest[i] == rest[1]:
				if !strings.HasPrefix(rest[i+1:], "]") {
					return segment{}, "", errors.New("lacks a ]")
				}
				return segment{key: key.String(), index: -1}, rest[i+2:], nil
			default:
				key.WriteByte(rest[i])
			}
		}
		return segment{}, "", errors.New("lacks a closing " + rest[1:2])
	}
	end := strings.IndexByte(rest, ']')
	if end < 0 {
		return segment{}, "", errors.New("lacks a ]")
	}
	n, err := strconv.Atoi(rest[1:end])
	if err != nil || n < 0 || n > 1_000_000 || rest[1] == '+' {
		return segment{}, "", fmt.Errorf(`has %q where a number or a quoted key belongs`, clip(rest[1:end], 16))
	}
	return segment{index: n}, rest[end+1:], nil
}

// lookup follows the path into a JSON value.
func (p path) lookup(raw []byte) ([]byte, bool) {
	for _, s := range p {
		ok := false
		if s.index >= 0 {
			raw, ok = rawjson.Index(raw, s.index)
		} else {
			raw, ok = rawjson.Field(raw, s.key)
		}
		if !ok {
			return nil, false
		}
	}
	return raw, len(raw) > 0
}
