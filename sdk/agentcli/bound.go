package agentcli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/wardroom/wardroom/sdk/internal/clip"
)

// Bounds of what an event carries, in bytes: thousands of events are kept, and tools are given whole files. Who
// waits for a response gets all of its text, and the log has it too.
const (
	maxEventText  = 256 << 10
	maxEventInput = 64 << 10 // of all values of a tool's input
	maxEventValue = 16 << 10 // of one of them
)

// boundText cuts a text to what an event holds.
func boundText(s string) string { return shortened(s, maxEventText) }

// shortened cuts a text to n bytes, and says how much it was.
func shortened(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("%s... [%d bytes in all]", clip.Text(s, n), len(s))
}

// boundInput cuts a tool's input to what an event holds. Short values stay rather than long ones: the path of a
// file tells more than what is written to it.
func boundInput(v map[string]any) map[string]any {
	if fits(v, maxEventInput) >= 0 {
		return v
	}
	left := maxEventInput
	bounded, _ := boundValue(v, &left).(map[string]any)
	return bounded
}

// fits returns what is left of n after the values of a JSON document, or something negative.
func fits(v any, n int) int {
	switch v := v.(type) {
	case string:
		if len(v) > maxEventValue {
			return -1
		}
		return n - len(v) - 2
	case json.Number:
		if len(v) > maxEventValue {
			return -1
		}
		return n - len(v)
	case []any:
		for i := 0; i < len(v) && n >= 0; i++ {
			n = fits(v[i], n)
		}
		return n
	case map[string]any:
		for k, e := range v {
			if n = fits(e, n-len(k)-4); n < 0 {
				break
			}
		}
		return n
	default:
		return n - 8
	}
}

// boundValue copies a value of a JSON document as far as it goes into what is left.
func boundValue(v any, left *int) any {
	switch v := v.(type) {
	case string:
		s := shortened(v, max(0, min(maxEventValue, *left)))
		*left -= len(s) + 2
		return s
	case json.Number:
		if len(v) > min(maxEventValue, *left) {
			return boundValue(string(v), left)
		}
		*left -= len(v)
		return v
	case []any:
		out := make([]any, 0, min(len(v), 16))
		for _, e := range v {
			if *left <= 0 {
				return append(out, "...")
			}
			out = append(out, boundValue(e, left))
		}
		return out
	case map[string]any:
		out := make(map[string]any, min(len(v), 16))
		names := slices.SortedFunc(maps.Keys(v), func(a, b string) int { return cmp.Or(cmp.Compare(weight(v[a]), weight(v[b])), cmp.Compare(a, b)) })
		for _, name := range names {
			if *left <= 0 {
				out["..."] = len(v) - len(out)
				return out
			}
			short := shortened(name, maxText)
			*left -= len(short) + 4
			out[short] = boundValue(v[name], left)
		}
		return out
	default:
		*left -= 8
		return v
	}
}

// weight orders values: plain ones, then texts by their length, then what holds others.
func weight(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case json.Number:
		return len(v)
	case []any, map[string]any:
		return 1 << 30
	default:
		return 0
	}
}
