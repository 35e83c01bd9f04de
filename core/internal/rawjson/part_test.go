package rawjson_test

import (
	"fmt"
	"testing"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// The parts that a strict reader of another package is made of.

func TestKeySet(t *testing.T) {
	for _, n := range []int{0, 1, 8, 9, 100} { // on both sides of where the map takes over
		var keys rawjson.KeySet
		for i := range n {
			if !keys.Add(fmt.Appendf(nil, "k%d", i)) {
				t.Fatalf("k%d of %d is there already", i, n)
			}
		}
		for i := range n {
			if keys.Add(fmt.Appendf(nil, "k%d", i)) {
				t.Errorf("the double k%d of %d passes", i, n)
			}
		}
		if !keys.Add(nil) || keys.Add([]byte{}) {
			t.Errorf("after %d keys: the empty key is not one key", n)
		}
	}
}

func TestNumberEnd(t *testing.T) {
	for _, tc := range []struct {
		text string
		end  int
		ok   bool
	}{
		{"", 0, false}, {"-", 1, false}, {"x", 0, false}, {"0", 1, true}, {"-0,", 2, true}, {"01", 1, true},
		{"12.5e+3]", 7, true}, {"1.", 2, false}, {"1.x", 2, false}, {"1e", 2, false}, {"1e-", 3, false}, {"1E9 ", 3, true},
		{"1.5.6", 3, true}, {"+1", 0, false}, {".5", 0, false},
	} {
		end, ok := rawjson.NumberEnd([]byte("[,"+tc.text), 2)
		if end != tc.end+2 || ok != tc.ok {
			t.Errorf("NumberEnd(%s) = %d, %v, want %d, %v", tc.text, end-2, ok, tc.end, tc.ok)
		}
	}
}

func TestEscapeLen(t *testing.T) {
	for text, want := range map[string]int{
		`\n`: 2, `\"rest`: 2, `\\`: 2, `\/`: 2, `\u00e9`: 6, `\uD83D\uDE00`: 6, `\`: 0, ``: 0, `\x`: 0, `\u`: 0, `\u12`: 0,
		`\u12g4`: 0, `\U0041`: 0, "\\\n": 0,
	} {
		if got := rawjson.EscapeLen([]byte(text)); got != want {
			t.Errorf("EscapeLen(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestSkipSpace(t *testing.T) {
	for text, want := range map[string]int{"": 0, "x ": 0, " \t\r\nx": 4, "  ": 2, "\v": 0, "\u00a0": 0} {
		if got := rawjson.SkipSpace([]byte(text), 0); got != want {
			t.Errorf("SkipSpace(%q) = %d, want %d", text, got, want)
		}
	}
	if got := rawjson.SkipSpace([]byte("a b"), 9); got != 9 {
		t.Errorf("beyond the end: %d", got)
	}
}
