package dialog_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const everyField = `{"type":"object","required":["name","size"],"properties":{
	"name":{"type":"string","title":"Your name"},
	"size":{"type":"string","enum":["3","2","1"]},
	"days":{"type":"integer"},
	"rate":{"type":"number"},
	"sure":{"type":"boolean"},
	"kind":{"type":"string","oneOf":[{"const":"a","title":"Apple"},{"const":"b"}]},
	"tags":{"type":"array","items":{"anyOf":[{"const":"x","title":"Ex"},{"const":"y","title":"Why"}]}}}}`

// Each field gets the value that was said for it, of its type, or the answer is refused.
func TestFormAnswer(t *testing.T) {
	fields, err := dialog.ReadFields([]byte(everyField))
	if err != nil {
		t.Fatal(err)
	}
	f := dialog.Form{Server: "s", Message: "m", Fields: fields}
	if p := f.Prompt("p"); len(p.Options) != 1 || !strings.Contains(p.Text, "1. Your name\n2. size (3 / 2 / 1)\n3. days, optional") {
		t.Errorf("%+v", p)
	}
	for text, want := range map[string]string{
		"ada\n1":                                 `{"name":"ada","size":"1"}`,
		"ada\r\n3\n\n":                           `{"name":"ada","size":"3"}`,
		"ada\n2\n7\n1.5\nno\nAPPLE\nwhy, x":      `{"days":7,"kind":"a","name":"ada","rate":1.5,"size":"2","sure":false,"tags":["y","x"]}`,
		"ada\n2\n\n1e3\ntrue\nb\n":               `{"kind":"b","name":"ada","rate":1e3,"size":"2","sure":true}`,
		"":                                       "",
		"ada":                                    "",
		"ada\n4":                                 "",
		"ada\n1\n1.5":                            "",
		"ada\n1\n\nNaN":                          "",
		"ada\n1\n\n\nmaybe":                      "",
		"ada\n1\n\n\n\ncherry":                   "",
		"ada\n1\n\n\n\n\nx, z":                   "",
		"ada\n1\n\n\n\n\n\nand one more than it": "",
	} {
		action, content, err := f.Answer(runtime.Answer{Text: text})
		got, _ := json.Marshal(content)
		if want == "" {
			if runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
				t.Errorf("%q: %s %s, %v", text, action, got, err)
			}
		} else if err != nil || action != dialog.FormAccept || string(got) != want {
			t.Errorf("%q: %s %s, %v", text, action, got, err)
		}
	}
}

// The id of an option goes before a label that reads the same, and a value before what declines.
func TestFormChoice(t *testing.T) {
	for _, tt := range []struct {
		values, choice, want string
	}{
		{`"3","2","1"`, "1", "3"}, {`"3","2","1"`, "decline", "decline"}, {`"accept","decline"`, "decline", `{"f":"decline"}`},
		{`"accept","decline"`, "1", `{"f":"accept"}`}, {`"3","2","1"`, "4", ""},
	} {
		fields, err := dialog.ReadFields([]byte(`{"properties":{"f":{"type":"string","enum":[` + tt.values + `]}}}`))
		if err != nil {
			t.Fatal(err)
		}
		f := dialog.Form{Fields: fields}
		action, content, err := f.Answer(runtime.Answer{Choice: tt.choice})
		got, _ := json.Marshal(content)
		if (err != nil) != (tt.want == "") || err == nil && action != tt.want && !strings.Contains(string(got), tt.want) {
			t.Errorf("%+v: %s %s, %v", tt, action, got, err)
		}
	}
}

// A label may hold commas: several are read apart where that can be done in one way, and their numbers are asked for where it cannot.
func TestLabelsWithCommas(t *testing.T) {
	const labels = `"red","dark, red","blue","red, blue"`
	fields, err := dialog.ReadFields([]byte(`{"properties":{"f":{"type":"array","items":{"enum":[` + labels + `]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	question := dialog.Question{Text: "which?", Options: []string{"red", "dark, red", "blue", "red, blue"}, Multi: true}
	for _, tt := range []struct {
		answer runtime.Answer
		want   string // places; empty: refused
		why    string // in a refusal; empty: a question takes it for words of one's own
	}{
		{runtime.Answer{Text: "dark, red"}, "[1]", ""},
		{runtime.Answer{Text: "blue, dark"}, "", ""},
		{runtime.Answer{Text: "blue, DARK, RED, red"}, "[2 1 0]", ""},
		{runtime.Answer{Text: "blue, red"}, "[2 0]", ""},
		{runtime.Answer{Text: "red, blue"}, "", "numbers"},
		{runtime.Answer{Text: "1, 3"}, "[0 2]", ""},
		{runtime.Answer{Text: "4"}, "[3]", ""},
		{runtime.Answer{Choice: "red, blue"}, "[3]", ""},
		{runtime.Answer{Choice: "1,3"}, "[0 2]", ""},
		{runtime.Answer{Choice: "blue, red, blue"}, "", "numbers"},
	} {
		_, content, err := (&dialog.Form{Fields: fields}).Answer(tt.answer)
		var places []int
		values, _ := content["f"].([]string)
		for _, v := range values {
			places = append(places, slices.Index(question.Options, v))
		}
		replies, other := dialog.Replies([]dialog.Question{question}, tt.answer)
		if tt.want == "" {
			if runtime.ErrorCode(err) != runtime.CodeInvalidArgument || !strings.Contains(err.Error(), tt.why) || (other != nil) != (tt.why != "") {
				t.Errorf("%+v: %v, %v; %v, %v", tt.answer, places, err, replies, other)
			}
			continue
		}
		if fmt.Sprint(places) != tt.want || err != nil || other != nil || fmt.Sprint(replies[0].Options) != tt.want {
			t.Errorf("%+v: %v, %v; %v, %v", tt.answer, places, err, replies, other)
		}
	}
	if _, _, err := (&dialog.Form{Fields: fields}).Answer(runtime.Answer{Text: "dark, red, purple"}); err == nil || !strings.Contains(err.Error(), `"purple"`) {
		t.Errorf("an option that is none: %v", err)
	}
}

// What is not understood is no form.
func TestFormNotUnderstood(t *testing.T) {
	for _, schema := range []string{
		"[]", `{"properties":[]}`, `{"properties":{"a":1}}`, `{"properties":{"a":{"type":"object"}}}`, `{"properties":{"a":{"type":"array"}}}`,
		`{"properties":{"a":{}}}`, `{"properties":{` + strings.TrimSuffix(strings.Repeat(`"a":{"type":"string"},`, 33), ",") + `}}`,
	} {
		if fields, err := dialog.ReadFields([]byte(schema)); err == nil {
			t.Errorf("%s: %+v", schema, fields)
		}
	}
	if fields, err := dialog.ReadFields(nil); err != nil || len(fields) > 0 {
		t.Errorf("no schema: %+v, %v", fields, err)
	}
}
