package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// decoded is a body with a field of every kind.
type decoded struct {
	Text   string            `json:"text" check:"required,min=1,max=5"`
	Choice core.Priority     `json:"choice" enum:"low,high"`
	Count  int64             `json:"count" check:"min=1,max=10"`
	Flag   bool              `json:"flag"`
	Raw    json.RawMessage   `json:"raw"`
	List   []json.RawMessage `json:"list" check:"max=2"`
	Free   map[string]any    `json:"free"`
	Nested struct {
		Inner string `json:"inner" check:"required"`
	} `json:"nested"`
	Maybe string            `json:"maybe" enum:",low,high"`
	Words []string          `json:"words" check:"max=2"`
	Names map[string]string `json:"names"`
	Ratio float64           `json:"ratio"`
}

func decode(data []byte) (decoded, error) {
	var d decoded
	err := schema.DecodeJSON(data, &d)
	return d, err
}

func TestDecode(t *testing.T) {
	got, err := decode([]byte(` { "text" : "h\u00e9\n" , "choice":"low","count":1.0e1,"flag":true,
		"raw":{"a":[1,2.5e-3,"x"]},"list":[{},{"b":null}],"free":{"k":{"n":1}},"nested":{"inner":""},
		"words":["a","\u00e9"],"names":{"k":"v","l":""},"ratio":-2.5e-1} `))
	if err != nil {
		t.Fatal(err)
	}
	want := decoded{
		Text: "hé\n", Choice: "low", Count: 10, Flag: true, Raw: json.RawMessage(`{"a":[1,2.5e-3,"x"]}`),
		List:  []json.RawMessage{json.RawMessage(`{}`), json.RawMessage(`{"b":null}`)},
		Free:  map[string]any{"k": map[string]any{"n": json.Number("1")}},
		Words: []string{"a", "é"}, Names: map[string]string{"k": "v", "l": ""}, Ratio: -0.25,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// Problems of content are reported all at once, by path and line.
func TestDecodeProblems(t *testing.T) {
	for _, c := range []struct {
		body string
		want []string
	}{
		{`{}`, []string{"line 1: text: is required"}},
		{`[]`, []string{"line 1: body: must be an object, not an array"}},
		{`null`, []string{"line 1: body: must be an object, not null"}},
		{`{"text":""}`, []string{"line 1: text: must be from 1 to 5 characters long"}},
		{`{"text":"éééééé"}`, []string{"line 1: text: must be from 1 to 5 characters long"}},
		{`{"text":"ééééé"}`, nil},
		{"{\"text\":1,\n\"choice\":\"mid\",\n\"count\":11,\"flag\":\"true\",\n\"raw\":[],\"list\":{},\"free\":3,\"nested\":{}}", []string{
			"line 1: text: must be a string, not a number",
			"line 2: choice: must be one of low, high, not \"mid\"",
			"line 3: count: must be from 1 to 10, not 11",
			"line 3: flag: must be a boolean, not a string",
			"line 4: raw: must be an object, not an array",
			"line 4: list: must be an array, not an object",
			"line 4: free: must be an object, not a number",
			"line 4: nested.inner: is required",
		}},
		{`{"text":"a","cuont":1,"other":[{"deep":[]}],"nested":{"inner":"a","iner":2}}`, []string{
			"line 1: cuont: unknown field; did you mean count?",
			"line 1: other: unknown field; known are text, choice, count, flag, raw, list, free, nested, maybe, words, names, ratio",
			"line 1: nested.iner: unknown field; did you mean nested.inner?",
		}},
		{`{"text":"a","list":[{},1,{}]}`, []string{
			"line 1: list[1]: must be an object, not a number", "line 1: list: must be at most 2 items, not 3",
		}},
		{`{"text":"a","words":["a",1,null],"names":{"k":1,"l":"x","m":{}},"ratio":1e999}`, []string{
			"line 1: words[1]: must be a string, not a number", "line 1: words[2]: must be a string, not null",
			"line 1: names.k: must be a string, not a number", "line 1: names.m: must be a string, not an object",
			"line 1: ratio: must be a number that a computer can hold, not 1e999",
		}},
		{`{"text":"a","words":["a","b","c"],"names":[],"ratio":"1"}`, []string{
			"line 1: words: must be at most 2 items, not 3", "line 1: names: must be an object, not an array",
			"line 1: ratio: must be a number, not a string",
		}},
		{`{"text":"a","maybe":"mid"}`, []string{"line 1: maybe: must be one of low, high, not \"mid\""}},
		{`{"text":"a","maybe":""}`, nil},
		{`{"text":"a","count":1.5}`, []string{"line 1: count: must be a whole number, not 1.5"}},
		{`{"text":"a","count":99999999999999999999}`, []string{"line 1: count: must be a whole number, not 99999999999999999999"}},
		{`{"text":null,"count":null,"raw":null}`, []string{"line 1: text: is required"}},
	} {
		_, err := decode([]byte(c.body))
		var got []string
		if err != nil {
			problems, _ := core.AsError(err).Details["errors"].([]core.Problem)
			for _, p := range problems {
				got = append(got, p.String())
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\ngot  %s\nwant %s", c.body, strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
		}
	}
}

// Faults of syntax are reported with their position.
func TestDecodeSyntax(t *testing.T) {
	deep := strings.Repeat("[", 134) + strings.Repeat("]", 134)
	for _, c := range []struct{ body, want string }{
		{``, "line 1, column 1: unexpected end"},
		{`{"text":"a"`, `line 1, column 12: a comma or '}' is expected`},
		{"{\n  \"text\": oops\n}", "line 2, column 11: unexpected character 'o', a value is expected"},
		{`{"é":tru}`, "line 1, column 6: unknown literal, true is expected"},
		{`{"text":"a",}`, "line 1, column 13: a key in double quotes is expected"},
		{`{text:1}`, "line 1, column 2: a key in double quotes is expected"},
		{`{"text" 1}`, `line 1, column 9: a colon is expected after the key "text"`},
		{`{"text":"a","text":"b"}`, `line 1, column 13: the key "text" appears twice in one object`},
		{`{"raw":{"x":{"k":1,"\u006b":2}}}`, `line 1, column 20: the key "k" appears twice in one object`},
		{`{"text":"a"} {}`, "line 1, column 14: unexpected data after the value"},
		{`{"count":01}`, "line 1, column 10: malformed number"},
		{`{"count":1.}`, "line 1, column 10: malformed number"},
		{`{"count":-}`, "line 1, column 10: malformed number"},
		{`{"count":+1}`, "line 1, column 10: unexpected character '+', a value is expected"},
		{`{"raw":{"d":` + deep + `}}`, "line 1, column 139: nested deeper than 128 levels"},
		{`{"text":"a` + "\n" + `"}`, "line 1, column 11: a control character in a string must be escaped"},
		{`{"text":"\x"}`, "line 1, column 10: unknown escape sequence"},
		{`{"text":"\u12g4"}`, "line 1, column 10: \\u needs four hexadecimal digits"},
		{`{"text":"abc`, "line 1, column 9: the string does not end"},
		{"{\"text\":\"\xff\"}", "line 1, column 9: the string is not valid UTF-8"},
		{`{"raw":{"` + strings.Repeat("k", 100) + `":}}`, "line 1, column 112: unexpected character '}', a value is expected"},
	} {
		_, err := decode([]byte(c.body))
		var e *core.Error
		if !errors.As(err, &e) || e.Code != core.CodeValidation || e.Message != "body is not valid JSON: "+c.want {
			t.Errorf("%s\ngot  %v\nwant %s", c.body, err, c.want)
		}
	}
}

func TestDuplicateKeysInLargeObjects(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `"k%d":%d,`, i, i)
	}
	if !schema.ScanRaw([]byte("{" + b.String() + `"last":1}`)) {
		t.Error("a large object is refused")
	}
	for _, double := range []string{"k0", "k7", "k8", "k99"} {
		if schema.ScanRaw([]byte("{" + b.String() + `"` + double + `":1}`)) {
			t.Errorf("the double key %s passes", double)
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&b, `"unknown%d":%d,`, i, i)
	}
	_, err := decode([]byte("{" + b.String() + `"text":"a"}`))
	if n := len(core.AsError(err).Details["errors"].([]core.Problem)); n > 50 {
		t.Errorf("%d problems in one answer", n)
	}
}

// FuzzScan: what the scanner takes, the standard library takes too, and the other way round but for what
// the scanner refuses on purpose: doubles, depth, bad UTF-8.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[1,-2.5e+3,"a\u0041",true,false,null]`, `{"a":{"a":1}}`, `{"a":1,"a":2}`, ` "x" `, `01`, `[[[`, "\"\xff\"",
		`"\ud800"`, `{"":0}`, `1e999`, `-`, `[1 2]`, `nul`, `"\"`, "\ufeff{}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ok := schema.ScanRaw(data)
		if ok && !json.Valid(data) {
			t.Fatalf("%q passes and is no JSON", data)
		}
		if !ok && json.Valid(data) && !refusedOnPurpose(data) {
			t.Fatalf("%q is refused and is JSON", data)
		}
		if d, err := decode(data); err == nil && d.Raw != nil && !json.Valid(d.Raw) {
			t.Fatalf("%q gave the raw value %q", data, d.Raw)
		}
	})
}

func refusedOnPurpose(data []byte) bool {
	if !bytes.Equal(bytes.ToValidUTF8(data, nil), data) {
		return true
	}
	// The standard decoder's tokens show depth and doubles.
	dec := json.NewDecoder(bytes.NewReader(data))
	type level struct {
		keys   map[string]bool
		object bool
		key    bool
	}
	var stack []level
	for {
		tok, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return false
		}
		if err != nil {
			return true
		}
		top := len(stack) - 1
		switch v := tok.(type) {
		case json.Delim:
			if v == '}' || v == ']' {
				stack = stack[:top]
				continue
			}
			if top >= 0 {
				stack[top].key = true
			}
			stack = append(stack, level{map[string]bool{}, v == '{', true})
			if len(stack) > schema.MaxDepth {
				return true
			}
		default:
			if top < 0 || !stack[top].object {
				continue
			}
			if stack[top].key {
				if stack[top].keys[v.(string)] {
					return true
				}
				stack[top].keys[v.(string)] = true
			}
			stack[top].key = !stack[top].key
		}
	}
}
