package rawjson

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the type of a JSON value.
type Kind byte

// Kinds of values.
const (
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"invalid", "null", "a boolean", "a number", "a string", "an array", "an object"}

// String names the kind for people, with its article.
func (k Kind) String() string { return kindNames[k] }

// KindOf returns the kind of raw by its first character.
func KindOf(raw []byte) Kind {
	i := SkipSpace(raw, 0)
	if i >= len(raw) {
		return Invalid
	}
	switch b := raw[i]; {
	case b == '{':
		return Object
	case b == '[':
		return Array
	case b == '"':
		return String
	case b == 't' || b == 'f':
		return Bool
	case b == 'n':
		return Null
	case b == '-' || b >= '0' && b <= '9':
		return Number
	}
	return Invalid
}

// Iter walks the members of an object or the elements of an array.
type Iter struct {
	raw []byte
	pos int
	obj bool

	Key   []byte // quoted, as in the text; nil in an array
	Value []byte
}

// Walk returns an iterator over an object or array; over anything else it is empty.
func Walk(raw []byte) Iter {
	i := SkipSpace(raw, 0)
	if i >= len(raw) || raw[i] != '{' && raw[i] != '[' {
		return Iter{}
	}
	return Iter{raw: raw, pos: i + 1, obj: raw[i] == '{'}
}

// Next moves to the next entry and reports whether there is one.
func (it *Iter) Next() bool {
	raw := it.raw
	i := SkipSpace(raw, it.pos)
	if i < len(raw) && raw[i] == ',' {
		i = SkipSpace(raw, i+1)
	}
	if i >= len(raw) || raw[i] == '}' || raw[i] == ']' {
		return false
	}
	if it.obj {
		end := skipString(raw, i)
		it.Key = raw[i:end]
		i = SkipSpace(raw, end)
		if i >= len(raw) {
			return false
		}
		i = SkipSpace(raw, i+1) // the colon
	}
	end := skipValue(raw, i)
	if end <= i { // not JSON: stop rather than stand still
		return false
	}
	it.Value = raw[i:end]
	it.pos = end
	return true
}

// Field returns the value of a key of an object; the last one if the key is there twice.
func Field(raw []byte, key string) ([]byte, bool) {
	var value []byte
	found := false
	for it := Walk(raw); it.Next(); {
		if it.obj && KeyIs(it.Key, key) {
			value, found = it.Value, true
		}
	}
	return value, found
}

// Index returns element n of an array.
func Index(raw []byte, n int) ([]byte, bool) {
	if KindOf(raw) != Array {
		return nil, false
	}
	it := Walk(raw)
	for i := 0; it.Next(); i++ {
		if i == n {
			return it.Value, true
		}
	}
	return nil, false
}

// KeyIs reports whether a quoted key stands for name.
func KeyIs(quoted []byte, name string) bool {
	if len(quoted) == len(name)+2 && string(quoted[1:len(quoted)-1]) == name {
		return true
	}
	return bytes.IndexByte(quoted, '\\') >= 0 && string(Unquote(quoted)) == name
}

// Unquote returns the text of a quoted string: a part of quoted itself where it has no escapes. A lone
// surrogate becomes U+FFFD.
func Unquote(quoted []byte) []byte {
	if len(quoted) < 2 {
		return nil
	}
	in := quoted[1 : len(quoted)-1]
	for i, b := range in {
		if b == '\\' {
			return unescape(append(make([]byte, 0, len(in)), in[:i]...), in[i:])
		}
	}
	return in
}

func unescape(dst, in []byte) []byte {
	for i := 0; i < len(in); {
		if in[i] != '\\' || i+1 >= len(in) {
			dst = append(dst, in[i])
			i++
			continue
		}
		switch b := in[i+1]; b {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			r, n := unicodeEscape(in[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		default:
			dst = append(dst, b)
		}
		i += 2
	}
	return dst
}

// unicodeEscape decodes \uXXXX, or a surrogate pair of two, and returns its length in the text.
func unicodeEscape(in []byte) (rune, int) {
	first, ok := hex4(in[2:])
	if !ok {
		return utf8.RuneError, 2
	}
	if !utf16.IsSurrogate(first) {
		return first, 6
	}
	if len(in) >= 12 && in[6] == '\\' && in[7] == 'u' {
		if second, ok := hex4(in[8:]); ok {
			if r := utf16.DecodeRune(first, second); r != utf8.RuneError {
				return r, 12
			}
		}
	}
	return utf8.RuneError, 6
}

// EscapeLen returns the length of the escape at the start of raw, or 0 if it is none.
func EscapeLen(raw []byte) int {
	if len(raw) < 2 {
		return 0
	}
	switch raw[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(raw[2:]); ok {
			return 6
		}
	}
	return 0
}

func hex4(in []byte) (rune, bool) {
	if len(in) < 4 {
		return 0, false
	}
	var r rune
	for _, b := range in[:4] {
		switch {
		case b >= '0' && b <= '9':
			b -= '0'
		case b >= 'a' && b <= 'f':
			b -= 'a' - 10
		case b >= 'A' && b <= 'F':
			b -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(b)
	}
	return r, true
}

// SkipSpace returns where the white space that starts at i ends.
func SkipSpace(raw []byte, i int) int {
	for i < len(raw) && (raw[i] == ' ' || raw[i] == '\n' || raw[i] == '\t' || raw[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the end of the string that starts at i.
func skipString(raw []byte, i int) int {
	for i++; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// skipValue returns the end of the value that starts at i.
func skipValue(raw []byte, i int) int {
	if i >= len(raw) {
		return i
	}
	switch raw[i] {
	case '"':
		return skipString(raw, i)
	case '{', '[':
		for depth := 0; i < len(raw); i++ {
			switch raw[i] {
			case '"':
				i = skipString(raw, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return len(raw)
	}
	for i < len(raw) {
		switch raw[i] {
		case ',', '}', ']', ':', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
	return i
}
