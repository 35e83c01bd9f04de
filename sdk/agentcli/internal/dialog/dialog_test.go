package dialog_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/dialog"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestApprovalText(t *testing.T) {
	for _, tt := range []struct {
		tool  string
		input map[string]any
		want  string
	}{
		{"Bash", map[string]any{"command": "ls", "description": "list"}, "Bash: ls"},
		{"shell", map[string]any{"command": []any{"ls", "-l"}}, "shell: ls -l"},
		{"Write", map[string]any{"file_path": "/a", "content": "x"}, "Write: /a"},
		{"mcp", map[string]any{"b": 1}, `mcp: {"b":1}`},
		{"mcp", nil, "mcp"},
		{"", nil, "The agent asks for an approval: see its terminal."},
	} {
		if got := dialog.ApprovalPrompt("p", tt.tool, tt.input, false).Text; got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	long := dialog.ApprovalPrompt("p", "Bash", map[string]any{"command": strings.Repeat("é", 5000)}, false)
	if len(long.Text) > 2100 || !strings.HasSuffix(long.Text, "é...") {
		t.Errorf("%d bytes, ending with %q", len(long.Text), long.Text[len(long.Text)-10:])
	}
}

func TestChoice(t *testing.T) {
	p := dialog.ApprovalPrompt("p", "Bash", nil, true)
	for _, tt := range []struct {
		answer runtime.Answer
		want   string
		code   runtime.Code
	}{
		{runtime.Answer{Choice: "allow"}, "allow", ""},
		{runtime.Answer{Choice: "allow_always"}, "allow_always", ""},
		{runtime.Answer{Choice: "deny", Text: "why"}, "deny", ""},
		{runtime.Answer{Choice: "allow", Text: "why"}, "", runtime.CodeInvalidArgument},
		{runtime.Answer{Choice: "Allow"}, "", runtime.CodeInvalidArgument},
		{runtime.Answer{Text: "yes"}, "", runtime.CodeInvalidArgument},
	} {
		if got, err := dialog.Choice(p, tt.answer); got != tt.want || runtime.ErrorCode(err) != tt.code {
			t.Errorf("%+v: %q, %v", tt.answer, got, err)
		}
	}
	p = dialog.ApprovalPrompt("p", "Bash", nil, false)
	if _, err := dialog.Choice(p, runtime.Answer{Choice: dialog.ChoiceAlways}); runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
		t.Errorf("a choice that was not offered: %v", err)
	}
}

func TestReplies(t *testing.T) {
	one := []dialog.Question{{Text: "q", Options: []string{"Red", "blue"}}}
	many := []dialog.Question{{Text: "q", Options: []string{"Red", "blue"}, Multi: true}}
	for _, tt := range []struct {
		qs     []dialog.Question
		answer runtime.Answer
		want   []dialog.Reply
	}{
		{one, runtime.Answer{Choice: "2"}, []dialog.Reply{{Options: []int{1}}}},
		{one, runtime.Answer{Choice: "red"}, []dialog.Reply{{Options: []int{0}}}},
		{one, runtime.Answer{Text: "blue"}, []dialog.Reply{{Options: []int{1}}}},
		{one, runtime.Answer{Text: "1, 2"}, []dialog.Reply{{Text: "1, 2"}}},
		{many, runtime.Answer{Choice: "2,red"}, []dialog.Reply{{Options: []int{1, 0}}}},
		{one, runtime.Answer{Choice: "3"}, nil},
		{one, runtime.Answer{Choice: "1", Text: "x"}, nil},
		{one, runtime.Answer{}, nil},
		{nil, runtime.Answer{Text: "x"}, nil},
	} {
		got, err := dialog.Replies(tt.qs, tt.answer)
		if !reflect.DeepEqual(got, tt.want) || (err != nil) != (tt.want == nil) {
			t.Errorf("%+v: %+v, %v", tt.answer, got, err)
		}
		if err != nil && runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
			t.Errorf("%+v: %v", tt.answer, err)
		}
	}
}

func TestQuestionsNotUnderstood(t *testing.T) {
	for _, input := range []map[string]any{nil, {"questions": 1}, {"questions": []any{1, map[string]any{}}}} {
		p := dialog.QuestionPrompt("p", "ask", input)
		if p.Kind != runtime.PromptQuestion || p.Text == "" || len(p.Options) > 0 {
			t.Errorf("%v: %+v", input, p)
		}
	}
}

// The id of an option of a question, or of a dialog, goes before a label that reads the same: it is what a page gives for a click.
func TestIDBeforeLabel(t *testing.T) {
	labels := []string{"3", "2", "1"}
	for answer, want := range map[runtime.Answer]int{{Choice: "1"}: 0, {Choice: "3"}: 2, {Text: "1"}: 2} {
		got, err := dialog.Replies([]dialog.Question{{Text: "how many?", Options: labels}}, answer)
		if err != nil || len(got) != 1 || len(got[0].Options) != 1 || got[0].Options[0] != want {
			t.Errorf("%+v: %+v, %v", answer, got, err)
		}
	}
	s := dialog.Standing{Entries: []dialog.Entry{{Label: "3"}, {Label: "2"}, {Label: "1"}}}
	if _, choice, err := s.Answer(runtime.Answer{Choice: "1"}); err != nil || choice != "1" {
		t.Errorf("the entry %s, %v", choice, err)
	}
	if _, choice, err := s.Answer(runtime.Answer{Text: "1"}); err != nil || choice != "3" {
		t.Errorf("the entry %s, %v", choice, err)
	}
}

// An entry that no one key takes is answered by the other key, which is safe, and not by nothing.
func TestEntryWithoutKey(t *testing.T) {
	for n, want := range map[int]string{0: "x", 1: "1", 9: "9", 10: "x", 12: "x"} {
		typed := ""
		for _, step := range dialog.EntryKey(func([]string) int { return n }, "x", false) {
			if step.If(nil) {
				typed += string(step.Write)
			}
		}
		if typed != want {
			t.Errorf("entry %d is answered by %q, want %q", n, typed, want)
		}
	}
}
