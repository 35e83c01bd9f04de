package rawjson

import (
	"bytes"
	"slices"
	"strconv"
)

// AppendCanonical appends raw in the one form that all texts of an equal value share: no space, keys in
// order and once, one way to write each string and each number. Numbers are compared by value and exactly:
// 1, 1.0 and 10e-1 are the same, 0.1 and 0.10000000000000001 are not.
func AppendCanonical(dst, raw []byte) []byte {
	switch KindOf(raw) {
	case Object:
		return appendCanonicalObject(dst, raw)
	case Array:
		dst = append(dst, '[')
		it := Walk(raw)
		for n := 0; it.Next(); n++ {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = AppendCanonical(dst, it.Value)
		}
		return append(dst, ']')
	case String:
		return AppendString(dst, Unquote(bytes.TrimSpace(raw)))
	case Number:
		return appendNumber(dst, bytes.TrimSpace(raw))
	}
	return append(dst, bytes.TrimSpace(raw)...)
}

func appendCanonicalObject(dst, raw []byte) []byte {
	type member struct {
		key, value []byte
		n          int
	}
	var few [8]member
	members := few[:0]
	it := Walk(raw)
	for n := 0; it.Next(); n++ {
		members = append(members, member{Unquote(it.Key), it.Value, n})
	}
	slices.SortFunc(members, func(a, b member) int {
		if c := bytes.Compare(a.key, b.key); c != 0 {
			return c
		}
		return a.n - b.n
	})
	dst = append(dst, '{')
	first := true
	for i, m := range members {
		if i+1 < len(members) && bytes.Equal(m.key, members[i+1].key) {
			continue // a later member of the same key wins
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = AppendString(dst, m.key)
		dst = append(dst, ':')
		dst = AppendCanonical(dst, m.value)
	}
	return append(dst, '}')
}

// Equal reports whether two texts stand for the same value.
func Equal(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if KindOf(a) != KindOf(b) {
		return false
	}
	var x, y [128]byte
	return bytes.Equal(AppendCanonical(x[:0], a), AppendCanonical(y[:0], b))
}

// appendNumber writes a number as its digits without zeros at either end and a power of ten, and as a
// plain integer where that is short: 1200 is "1200", 0.5 is "5e-1".
func appendNumber(dst, raw []byte) []byte {
	mantissa, exponent := raw, 0
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		mantissa = raw[:i]
		e, err := strconv.Atoi(string(raw[i+1:]))
		if err != nil || e > 1<<30 || e < -(1<<30) { // absurd exponents are compared as they are written
			return append(dst, raw...)
		}
		exponent = e
	}
	negative := len(mantissa) > 0 && mantissa[0] == '-'
	if negative {
		mantissa = mantissa[1:]
	}
	var buf [32]byte
	digits := buf[:0]
	point := false
	for _, b := range mantissa {
		if b == '.' {
			point = true
			continue
		}
		if point {
			exponent--
		}
		digits = append(digits, b)
	}
	digits = bytes.TrimLeft(digits, "0")
	trimmed := bytes.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	if len(trimmed) == 0 {
		return append(dst, '0')
	}
	if negative {
		dst = append(dst, '-')
	}
	dst = append(dst, trimmed...)
	switch {
	case exponent == 0:
	case exponent > 0 && exponent <= 20:
		for range exponent {
			dst = append(dst, '0')
		}
	default:
		dst = append(dst, 'e')
		dst = strconv.AppendInt(dst, int64(exponent), 10)
	}
	return dst
}

// IsInteger reports whether a number has no fraction: 3, 3.0 and 30e-1 have none.
func IsInteger(raw []byte) bool {
	var buf [48]byte
	canonical := appendNumber(buf[:0], raw)
	return !bytes.Contains(canonical, []byte("e-")) && !bytes.Contains(canonical, []byte("E-"))
}
