package pattern_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

const inputDefinition = `
input:
  additional: false
  text: {type: string, required: true, minLength: 2, maxLength: 5, pattern: "^[a-zé]+$"}
  count: {type: integer, min: 1, max: 10, default: 3}
  ratio: {type: number, max: 0.5}
  on: boolean
  mode: {type: string, enum: [fast, slow]}
  size: {type: number, enum: [1, 2.5]}
  tags: {type: array, minLength: 1, maxLength: 2, items: {type: string, maxLength: 3}}
  opts: {type: object, properties: {additional: false, deep: {type: boolean, default: true}, n: {type: integer, required: true}}}
  list: {type: array, items: {type: object, properties: {a: {type: integer, default: 1}}}}
  free: any
  bag: object
`

func TestCheckInput(t *testing.T) {
	plan := mustParse(t, flat(inputDefinition))
	for _, tc := range []struct{ in, want string }{
		{`{"text":"ab"}`, `{"text":"ab","count":3}`},
		{`{"text":"ab","count":4}`, `{"text":"ab","count":4}`},
		{` { "text" : "ab" , "count" : 10.0 } `, `{"text":"ab","count":10.0}`},
		{`{"text":"éé","ratio":-1e3,"on":false,"mode":"slow","size":2.50,"free":null,"bag":{"x":[1]},"tags":["a","bcd"],"count":1}`, ""},
		{`{"text":"ab","count":2,"opts":{"n":12345678901234567890}}`, `{"text":"ab","count":2,"opts":{"n":12345678901234567890,"deep":true}}`},
		{`{"text":"ab","count":2,"list":[{},{"a":2}]}`, `{"text":"ab","count":2,"list":[{"a":1},{"a":2}]}`},
		{`{"te\u0078t":"\u0061b","count":2}`, ""},
	} {
		got, err := plan.CheckInput(json.RawMessage(tc.in))
		if tc.want == "" {
			tc.want = tc.in
		}
		if err != nil || string(got) != tc.want {
			t.Errorf("%s\n got %s, %v\nwant %s", tc.in, got, err, tc.want)
		}
	}
	for _, tc := range []struct{ in, want string }{
		{``, `input.text: is required`},
		{`[]`, `input: must be an object, not an array`},
		{`null`, `input: must be an object, not null`},
		{`{`, `input: is not acceptable JSON: expected a key at byte 1`},
		{`{"text":"ab","text":"cd"}`, `input: is not acceptable JSON: the key "text" appears twice at byte 13`},
		{`{"text":"a"}`, `input.text: must have at least 2 characters, has 1`},
		{`{"text":"éééééé"}`, `input.text: must have at most 5 characters, has 6`},
		{`{"text":"A1"}`, `input.text: must match the pattern ^[a-zé]+$`},
		{`{"text":7}`, `input.text: must be a string, not a number`},
		{`{"text":null,"count":"3","on":1,"bag":[],"tags":{}}`,
			`input.text: must be a string, not null; input.count: must be a whole number, not a string; input.on: must be a boolean, not a number; ` +
				`input.bag: must be an object, not an array; input.tags: must be an array, not an object`},
		{`{"text":"ab","count":1.5,"ratio":0.51}`, `input.count: must be a whole number, not a number; input.ratio: must be at most 0.5`},
		{`{"text":"ab","count":1e999}`, `input.count: must be at most 10`},
		{`{"text":"ab","count":0,"mode":"fats","size":2}`, `input.count: must be at least 1; input.mode: must be one of "fast", "slow"; input.size: must be one of 1, 2.5`},
		{`{"text":"ab","tags":[]}`, `input.tags: must have at least 1 elements, has 0`},
		{`{"text":"ab","tags":["a",2,"abcd"]}`, `input.tags[1]: must be a string, not a number; input.tags[2]: must have at most 3 characters, has 4; input.tags: must have at most 2 elements, has 3`},
		{`{"text":"ab","opts":{"n":"x","depe":1}}`, `input.opts.n: must be a whole number, not a string; input.opts.depe: unknown field; did you mean input.opts.deep?`},
		{`{"text":"ab","cuont":1,"we ird":2}`, `input.cuont: unknown field; did you mean input.count?; input["we ird"]: unknown field; known are bag, count, free, list, mode, on, opts, ratio, size, tags, text`},
	} {
		_, err := plan.CheckInput(json.RawMessage(tc.in))
		e := wantCode(t, err, core.CodeValidation)
		problems, _ := e.Details["errors"].([]core.Problem)
		texts := make([]string, 0, len(problems))
		for _, p := range problems {
			texts = append(texts, p.String())
		}
		if got := strings.Join(texts, "; "); got != tc.want {
			t.Errorf("%s\n got %s\nwant %s", tc.in, got, tc.want)
		}
		if e.Details["field"] == "" || e.Details["reason"] == "" {
			t.Errorf("%s: details %v", tc.in, e.Details)
		}
	}
}

func TestCheckInputUndeclared(t *testing.T) {
	plan := mustParse(t, flat(""))
	for in, want := range map[string]string{``: `{}`, `{}`: `{}`, ` {"a": [1, {"b": 1.50}]} `: `{"a":[1,{"b":1.50}]}`} {
		if got, err := plan.CheckInput(json.RawMessage(in)); err != nil || string(got) != want {
			t.Errorf("%q gives %s, %v", in, got, err)
		}
	}
	_, err := plan.CheckInput(json.RawMessage(`{"a":{"b":1,"b":2}}`))
	wantCode(t, err, core.CodeValidation)
}

// TestCheckInputAdditional: what a pattern does not declare is passed on as it is, unless it says otherwise.
func TestCheckInputAdditional(t *testing.T) {
	plan := mustParse(t, flat("input: {text: {type: string, required: true}, n: {type: integer, default: 3}, opts: {type: object, properties: {a: string}}}\n"))
	got, err := plan.CheckInput(json.RawMessage(`{"text":"ab","lang":"de","opts":{"a":"x","more":[1, 2]}}`))
	if want := `{"text":"ab","lang":"de","opts":{"a":"x","more":[1,2]},"n":3}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, want %s", got, err, want)
	}
	// With a type it is a field like any other.
	plan = mustParse(t, flat("input: {additional: string}\n"))
	if _, err := plan.CheckInput(json.RawMessage(`{"additional":1}`)); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("a field named additional: %v", err)
	}
	plan = mustParse(t, flat("input: {additional: true, text: string}\n"))
	if _, err := plan.CheckInput(json.RawMessage(`{"other":1}`)); err != nil {
		t.Error(err)
	}
}

func TestCheckInputManyFields(t *testing.T) {
	var b strings.Builder
	b.WriteString("input:\n  additional: false\n")
	for i := range 100 {
		fmt.Fprintf(&b, "  f%d: {type: integer, default: %d}\n", i, i)
	}
	plan := mustParse(t, flat(b.String()))
	got, err := plan.CheckInput(json.RawMessage(`{"f99":0}`))
	var fields map[string]int
	if err != nil || json.Unmarshal(got, &fields) != nil || len(fields) != 100 || fields["f50"] != 50 || fields["f99"] != 0 {
		t.Errorf("got %s, %v", got, err)
	}
	var hostile strings.Builder
	hostile.WriteString(`{"x":0`)
	for i := range 20000 {
		fmt.Fprintf(&hostile, `,"x%d":0`, i)
	}
	hostile.WriteString("}")
	_, err = plan.CheckInput(json.RawMessage(hostile.String()))
	e := wantCode(t, err, core.CodeValidation)
	if n := len(e.Details["errors"].([]core.Problem)); n != 200 {
		t.Errorf("%d problems are listed, want 200", n)
	}
}

// FuzzInput: an accepted input is an object, is accepted again, and stays as it is then.
func FuzzInput(f *testing.F) {
	for _, seed := range []string{`{"text":"ab"}`, `{"text":"ab","opts":{"n":1},"list":[{}]}`, `{"free":{"a":1,"a":2}}`, `[]`, `{"text":"\ud800"}`} {
		f.Add([]byte(seed))
	}
	plan := mustParse(f, flat(inputDefinition))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, err := plan.CheckInput(in)
		if err != nil {
			if core.ErrorCode(err) != core.CodeValidation {
				t.Fatalf("%q: %v", in, err)
			}
			return
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(got, &fields); err != nil {
			t.Fatalf("%q gives %q: %v", in, got, err)
		}
		again, err := plan.CheckInput(got)
		if err != nil || string(again) != string(got) {
			t.Fatalf("%q gives %q, then %q, %v", in, got, again, err)
		}
	})
}

// Bounds are compared digit by digit: ids and amounts are longer than what a float holds.
func TestCheckInputExactBounds(t *testing.T) {
	plan := mustParse(t, flat("input: {n: {type: integer, min: 9007199254740993, max: 9007199254740995}}\n"))
	for n, want := range map[string]string{
		"9007199254740992": "must be at least 9007199254740993", "9007199254740993": "", "9007199254740994.0": "", "9007199254740995": "",
		"9007199254740996": "must be at most 9007199254740995", "1e999": "must be at most 9007199254740995", "-1e999": "must be at least",
	} {
		_, err := plan.CheckInput(json.RawMessage(`{"n":` + n + `}`))
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", n, err)
		case want != "" && (err == nil || !strings.Contains(fmt.Sprint(core.AsError(err).Details), want)):
			t.Errorf("%s: got %v", n, err)
		}
	}
}
