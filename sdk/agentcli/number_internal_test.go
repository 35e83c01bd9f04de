package agentcli

import (
	"encoding/json"
	"strings"
	"testing"
)

// A number has as many digits as its writer likes: they count like those of a text, and one beyond what a value may hold is
// cut as a text is.
func TestBoundInputOfDigits(t *testing.T) {
	long := json.Number(strings.Repeat("7", 8<<20))
	for name, in := range map[string]map[string]any{
		"one": {"n": long}, "list": {"list": []any{long, json.Number("9007199254740993")}},
		"many": {"list": func() (list []any) {
			for range 40 {
				list = append(list, json.Number(strings.Repeat("7", 4<<10)))
			}
			return list
		}()},
	} {
		raw, err := json.Marshal(boundInput(in))
		if err != nil || len(raw) > maxEventInput+maxEventValue {
			t.Errorf("%s: %d bytes are kept, %v", name, len(raw), err)
		}
	}
	short := map[string]any{"n": json.Number("9007199254740993"), "far": json.Number("1e400")}
	if raw, err := json.Marshal(boundInput(short)); err != nil || string(raw) != `{"far":1e400,"n":9007199254740993}` {
		t.Errorf("got %s, %v", raw, err)
	}
}

// A secret that has digits alone is one in a number too.
func TestRedactedNumbers(t *testing.T) {
	r := newRedactor(map[string]string{"PIN_TOKEN": "12345678901234"})
	raw, err := json.Marshal(r.object(map[string]any{"n": json.Number("12345678901234"), "m": json.Number("7"), "f": json.Number("-112345678901234.5")}))
	if err != nil || strings.Contains(string(raw), "12345678901234") || !strings.Contains(string(raw), `"m":7`) {
		t.Errorf("got %s, %v", raw, err)
	}
}
