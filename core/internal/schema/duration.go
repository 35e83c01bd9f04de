package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// ParseDuration reads Go duration text that may begin with whole days: "30s", "1h30m", "7d", "1d12h".
// Negative values are refused.
func ParseDuration(text string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a duration such as 30s, 24h or 7d", text)
	rest := text
	var total time.Duration
	if days, after, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 32)
		if err != nil || n > uint64(math.MaxInt64/(24*time.Hour)) {
			return 0, bad
		}
		total, rest = time.Duration(n)*24*time.Hour, after
		if rest == "" {
			return total, nil
		}
	}
	if strings.HasPrefix(rest, "-") || strings.HasPrefix(rest, "+") {
		return 0, bad
	}
	d, err := time.ParseDuration(rest)
	if err != nil || total+d < total {
		return 0, bad
	}
	return total + d, nil
}

// FormatDuration writes d without the empty units that time.Duration.String appends: "24h", not "24h0m0s".
func FormatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
