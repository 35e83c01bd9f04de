package claude_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// numbers is an input whose numbers a float64 rounds or has not.
const numbers = `{"big":9007199254740993,"command":"rm x","far":[1e400,0.1000000000000000055]}`

func inputOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// The input of a tool is told with the numbers that claude wrote, also after the driver was saved: two calls that differ in
// nothing else are two, and one that comes again is the one that is open.
func TestNumbersOfTools(t *testing.T) {
	r := readyRig(t)
	r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
	call := func(input, id string) map[string]any {
		return map[string]any{"tool_name": "Bash", "tool_input": json.RawMessage(input), "tool_use_id": id}
	}
	r.hook("PreToolUse", call(numbers, "one"))
	if got := inputOf(t, r.Signals[len(r.Signals)-1].Tool.Input); got != numbers {
		t.Errorf("the tool runs with %s", got)
	}
	r.hook("PermissionRequest", call(numbers, "one"))
	other := strings.Replace(numbers, "993", "992", 1)
	r.hook("PermissionRequest", call(other, "two"))
	if got := inputOf(t, r.shown.Input); got != numbers {
		t.Errorf("the prompt is of %s", got)
	}
	back := newRig(t)
	back.driver.Load(r.driver.Save())
	back.hook("PermissionRequest", call(other, "two"))
	back.hook("PermissionRequest", call(numbers, "one"))
	for _, want := range []string{numbers, other} {
		if _, err := back.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceAllow}); err != nil {
			t.Fatal(err)
		}
		var of *runtime.Prompt
		for _, s := range back.Signals {
			if s.Kind == agentcli.SignalUnblocked {
				of = s.Prompt
			}
			if s.Kind == agentcli.SignalBlocked {
				r.shown = s.Prompt
			}
		}
		if got := inputOf(t, of.Input); got != want {
			t.Errorf("the prompt of %s is answered, want that of %s", got, want)
		}
	}
	back.Pass(0)
	if n := strings.Count(back.Kinds(), "blocked["); n != 3 {
		t.Errorf("%d signals of prompts, want 3: two were answered, and one shown after the other", n)
	}
}

// What goes back to claude beside an answer is as it came.
func TestNumbersOfAnsweredQuestions(t *testing.T) {
	const questions = `"questions":[{"big":9007199254740993,"options":[{"label":"red","n":1e400}],"question":"<Colour> & size?","x":0.1000000000000000055}]`
	for name, saved := range map[string]bool{"Live": false, "Saved": true} {
		t.Run(name, func(t *testing.T) {
			r := readyRig(t)
			r.hook("UserPromptSubmit", map[string]any{"prompt": "go"})
			ask := map[string]any{"tool_name": "AskUserQuestion", "tool_input": json.RawMessage("{" + questions + "}")}
			call := r.hook("PermissionRequest", ask)
			shown := r.shown
			if saved {
				back := newRig(t)
				back.driver.Load(r.driver.Save())
				call = back.hook("PermissionRequest", ask)
				r = back
			}
			if _, err := r.driver.Answer(shown, runtime.Answer{Choice: "red"}); err != nil {
				t.Fatal(err)
			}
			var got struct {
				HookSpecificOutput struct {
					Decision struct{ UpdatedInput json.RawMessage }
				}
			}
			if err := json.Unmarshal([]byte(call.Answer), &got); err != nil {
				t.Fatal(err)
			}
			want := `{"answers":{"<Colour> & size?":"red"},` + questions + `}`
			if got := unescaped(string(got.HookSpecificOutput.Decision.UpdatedInput)); got != want {
				t.Errorf("the input went back as\n%s, want\n%s", got, want)
			}
		})
	}
}

// unescaped returns JSON without the escapes for HTML that encoding/json writes.
func unescaped(text string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(text)
}
