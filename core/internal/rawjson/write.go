package rawjson

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// AppendCompact appends raw without the space between its tokens. The tokens are copied as they are.
func AppendCompact(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		switch raw[i] {
		case ' ', '\n', '\t', '\r':
			i++
		case '"':
			end := skipString(raw, i)
			dst = append(dst, raw[i:end]...)
			i = end
		default:
			dst = append(dst, raw[i])
			i++
		}
	}
	return dst
}

// Compact returns raw itself if there is no space between its tokens, else a copy without it.
func Compact(raw []byte) []byte {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case ' ', '\n', '\t', '\r':
			return AppendCompact(append(make([]byte, 0, len(raw)), raw[:i]...), raw[i:])
		case '"':
			i = skipString(raw, i) - 1
		}
	}
	return raw
}

// Plain returns raw itself unless its strings escape <, > or &, as encoding/json does for the sake of HTML; else a copy
// in which they stand as they are. It is the same value, and people read it.
func Plain(raw []byte) []byte {
	var out []byte // nil while nothing differs
	start := 0
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if i+5 < len(raw) && raw[i+1] == 'u' && raw[i+2] == '0' && raw[i+3] == '0' {
			if c := plainOf(raw[i+4], raw[i+5]); c != 0 {
				if out == nil {
					out = make([]byte, 0, len(raw))
				}
				out = append(append(out, raw[start:i]...), c)
				i += 5
				start = i + 1
				continue
			}
		}
		i++ // what is escaped is no beginning of another escape
	}
	if out == nil {
		return raw
	}
	return append(out, raw[start:]...)
}

// plainOf returns the character of an escape that only HTML needs, by its last two digits, or 0.
func plainOf(high, low byte) byte {
	switch {
	case high == '3' && (low == 'c' || low == 'C'):
		return '<'
	case high == '3' && (low == 'e' || low == 'E'):
		return '>'
	case high == '2' && low == '6':
		return '&'
	}
	return 0
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a quoted JSON string. Bytes that are not UTF-8 become U+FFFD. Characters that
// are harmless in JSON stay as they are: nothing is escaped for the sake of HTML.
func AppendString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if b >= ' ' && b != '"' && b != '\\' {
				i++
				continue
			}
			dst = append(dst, s[start:i]...)
			switch b {
			case '"', '\\':
				dst = append(dst, '\\', b)
			case '\n':
				dst = append(dst, '\\', 'n')
			case '\r':
				dst = append(dst, '\\', 'r')
			case '\t':
				dst = append(dst, '\\', 't')
			default:
				dst = append(dst, '\\', 'u', '0', '0', hexDigits[b>>4], hexDigits[b&15])
			}
			i++
			start = i
			continue
		}
		end := min(i+utf8.UTFMax, len(s))
		r, n := utf8.DecodeRuneInString(string(s[i:end]))
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, s[start:i]...)
			dst = utf8.AppendRune(dst, utf8.RuneError)
			i++
			start = i
			continue
		}
		i += n
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// Verbatim returns the longest part of text that encoders of JSON write as it is, also those that escape <, > and & and those
// of JSON within JSON: where it does not stand, text does not stand either. It is empty for a text of nothing else.
func Verbatim(text string) string {
	longest := ""
	for _, part := range strings.FieldsFunc(text, func(r rune) bool {
		return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r == utf8.RuneError || strings.ContainsRune(`"\/<>&`, r)
	}) {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return longest
}

// AppendFloat appends the shortest JSON number that reads back as f. Infinities and NaN become null.
func AppendFloat(dst []byte, f float64) []byte {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return append(dst, "null"...)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, f, format, -1, 64)
}
