package roles_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/roles"
)

func TestResultOf(t *testing.T) {
	for _, tt := range []struct{ name, answer, want string }{
		{"Text", "All is well.", `"All is well."`},
		{"Empty", "", `""`},
		{"Object", ` {"a": 1} `, `{"a":1}`},
		{"Array", "[1,\n 2]", `[1,2]`},
		{"Number", "42", `"42"`},
		{"Fenced", "```json\n{\"a\": [1]}\n```", `{"a":[1]}`},
		{"FencedAtEnd", "Here it is:\n\n```\n{\"a\": 1}\n```\n", `{"a":1}`},
		{"FencedTwice", "```json\n{\"a\": 1}\n```\nor\n```json\n{\"a\": 2}\n```", `{"a":2}`},
		{"FencedInside", "```json\n{\"a\": 1}\n```\nThat is all.", "\"```json\\n{\\\"a\\\": 1}\\n```\\nThat is all.\""},
		{"OtherLanguage", "```go\n{}\n```", "\"```go\\n{}\\n```\""},
		{"NoJSON", "```\n{a: 1}\n```", "\"```\\n{a: 1}\\n```\""},
		{"TwoValues", `{"a":1} {"b":2}`, `"{\"a\":1} {\"b\":2}"`},
		{"FenceOnly", "```", "\"```\""},
		{"FenceInLine", "x ```{}```", "\"x ```{}```\""},
		{"BigNumber", `{"n": 12345678901234567890}`, `{"n":12345678901234567890}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(roles.ResultOf(tt.answer)); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func FuzzResultOf(f *testing.F) {
	for _, s := range []string{"", "{}", "```json\n[1]\n```", "a\n```\n{\"a\":\"```\"}\n```", "\xff", "```\n", "``````"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, answer string) {
		got := roles.ResultOf(answer)
		if !json.Valid(got) {
			t.Fatalf("%q gave %s, which is not JSON", answer, got)
		}
		var text string
		if json.Unmarshal(got, &text) == nil && utf8.ValidString(answer) && text != answer {
			t.Fatalf("%q became the text %q", answer, text)
		}
	})
}

func TestTaskText(t *testing.T) {
	in := func(raw string) *core.Task { return &core.Task{Role: "coder", Input: json.RawMessage(raw)} }
	for _, tt := range []struct {
		name string
		task *core.Task
		want string
	}{
		{"Plain", in(`{"task":" Build it. \n","role":"coder"}`), "Build it.\n\nYour role is coder."},
		{
			"Everything",
			in(`{"task":"Judge it.","subject":{"a":1},"feedback":"too slow","previousAnswer":"yes","results":{"1":"newer","0":[1]},"resultsTruncated":true}`),
			"Judge it.\n\nWhat it is about:\n```json\n{\n  \"a\": 1\n}\n```\n\nFeedback on the work so far:\ntoo slow\n\nYour answer before:\nyes" +
				"\n\nResult of step 1:\nnewer\n\nResult of step 0:\n```json\n[\n  1\n]\n```\n\n(Older results are left out.)\n\nYour role is coder.",
		},
		{
			"Flat", in(`{"question":"why"}`),
			"Do the work that this input asks for, as the role coder. Answer with the result.\n\nInput:\n```json\n{\n  \"question\": \"why\"\n}\n```",
		},
		{"Keys", in(`{"task":"a\u001b[2Jb\u0003\u007f\u009bc\r\nd\te"}`), "a[2Jbc\nd\te\n\nYour role is coder."},
		{"Nothing", &core.Task{Input: json.RawMessage(`{"task":""}`)}, "(The task has no text.)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := roles.TaskText(tt.task); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	long, err := json.Marshal(map[string]any{"task": strings.Repeat("ä", 1<<20), "subject": strings.Repeat("b", 1<<20)})
	if err != nil {
		t.Fatal(err)
	}
	if got := roles.TaskText(in(string(long))); len(got) > 400<<10 || !utf8.ValidString(got) {
		t.Errorf("a long task has %d bytes", len(got))
	}
}

func FuzzTaskText(f *testing.F) {
	f.Add(`{"task":"x","results":{"0":"a"}}`)
	f.Add(`{"task":"x","results":{"0":`)
	f.Add("")
	f.Fuzz(func(t *testing.T, input string) {
		task := &core.Task{Role: "r", Input: json.RawMessage(input)}
		got := roles.TaskText(task)
		if got != roles.TaskText(task) || !utf8.ValidString(got) || strings.TrimSpace(got) == "" || strings.ContainsRune(got, 0x1b) {
			t.Fatalf("%q gave %q", input, got)
		}
	})
}

func TestMessageText(t *testing.T) {
	m := core.AgentMessage{From: "user", MessageType: "question", Content: json.RawMessage(`"When?"`), WantsReply: true}
	want := "A person asks you (question). Answer it; your answer is passed on as it is.\n\nMessage:\nWhen?"
	if got := roles.MessageText(&m); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAnswers(t *testing.T) {
	approval := `{"id":"p","kind":"approval","options":[{"id":"1","label":"Yes"},{"id":"2","label":"Yes, always"},{"id":"3","label":"No"}]}`
	question := `{"id":"p","kind":"question","options":[{"id":"1","label":"Red"},{"id":"2","label":"Blue"},{"id":"3","label":"blue"}]}`
	open := `{"id":"p","kind":"question"}`
	for _, tt := range []struct{ name, prompt, content, choice, text string }{
		{"Allow", approval, `"allow"`, "allow", ""},
		{"AllowLoud", approval, `" ALLOW "`, "allow", ""},
		{"Deny", approval, `"deny"`, "deny", ""},
		{"OptionID", approval, `"2"`, "2", ""},
		{"Label", approval, `"yes, always"`, "2", ""},
		{"NoWord", approval, `"rather not, it is late"`, "deny", "rather not, it is late"},
		{"Object", approval, `{"choice":"deny","reason":"not now"}`, "deny", "not now"},
		{"ObjectText", approval, `{"choice":"3","text":"not now"}`, "3", "not now"},
		{"Null", approval, `null`, "deny", ""},
		{"True", approval, `true`, "deny", "true"},
		{"Choose", question, `"red"`, "1", ""},
		{"Ambiguous", question, `"BLUE"`, "", "BLUE"},
		{"Free", open, `"the third one"`, "", "the third one"},
		{"FreeObject", open, `{"answer":"blue"}`, "", "blue"},
		{"FreeJSON", open, `{"a":1}`, "", `{"a":1}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := roles.Answers(json.RawMessage(tt.prompt), json.RawMessage(tt.content))
			if len(got) == 0 || got[0].Choice != tt.choice || got[0].Text != tt.text || got[0].PromptID != "p" {
				t.Errorf("got %+v", got)
			}
		})
	}
}
