package runtime

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseMemory reads a size such as 512m, 1g, 1.5Gi or 1073741824. Units are powers of 1024.
func ParseMemory(text string) (int64, error) {
	end := strings.IndexFunc(text, func(c rune) bool { return c != '.' && (c < '0' || c > '9') })
	if end < 0 {
		end = len(text)
	}
	number, unit := text[:end], strings.ToLower(strings.TrimSpace(text[end:]))
	n, err := strconv.ParseFloat(number, 64)
	bits, known := map[string]int{"": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40}[trimUnit(unit)]
	if err != nil || !known {
		return 0, fmt.Errorf("%q is not a size: use a number and a unit, such as 512m or 2g", text)
	}
	n = math.Round(n * float64(int64(1)<<bits))
	if n < 1 || n > 1<<53 {
		return 0, fmt.Errorf("%q is not a size that memory can have", text)
	}
	return int64(n), nil
}

// trimUnit makes m of mb, mi and mib.
func trimUnit(unit string) string {
	if len(unit) > 1 {
		unit = strings.TrimSuffix(unit, "b")
	}
	if len(unit) > 1 {
		unit = strings.TrimSuffix(unit, "i")
	}
	return unit
}
