package rawjson_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core/internal/rawjson"
)

func TestCheck(t *testing.T) {
	for _, good := range []string{
		`null`, `true`, ` false `, `0`, `-0`, `-12.50e+3`, `""`, `"a\u00e9\ud83d\ude00\n"`, `"\ud800"`, `[]`, `[ 1 , [ ] ]`,
		`{}`, `{ "a" : { "a" : 1 } , "b" : [ { } ] }`, strings.Repeat("[", 128) + strings.Repeat("]", 128),
	} {
		if err := rawjson.Check([]byte(good)); err != nil {
			t.Errorf("Check(%s): %v", good, err)
		}
	}
	for _, tc := range []struct{ bad, want string }{
		{``, "unexpected end at byte 0"},
		{`  `, "unexpected end at byte 2"},
		{`nul`, "unexpected word at byte 0"},
		{`{} {}`, "unexpected text after the value at byte 3"},
		{`{"a":1,}`, "expected a key at byte 7"},
		{`{"a" 1}`, "expected a colon at byte 5"},
		{`{"a":1 "b"}`, "expected a comma or a closing brace at byte 7"},
		{`[1,]`, "unexpected character at byte 3"},
		{`[1 2]`, "expected a comma or a closing bracket at byte 3"},
		{`[1`, "expected a comma or a closing bracket at byte 2"},
		{`01`, "unexpected text after the value at byte 1"},
		{`-`, "bad number at byte 1"},
		{`1.`, "bad number at byte 2"},
		{`1e`, "bad number at byte 2"},
		{`"\x"`, "bad escape in a string at byte 1"},
		{`"\u12g4"`, "bad escape in a string at byte 1"},
		{`"abc`, "unexpected end in a string at byte 4"},
		{"\"a\nb\"", "control character in a string at byte 2"},
		{"\"a\xff\"", "text is not UTF-8 at byte 2"},
		{`{"a":1,"\u0061":2}`, `the key "a" appears twice at byte 7`},
		{`[{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":1,"c":0}]`, `the key "c" appears twice at byte 62`},
		{strings.Repeat("[", 129), "nested more than 128 deep at byte 128"},
		{strings.Repeat(`{"a":`, 129), "nested more than 128 deep at byte 640"},
	} {
		err := rawjson.Check([]byte(tc.bad))
		if err == nil || err.Error() != tc.want {
			t.Errorf("Check(%.40s) = %v, want %s", tc.bad, err, tc.want)
		}
	}
	if err := rawjson.CheckLoose([]byte(`{"a":1,"a":2}`)); err != nil {
		t.Errorf("CheckLoose: %v", err)
	}
}

// FuzzCheck compares with the standard library, which is laxer in two things only: UTF-8 and depth.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5e3,"x\u00e9"],"b":null}`, `[[],{}]`, `"\ud83d\ude00"`, `{"a":1,"a":2}`, `-0.0`, ` tru`, "\"\xff\""} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := rawjson.CheckLoose(raw)
		if err == nil && !json.Valid(raw) {
			t.Fatalf("accepted %q", raw)
		}
		if err != nil && json.Valid(raw) && !strings.Contains(err.Error(), "UTF-8") && !strings.Contains(err.Error(), "nested") {
			t.Fatalf("refused %q: %v", raw, err)
		}
		if err != nil {
			poke(raw)
			return
		}
		compact := rawjson.AppendCompact(nil, raw)
		var want strings.Builder
		if err := compactInto(&want, raw); err != nil || want.String() != string(compact) {
			t.Fatalf("compact of %q is %q, want %q", raw, compact, want.String())
		}
		canonical := rawjson.AppendCanonical(nil, raw)
		if !json.Valid(canonical) || rawjson.Check(canonical) != nil {
			t.Fatalf("canonical of %q is %q", raw, canonical)
		}
		if again := rawjson.AppendCanonical(nil, canonical); string(again) != string(canonical) {
			t.Fatalf("canonical of %q moves: %q, %q", raw, canonical, again)
		}
	})
}

// poke calls the readers with text that is not JSON: they must come back.
func poke(raw []byte) {
	for it := rawjson.Walk(raw); it.Next(); {
		_ = rawjson.Unquote(it.Key)
	}
	rawjson.Compact(raw)
	rawjson.Field(raw, "a")
	rawjson.Index(raw, 1)
	rawjson.AppendCanonical(nil, raw[:min(len(raw), 64)])
}

func compactInto(b *strings.Builder, raw []byte) error {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	var v json.RawMessage
	if err := dec.Decode(&v); err != nil {
		return err
	}
	return compact(b, v)
}

// compact drops space outside of strings, token by token, without the library's own rewriting.
func compact(b *strings.Builder, raw []byte) error {
	inside := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inside && c == '\\':
			b.WriteByte(c)
			i++
			b.WriteByte(raw[i])
			continue
		case c == '"':
			inside = !inside
		case !inside && strings.IndexByte(" \t\r\n", c) >= 0:
			continue
		}
		b.WriteByte(raw[i])
	}
	return nil
}

func BenchmarkCheck(b *testing.B) {
	raw := []byte(`{"label":"positive","confidence":0.87,"reasoning":"three words of the lexicon were found"}`)
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if err := rawjson.Check(raw); err != nil {
			b.Fatal(err)
		}
	}
}
