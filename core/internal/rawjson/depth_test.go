package rawjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// depthOf returns how deep valid JSON nests, by the tokens of encoding/json.
func depthOf(raw []byte) (deepest int) {
	depth := 0
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := d.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

// FuzzDepth holds TooDeep and CheckWithin to what encoding/json counts, for every limit around the depth that is there;
// text that is no JSON ends neither.
func FuzzDepth(f *testing.F) {
	for _, seed := range []string{
		`1`, `[]`, `{"a":[{"b":[]}]}`, `"[[[["`, `"\"[["`, `["\\",[]]`, `{"[":"{"}`, `[[`, `]]]][`, `"`, `"\`, "[\"\xff\"]",
		strings.Repeat("[", 128) + strings.Repeat("]", 128), strings.Repeat("[", 131) + strings.Repeat("]", 131),
		strings.Repeat(`{"a":`, 9_990) + "1" + strings.Repeat("}", 9_990), strings.Repeat("[", 200_000), strings.Repeat(`["`, 5_000),
	} {
		f.Add([]byte(seed), 2)
	}
	f.Fuzz(func(t *testing.T, raw []byte, levels int) {
		levels = max(levels, 0) % 1000
		err := rawjson.CheckWithin(raw, levels)
		valid := json.Valid(raw)
		if err == nil && !valid {
			t.Fatalf("took %.200q", raw)
		}
		if !valid {
			rawjson.TooDeep(raw, levels)
			return
		}
		depth := depthOf(raw)
		for limit := max(depth-2, 0); limit <= depth+2; limit++ {
			if got := rawjson.TooDeep(raw, limit); got != (depth > limit) {
				t.Fatalf("%.200q nests %d deep, and is too deep for %d: %t", raw, depth, limit, got)
			}
		}
		if deep := depth > rawjson.MaxDepth+levels; deep && err == nil || !deep && err != nil && strings.Contains(err.Error(), "nested") {
			t.Fatalf("%.200q nests %d deep, within %d: %v", raw, depth, levels, err)
		}
	})
}
