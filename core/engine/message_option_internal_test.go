package engine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
)

func TestChooseOption(t *testing.T) {
	cli := []core.QuestionOption{{ID: "1", Label: "Yes"}, {ID: "2", Label: "Yes, and don't ask again this session"}, {ID: "3", Label: "No, and tell it what to do differently"}}
	words := []core.QuestionOption{{ID: "allow", Label: "Allow once"}, {ID: "deny", Label: "Deny"}}
	pick := []core.QuestionOption{{ID: "pg", Label: "Postgres"}, {ID: "my", Label: "MySQL"}, {ID: "no", Label: "No database"}}
	tickets := []core.QuestionOption{{ID: "9007199254740992"}, {ID: "9007199254740993"}, {ID: "12345678"}, {ID: "0.5"}}
	bare := []core.QuestionOption{{ID: "approve"}, {ID: "reject"}}
	twins := []core.QuestionOption{{ID: "a", Label: "Same"}, {ID: "b", Label: "Same"}}
	for _, test := range []struct {
		options []core.QuestionOption
		content string
		want    string // "" unclear
	}{
		{cli, `"1"`, "1"},
		{cli, `3`, "3"},
		{cli, `3.0`, "3"},
		{tickets, `9007199254740993`, "9007199254740993"},
		{tickets, `{"option":{"id":9007199254740992}}`, "9007199254740992"},
		{tickets, `9007199254740994`, ""},
		{tickets, `12345678`, "12345678"},
		{tickets, `0.50`, "0.5"},
		{tickets, `1e400`, ""},
		{tickets, `{"id":"0.5","confidence":1e400}`, "0.5"},
		{cli, `"Yes"`, "1"},
		{cli, `"yes!"`, "1"},
		{cli, `" **Yes.** "`, "1"},
		{cli, `true`, "1"},
		{cli, `false`, "3"},
		{cli, `"allow"`, "1"},
		{cli, `"deny"`, "3"},
		{cli, `"No."`, "3"},
		{cli, `"no, please"`, "3"},
		{cli, `"Yes, and don't ask again this session"`, "2"},
		{cli, `"2. Yes, and don't ask again this session"`, "2"},
		{cli, `"option 2"`, "2"},
		{cli, `"Choice 3."`, "3"},
		{cli, `"#1"`, "1"},
		{cli, `{"answer":"allow"}`, "1"},
		{cli, `{"option":{"id":"3"}}`, "3"},
		{cli, `{"approved":false}`, "3"},
		{cli, `"Yes, but only in the test folder"`, ""},
		{cli, `"Yes, if the tests pass"`, ""},
		{cli, `"not ok"`, ""},
		{cli, `"always allow"`, ""},
		{cli, `"yes or no"`, ""},
		{cli, `"it depends"`, ""},
		{cli, `"use 2 replicas"`, ""},
		{cli, `"4"`, ""},
		{cli, `""`, ""},
		{cli, `null`, ""},
		{cli, `[1]`, ""},
		{cli, `{"x":1}`, ""},
		{cli, `"` + strings.Repeat("yes ", 60) + `"`, ""},
		{words, `"ALLOW"`, "allow"},
		{words, `"allow once"`, "allow"},
		{words, `"approved"`, "allow"},
		{words, `"I refuse"`, "deny"},
		{words, `"don't"`, "deny"},
		{pick, `"postgres"`, "pg"},
		{pick, `"my"`, "my"},
		{pick, `"no"`, "no"},
		{pick, `"yes"`, ""},
		{pick, `"oracle"`, ""},
		{bare, `"ok"`, "approve"},
		{bare, `"rejected"`, "reject"},
		{twins, `"same"`, ""},
		{twins, `"b"`, "b"},
		{nil, `"yes"`, ""},
	} {
		id, ok := chooseOption(test.options, json.RawMessage(test.content))
		if ok != (test.want != "") || ok && id != test.want {
			t.Errorf("%s of %v is %q, %v, want %q", test.content, test.options, id, ok, test.want)
		}
	}
}

func TestAnswerOfExchangeWithoutOptions(t *testing.T) {
	l := &exchange{}
	if got, ok := l.answerOf(json.RawMessage(`{"any":1}`)); !ok || string(got) != `{"any":1}` {
		t.Errorf("got %s, %v", got, ok)
	}
}

func TestAnswerOfExchangeWithOptions(t *testing.T) {
	options := []core.QuestionOption{{ID: "allow", Label: "Allow"}, {ID: "deny", Label: "Deny"}}
	for _, test := range []struct {
		kind             core.QuestionKind
		content          string
		ofRole, ofPeople string
	}{
		{core.QuestionApproval, `"no"`, `"deny"`, `"deny"`},
		{core.QuestionApproval, `{"choice":"deny","reason":"use staging"}`, `{"choice":"deny","reason":"use staging"}`, `{"choice":"deny","reason":"use staging"}`},
		{core.QuestionApproval, `{"text":"use staging"}`, "", ""},
		{core.QuestionDialog, `{"text":"use staging"}`, "", `{"text":"use staging"}`},
		{core.QuestionDialog, `{"text":" "}`, "", ""},
		{core.QuestionDialog, `"use staging"`, "", ""},
	} {
		l := &exchange{sentData: sentData{Kind: test.kind, Options: options}}
		if got, _ := l.answerOf(json.RawMessage(test.content)); string(got) != test.ofRole {
			t.Errorf("%s %s of a role is %s, want %s", test.kind, test.content, got, test.ofRole)
		}
		if got, _ := l.answerOfPeople(json.RawMessage(test.content)); string(got) != test.ofPeople {
			t.Errorf("%s %s of people is %s, want %s", test.kind, test.content, got, test.ofPeople)
		}
	}
}

func TestQuestionText(t *testing.T) {
	for content, want := range map[string]string{
		`"plain"`: "plain", `{"text":"a","question":"b"}`: "a", `{"question":"b"}`: "b", `{"text":" ","message":"c"}`: "c",
		`{"x": [1, 2]}`: `{"x":[1,2]}`, `7`: "7", `{"text":3}`: `{"text":3}`,
	} {
		if got := questionText(json.RawMessage(content)); got != want {
			t.Errorf("the text of %s is %q, want %q", content, got, want)
		}
	}
}

// Whatever an answer says, only one of the options comes out.
func FuzzChooseOption(f *testing.F) {
	f.Add("1", "Yes", "2", "No", `"yes"`)
	f.Add("allow", "", "", "", `{"answer":{"id":"allow"}}`)
	f.Add("1", "Yes", "2", "Yes, always", `"2. yes, always"`)
	f.Fuzz(func(t *testing.T, id1, label1, id2, label2, content string) {
		options := []core.QuestionOption{{ID: id1, Label: label1}, {ID: id2, Label: label2}}
		id, ok := chooseOption(options, json.RawMessage(content))
		if ok && id != id1 && id != id2 {
			t.Fatalf("%q is none of %v", id, options)
		}
		questionText(json.RawMessage(content))
	})
}
