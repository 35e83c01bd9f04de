package rawjson

// NumberEnd returns where the number at i ends, and whether it is one; if not, where it stops being one. A
// leading zero is a number by itself: of 01 it is the 0.
func NumberEnd(raw []byte, i int) (int, bool) {
	digits := func() bool {
		from := i
		for i < len(raw) && raw[i] >= '0' && raw[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(raw) && raw[i] == '-' {
		i++
	}
	if i < len(raw) && raw[i] == '0' {
		i++
	} else if !digits() {
		return i, false
	}
	if i < len(raw) && raw[i] == '.' {
		i++
		if !digits() {
			return i, false
		}
	}
	if i < len(raw) && (raw[i] == 'e' || raw[i] == 'E') {
		i++
		if i < len(raw) && (raw[i] == '+' || raw[i] == '-') {
			i++
		}
		if !digits() {
			return i, false
		}
	}
	return i, true
}

// IsNumber reports whether text is exactly one JSON number.
func IsNumber(text string) bool {
	end, ok := NumberEnd([]byte(text), 0)
	return ok && end == len(text)
}
