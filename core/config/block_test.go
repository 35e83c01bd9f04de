package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/config"
)

// blockOf parses the settings of one plugin.
func blockOf(tb testing.TB, text string) config.Block {
	tb.Helper()
	files := []config.File{{Name: "/w.yaml", Data: []byte("plugins:\n  p:\n    config:\n" + text)}}
	c, err := config.Parse(files, config.Options{Lookup: env(map[string]string{
		"TOKEN": canary, "DIGITS": "12345", "LONG": "12345678901234567890123", "LEADING": "007", "HUGE": "1e999", "ON": "true",
	})})
	if err != nil {
		tb.Fatal(err)
	}
	return c.Plugins.Entries["p"].Config
}

func TestBlockJSON(t *testing.T) {
	for _, tt := range []struct{ name, text, json, shown string }{
		{"Types", "      {s: text, i: 5, f: 0.5, b: true, n: null, l: [1, [x]], m: {k: v}}",
			`{"b":true,"f":0.5,"i":5,"l":[1,["x"]],"m":{"k":"v"},"n":null,"s":"text"}`, ""},
		{"Empty", "      {}", `{}`, ""},
		{"CommentedOut", "      # nothing", `{}`, ""},
		{"QuotedReferenceIsText", `      {a: "${DIGITS}"}`, `{"a":"12345"}`, `{"a":"***"}`},
		{"PlainReferenceIsWhatItLooksLike", "      a: ${DIGITS}\n      b: ${ON}\n      c: ${NONE:-0.5}", `{"a":12345,"b":true,"c":0.5}`, `{"a":"***","b":"***","c":"***"}`},
		{"ReferenceThatIsNoNumberIsText", "      a: ${LEADING}\n      b: ${HUGE}", `{"a":"007","b":"1e999"}`, `{"a":"***","b":"***"}`},
		{"EscapedReference", `      {a: "$${A}"}`, `{"a":"${A}"}`, ""},
		{"SecretNames", `      {password: a, db: {apiKey: b, user: c}, tokens: d, token: [e, {f: g}], secret: {in: side}}`,
			`{"db":{"apiKey":"b","user":"c"},"password":"a","secret":{"in":"side"},"token":["e",{"f":"g"}],"tokens":"d"}`,
			`{"db":{"apiKey":"***","user":"c"},"password":"***","secret":{"in":"***"},"token":["***",{"f":"***"}],"tokens":"d"}`},
		{"BigNumbers", `      {a: 9223372036854775807, b: 1e400x, c: -0, d: -0.0, e: 1e3}`,
			`{"a":9223372036854775807,"b":"1e400x","c":0,"d":0,"e":1000}`, ""},
		{"NumbersBeyondFloats", "      a: 18446744073709551615\n      b: -12345678901234567890123\n      c: 0.1000000000000000055\n      d: 1.0e-400\n      e: [90071992547409930e-1]\n      f: 1.50\n      g: ${LONG}",
			`{"a":18446744073709551615,"b":-12345678901234567890123,"c":0.1000000000000000055,"d":1.0e-400,"e":[90071992547409930e-1],"f":1.5,"g":12345678901234567890123}`,
			`{"a":18446744073709551615,"b":-12345678901234567890123,"c":0.1000000000000000055,"d":1.0e-400,"e":[90071992547409930e-1],"f":1.5,"g":"***"}`},
		{"HTMLIsLeftAlone", `      {a: "<&>"}`, `{"a":"<&>"}`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			block := blockOf(t, tt.text)
			if got := string(block.JSON()); got != tt.json {
				t.Errorf("JSON %s\nwant %s", got, tt.json)
			}
			shown := tt.shown
			if shown == "" {
				shown = tt.json
			}
			if got := block.String(); got != shown {
				t.Errorf("shown %s\nwant  %s", got, shown)
			}
		})
	}
}

func TestBlockIsNotShown(t *testing.T) {
	block := blockOf(t, `      {url: "https://${TOKEN}@host", list: ["${TOKEN}"], token: `+canary+`}`)
	if got := strings.Count(string(block.JSON()), canary); got != 3 {
		t.Fatalf("the plugin gets %d of 3 secrets", got)
	}
	if got := block.Secrets(); len(got) != 3 || got[0] != canary || got[2] != "https://"+canary+"@host" {
		t.Errorf("secrets %v", got)
	}
	digits := blockOf(t, `      {password: 84736251, nested: {apiKey: [12345678, true]}, tokenFile: 11111111}`)
	if got := digits.Secrets(); !slices.Equal(got, []string{"12345678", "84736251", "true"}) {
		t.Errorf("secrets of digits %v", got)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("m", "block", block)
	marshalled, err := json.Marshal(map[string]any{"b": block})
	if err != nil {
		t.Fatal(err)
	}
	for how, text := range map[string]string{
		"slog": log.String(), "json": string(marshalled), "%v": fmt.Sprintf("%v", block), "%#v": fmt.Sprintf("%#v", block),
		"%+v of a struct": fmt.Sprintf("%+v", struct{ B config.Block }{block}), "%s": fmt.Sprintf("%s", &block),
	} {
		if strings.Contains(text, canary) {
			t.Errorf("%s shows the secret: %s", how, text)
		}
	}
}

func TestSecretsDoNotReachErrors(t *testing.T) {
	for _, text := range []string{
		"plugins: {p: {config: {a: 'x${" + canary + " '}}}",
		"plugins: {p: {env: {A: 'x${" + canary + " '}}}",
		"runtimes: {p: {url: 'http://h', token: '${" + canary + "'}}",
		"runtimes: {p: {url: 'http://h', token: [" + canary + "]}}",
	} {
		if _, err := parse(text); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestBlockDepth(t *testing.T) {
	deep := strings.Repeat("{a: ", 40) + "1" + strings.Repeat("}", 40)
	if _, err := parse("plugins: {p: {config: " + deep + "}}"); err == nil || !strings.Contains(err.Error(), "nests deeper than 32 levels") {
		t.Errorf("error %v", err)
	}
	lists := strings.Repeat("[", 40) + strings.Repeat("]", 40)
	if _, err := parse("plugins: {p: {config: {a: " + lists + "}}}"); err == nil || !strings.Contains(err.Error(), "nests deeper than 32 levels") {
		t.Errorf("error %v", err)
	}
}
