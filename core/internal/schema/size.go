package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeUnits is ordered from the largest, for FormatSize. All are powers of 1024.
var sizeUnits = []struct {
	name  string
	short string
	bytes int64
}{
	{"TiB", "t", 1 << 40},
	{"GiB", "g", 1 << 30},
	{"MiB", "m", 1 << 20},
	{"KiB", "k", 1 << 10},
}

// ParseSize reads a number of bytes: "10MiB", "512k", "1g", "4096". Units are powers of 1024 and their
// letter case is ignored. The decimal units kB, MB and GB are refused, as half of the world reads them as
// the binary ones.
func ParseSize(text string) (int64, error) {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	n, err := strconv.ParseInt(text[:digits], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size such as 512k, 10MiB or 4096", text)
	}
	unit := strings.ToLower(strings.TrimLeft(text[digits:], " "))
	factor := int64(0)
	if unit == "" || unit == "b" {
		factor = 1
	}
	for _, u := range sizeUnits {
		if unit == u.short || unit == strings.ToLower(u.name) {
			factor = u.bytes
		}
	}
	if factor == 0 {
		return 0, fmt.Errorf("%q has an unknown unit; use KiB, MiB, GiB or TiB", text)
	}
	if n > math.MaxInt64/factor {
		return 0, fmt.Errorf("%q is larger than any machine", text)
	}
	return n * factor, nil
}

// FormatSize writes n in the largest unit that divides it evenly: "10MiB", "1500".
func FormatSize(n int64) string {
	for _, u := range sizeUnits {
		if n >= u.bytes && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10)
}
