package cmd_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/wardroom/wardroom/appliance/cmd"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

func TestExitCode(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{errors.New("x"), 1},
		{&client.Error{Code: client.CodeInternal, Status: 500}, 1},
		{&client.Error{Code: client.CodeInternal, Status: 503}, 7},
		{&client.Error{Code: client.CodeValidation, Status: 400}, 2},
		{&client.Error{Code: client.CodeNotFound, Status: 404}, 3},
		{&client.Error{Code: client.CodeConflict, Status: 409}, 4},
		{&client.Error{Code: client.CodeUnauthorized, Status: 401}, 5},
		{&client.Error{Code: client.CodeForbidden, Status: 403}, 5},
		{&client.Error{Code: client.CodeTimeout, Status: 408}, 6},
		{&client.Error{Code: client.CodeRateLimited, Status: 429}, 7},
		{&client.Error{Code: client.CodeNoAgents, Status: 503}, 7},
		{&client.ConnectionError{Err: errors.New("x")}, 7},
		{core.Invalid("a", "b"), 2},
		{core.NotFound("a", "b"), 3},
		{core.Unavailable("a", "b"), 7},
		{core.Errorf(core.CodeInternal, "x"), 1},
		{fmt.Errorf("wrapped: %w", core.Conflict("a", "b", "", "c")), 4},
	} {
		if got := cmd.ExitCode(tt.err); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.err, got, tt.want)
		}
	}
}

func TestBatchInputs(t *testing.T) {
	for _, tt := range []struct{ name, file, format, in, want, err string }{
		{"Array", "x.json", "", `[{"a":1},{}]`, `{"a":1} {}`, ""},
		{"ArrayElsewhere", "x", "", ` [{"a":1}]`, `{"a":1}`, ""},
		{"LinesInJSONFile", "x.json", "", "{\"a\":1}\n{\"b\":2}\n", `{"a":1} {"b":2}`, ""},
		{"Lines", "x.jsonl", "", "{\"a\":1}\r\n\r\n{\"b\":2}", `{"a":1} {"b":2}`, ""},
		{"ByteOrderMark", "x.jsonl", "", "\xef\xbb\xbf{\"a\":1}", `{"a":1}`, ""},
		{"BigNumbersStay", "x.jsonl", "", `{"a":12345678901234567890}`, `{"a":12345678901234567890}`, ""},
		{"HugeNumbersStay", "x.jsonl", "", `{"a":-1e400}`, `{"a":-1e400}`, ""},
		{"HugeNumbersOfArraysStay", "x.json", "", `[{"a":[1e999]}]`, `{"a":[1e999]}`, ""},
		{"LineOfHugeNumber", "x.jsonl", "", `1e400`, "", "line 1: must be a JSON object, not a number"},
		{"CSV", "x.csv", "", "a,b\n1,x y\n", `{"a":"1","b":"x y"}`, ""},
		{"CSVTypes", "x.csv", "", "a:number,b:boolean,c:json,d\n1e3,false,\"{\"\"x\"\":1}\",\n,,,e\n",
			`{"a":1e3,"b":false,"c":{"x":1},"d":""} {"d":"e"}`, ""},
		{"FormatWins", "x.csv", "jsonl", `{"a":1}`, `{"a":1}`, ""},
		{"Unknown", "x.txt", "", "a,b", "", "cannot tell the format of x.txt"},
		{"BadFormat", "x", "xml", "<a/>", "", "cannot tell the format"},
		{"Empty", "x.csv", "", "", "", "no items"},
		{"HeadOnly", "x.csv", "", "a,b\n", "", "no items"},
		{"ArrayOfNumbers", "x.json", "", `[1]`, "", "item 0: must be a JSON object, not a number"},
		{"NotAnArray", "x.json", "json", `{}`, "", "must be a JSON array of objects"},
		{"BadArray", "x.json", "", "[{},\n{]", "", "line 2, column 2"},
		{"BadLine", "x.jsonl", "", "{}\n{", "", "line 2: not JSON"},
		{"LineOfText", "x.jsonl", "", `"a"`, "", "line 1: must be a JSON object, not a string"},
		{"CSVRagged", "x.csv", "", "a,b\n1\n", "", "line 2"},
		{"CSVTwice", "x.csv", "", "a,a:number\n1,2\n", "", `column "a" is given twice`},
		{"CSVNoName", "x.csv", "", "a,\n1,2\n", "", "column 2 has no name"},
		{"CSVBadType", "x.csv", "", "a:int\n1\n", "", "column 1: the type after the colon"},
		{"CSVBadNumber", "x.csv", "", "a:number\n1x\n", "", `line 2: a: "1x" is not a number`},
		{"CSVQuotedNumber", "x.csv", "", "a:number\n\"\"\"1\"\"\"\n", "", "is not a number"},
		{"CSVNull", "x.csv", "", "a:number\nnull\n", "", "is not a number"},
		{"CSVBadBoolean", "x.csv", "", "a:boolean\nmaybe\n", "", "is not true or false"},
		{"CSVBadJSON", "x.csv", "", "a:json\n{\n", "", "is not JSON"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inputs, err := cmd.BatchInputs(tt.file, tt.format, []byte(tt.in))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || cmd.ExitCode(err) != 2 {
					t.Fatalf("err = %v (exit %d), want one with %q", err, cmd.ExitCode(err), tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, input := range inputs {
				texts = append(texts, string(input))
			}
			if got := strings.Join(texts, " "); got != tt.want {
				t.Errorf("inputs %s, want %s", got, tt.want)
			}
		})
	}
}

// FuzzBatchInputs holds every reader to objects, or an error and nothing else.
func FuzzBatchInputs(f *testing.F) {
	for _, seed := range []string{`[{"a":1}]`, "{}\n{}", "a,b:number\nx,1\n", "\xef\xbb\xbf[]", "a:json\n\"{}\"\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, format := range []string{"", "json", "jsonl", "csv"} {
			inputs, err := cmd.BatchInputs("x", format, []byte(in))
			if err != nil && (inputs != nil || cmd.ExitCode(err) != 2) {
				t.Fatalf("%s: %d inputs beside %v (exit %d)", format, len(inputs), err, cmd.ExitCode(err))
			}
			for _, input := range inputs {
				var object map[string]any
				if json.Unmarshal(input, &object) != nil || object == nil {
					t.Fatalf("%s: %q is no object", format, input)
				}
			}
		}
	})
}

// TestYAML proves that the YAML output means what the JSON meant, in the same order of keys.
func TestYAML(t *testing.T) {
	for _, in := range []string{
		`{}`, `[]`, `null`, `"text"`, `{"b":1,"a":[true,false,null,1.5,-0,1e9,""]}`,
		`{"a":"yes","b":"1","c":"null","d":"a: b","e":"x\ny","f":"\ud83d\ude00","g":"#","h":" pad ","i":"\u0000"}`,
		`{"nested":{"list":[[],{},[{"x":[1]}]]}}`, `{"1":"key","true":"key"}`,
	} {
		node, err := cmd.YAMLNode(json.RawMessage(in))
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		text, err := yaml.Marshal(node)
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		var fromYAML any
		if err := yaml.Unmarshal(text, &fromYAML); err != nil {
			t.Fatalf("%s: %v\n%s", in, err, text)
		}
		back, err := json.Marshal(fromYAML)
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		var want, got any
		if json.Unmarshal([]byte(in), &want) != nil || json.Unmarshal(back, &got) != nil || !reflect.DeepEqual(want, got) {
			t.Errorf("%s became\n%s", in, text)
		}
	}
	node, err := cmd.YAMLNode(json.RawMessage(`{"b":1,"a":2}`))
	if err != nil || node.Content[0].Value != "b" {
		t.Errorf("the order of keys changed: %v", err)
	}
	for _, in := range []string{``, `{`, `{"a":}`, `[1`} {
		if _, err := cmd.YAMLNode(json.RawMessage(in)); err == nil {
			t.Errorf("%q was taken for JSON", in)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain é 技術": "plain é 技術", "a\nb\tc": "a b c", "\x1b[2J": "\ufffd[2J", "a\u202eb": "a\ufffdb", "\x00\x7f": "\ufffd\ufffd",
	} {
		if got := cmd.Clean(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	for in, want := range map[time.Duration]string{
		0: "", 1234 * time.Microsecond: "1.23 ms", 999 * time.Millisecond: "999 ms",
		1500 * time.Millisecond: "1.5 s", 65432 * time.Millisecond: "1m5s",
	} {
		if got := cmd.Span(in); got != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
}
