package rawjson_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

func TestEqual(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true},
		{`1200`, `1.2e3`, true},
		{`-0`, `0.000`, true},
		{`0.1`, `1e-1`, true},
		{`0.1`, `0.10000000000000001`, false},
		{`9007199254740993`, `9007199254740992`, false},
		{`1e400`, `10e399`, true},
		{`1e400`, `1e401`, false},
		{`1`, `-1`, false},
		{`1`, `"1"`, false},
		{`"é"`, `"\u00e9"`, true},
		{`{"a":1,"b":[2,3]}`, `{ "b" : [2.0, 3], "a":1 }`, true},
		{`{"b":1,"a":0,"b":2}`, `{"a":0,"b":2}`, true},
		{`[1,2]`, `[2,1]`, false},
		{`null`, `false`, false},
	} {
		if got := rawjson.Equal([]byte(tc.a), []byte(tc.b)); got != tc.want {
			t.Errorf("Equal(%s, %s) = %v", tc.a, tc.b, got)
		}
	}
}

func TestIsInteger(t *testing.T) {
	for text, want := range map[string]bool{"3": true, "3.0": true, "30e-1": true, "-2": true, "0": true, "1e30": true, "0.5": false, "3e-1": false, "1.25e1": false, "1E-1": false, "1E-99999999999999": false, "1e99999999999999": true} {
		if got := rawjson.IsInteger([]byte(text)); got != want {
			t.Errorf("IsInteger(%s) = %v", text, got)
		}
	}
}

func TestCompact(t *testing.T) {
	plain := []byte(`{"a":"x y","b":[1,2]}`)
	if got := rawjson.Compact(plain); &got[0] != &plain[0] {
		t.Error("compact text was copied")
	}
	if got := string(rawjson.Compact([]byte(" { \"a\" : \"x \\\" y\",\n\"b\":[ 1,\t2 ] } "))); got != `{"a":"x \" y","b":[1,2]}` {
		t.Errorf("got %s", got)
	}
}

func TestAppendFloat(t *testing.T) {
	for _, f := range []float64{0, 1, -1, 0.1, 2.0 / 3, 1e-7, 123456789, 1e21, 5e-324, math.MaxFloat64} {
		got := rawjson.AppendFloat(nil, f)
		var back float64
		if err := json.Unmarshal(got, &back); err != nil || back != f {
			t.Errorf("AppendFloat(%v) = %s", f, got)
		}
	}
	if got := string(rawjson.AppendFloat(nil, math.Inf(1))); got != "null" {
		t.Errorf("infinity is %s", got)
	}
}

func TestAppendString(t *testing.T) {
	if got, want := string(rawjson.AppendString(nil, "a<b>&\x01\xff\u2028\"\\\n\t\r")), "\"a<b>&\\u0001\ufffd\u2028\\\"\\\\\\n\\t\\r\""; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What is written reads back with the standard library; each byte that is no UTF-8 as U+FFFD.
func TestAppendStringReadsBack(t *testing.T) {
	for _, s := range []string{"", "plain", "q\"b\\", "\x00\x1f\n\r\t\b", "é漢🙂", "bad\xffutf8\xc3", "<&>\u2028", "\x7f"} {
		var got string
		if err := json.Unmarshal(rawjson.AppendString(nil, s), &got); err != nil {
			t.Errorf("%q: %v", s, err)
		}
		if want := strings.ToValidUTF8(s, "\uFFFD"); got != want && strings.Count(got, "\uFFFD") < strings.Count(want, "\uFFFD") {
			t.Errorf("%q came back as %q", s, got)
		}
	}
}

func TestIsNumber(t *testing.T) {
	for text, want := range map[string]bool{"1": true, "-1.5e-3": true, "": false, "01": false, "0x1": false, "1 ": false, ".5": false, "+1": false} {
		if got := rawjson.IsNumber(text); got != want {
			t.Errorf("IsNumber(%q) = %v", text, got)
		}
	}
}

func TestPlain(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:                                `{"a":1}`,
		`"echo a \u003e b \u0026\u0026 \u003Cx"`: `"echo a > b && <x"`,
		`"\\u003e \u003e"`:                       `"\\u003e >"`,
		`"\u0022\u003e"`:                         `"\u0022>"`,
		`"\u2028\n\u003"`:                        `"\u2028\n\u003"`,
		`"\`:                                     `"\`,
	} {
		raw := []byte(in)
		if got := string(rawjson.Plain(raw)); got != want || string(raw) != in {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
}

func TestVerbatim(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "ann": "ann", `o"neil`: "neil", `R&D <x@y>`: "x@y", "mül ler": "mül ler", `a\b/c`: "a", "\u2028\"&": "", "two\nlines": "lines",
	} {
		got := rawjson.Verbatim(text)
		if got != want {
			t.Errorf("of %q it is %q, want %q", text, got, want)
		}
		escaped := text
		for range 3 { // in a text, in a text
			raw, err := json.Marshal(escaped)
			if escaped = string(raw); err != nil || !strings.Contains(escaped, got) {
				t.Errorf("%q is not in %s: %v", got, escaped, err)
			}
		}
	}
}
