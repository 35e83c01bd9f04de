package gemini_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

func startScripted(t *testing.T, replies map[string][]reply) *drivertest.Agent {
	t.Helper()
	drivertest.CLI(t, "gemini")
	a := drivertest.Start(t, gemini.New(), scripted(t, replies))
	a.Wait(agentcli.SignalIdle)
	return a
}

// A model may call several tools at once. Each is asked about by itself, by the prompt of the one whose dialog stands, and an answer
// is one of that prompt alone.
func TestRealToolsAtOnce(t *testing.T) {
	t.Parallel()
	touch := func(name string) string {
		return call(t, "run_shell_command", map[string]any{"command": "touch " + name, "description": "makes a file"})
	}
	a := startScripted(t, map[string][]reply{
		"allow":  {{chunk("STOP", touch("one"), touch("one1"), touch("one12"))}},
		"refuse": {{chunk("STOP", touch("two"), touch("three"))}},
	})
	there := func(name string) bool { _, err := os.Stat(filepath.Join(a.Room.Workdir, name)); return err == nil }
	a.Send("PLAY[allow] please")
	var allowed []string
	for len(allowed) < 3 {
		if p := a.Wait(agentcli.SignalBlocked).Prompt; p.Kind != runtime.PromptApproval || p.Tool != "run_shell_command" {
			t.Fatalf("blocked with %+v", p)
		}
		a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceAllow})
		u := a.Wait(agentcli.SignalUnblocked)
		file := strings.TrimPrefix(u.Prompt.Text, "run_shell_command: touch ")
		if u.Choice == "" {
			continue // the dialog of one that comes before it was drawn in its place
		}
		if slices.Contains(allowed, file) || u.Choice != runtime.ChoiceAllow {
			t.Errorf("%s was unblocked by %q", u.Prompt.Text, u.Choice)
		}
		if n := strings.Count(a.Screen(), "o  Shell touch one"); len(allowed) < 2 && n != len(allowed)+1 {
			t.Errorf("%d are allowed, and gemini shows %d:\n%s", len(allowed)+1, n, a.Screen())
		}
		allowed = append(allowed, file)
	}
	if end := a.Turn(); end.Interrupted || end.Error != nil || !there("one") || !there("one1") || !there("one12") {
		t.Errorf("with %v allowed the turn ended with %+v", allowed, end.Signal)
	}
	a.Send("PLAY[refuse] please")
	a.Wait(agentcli.SignalBlocked)
	a.WaitScreen(" of 2 ")
	a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceDeny})
	if end := a.Turn(); !end.Refused || end.Text != "" || there("two") || there("three") {
		t.Errorf("a refusal of one of two ended with %+v", end.Signal)
	}
	a.Send("after all")
	if end := a.Turn(); end.Text != "ANSWER[after all]" {
		t.Errorf("the next turn ended with %+v", end.Signal)
	}
}

// A question may take several options, or several questions come at once. What answers them is typed once, and nothing of it is left
// for the line of messages.
func TestRealQuestions(t *testing.T) {
	t.Parallel()
	options := []any{map[string]any{"label": "alpha", "description": "a"}, map[string]any{"label": "beta", "description": "b"}}
	question := func(text string, several bool) map[string]any {
		return map[string]any{"question": text, "header": "Pick", "type": "choice", "options": options, "multiSelect": several}
	}
	ask := func(questions ...any) []reply {
		return []reply{{chunk("STOP", call(t, "ask_user", map[string]any{"questions": questions}))}}
	}
	a := startScripted(t, map[string][]reply{
		"several": ask(question("which?", true)),
		"one":     ask(question("which?", true)),
		"own":     ask(question("which?", true)),
		"two":     ask(question("first?", false), question("second?", true)),
	})
	for _, tt := range []struct {
		name, want string
		answer     runtime.Answer
	}{
		{"several", `{"0":"alpha, beta"}`, runtime.Answer{Choice: "2,1"}},
		{"one", `{"0":"alpha"}`, runtime.Answer{Choice: "alpha"}},
		{"own", `{"0":"words of my own"}`, runtime.Answer{Text: "words of my own"}},
		{"two", `{"0":"beta","1":"alpha"}`, runtime.Answer{Text: "beta\nalpha"}},
	} {
		took := a.Send("PLAY[" + tt.name + "] please")
		a.Wait(agentcli.SignalBlocked)
		a.WaitScreen("Esc to cancel")
		a.MustAnswer(tt.answer)
		if end := a.Turn(); !strings.Contains(end.Text, tt.want) || !strings.Contains(took.Text, tt.name) {
			t.Errorf("%s: the turn of %q ended with %q", tt.name, took.Text, end.Text)
		}
	}
	if took := a.Send("after all"); took.Text != "after all" || a.Count(agentcli.SignalTook) != 5 {
		t.Errorf("it took %q\n%s", took.Text, a.History())
	}
}

// A model that has nothing to say to the result of a tool is asked again by gemini itself: that is no end of the turn, and what was
// said before the tool no answer.
func TestRealSilenceAfterTool(t *testing.T) {
	t.Parallel()
	look := chunk("STOP", `{"text":"let me look"}`, call(t, "list_directory", map[string]any{"dir_path": "."}))
	silent := slices.Repeat([]reply{{chunk("STOP")}}, 12) // four attempts each, of the answer and of two more
	a := startScripted(t, map[string][]reply{
		"spoken": slices.Concat([]reply{{look}}, silent[:4], []reply{{chunk("STOP", `{"text":"it is empty"}`)}}),
		"silent": slices.Concat([]reply{{look}}, silent),
	})
	for _, name := range []string{"spoken", "silent"} {
		a.Send("PLAY[" + name + "] please")
		end := a.Turn()
		if name == "spoken" && (end.Error != nil || end.Text != "it is empty") {
			t.Errorf("a model that spoke in the end came to %+v, %+v", end.Signal, end.Error)
		}
		if name == "silent" && (end.Error == nil || end.Error.Code != wire.TurnModelCut || end.Text != "") {
			t.Errorf("a model that stayed silent came to %+v", end.Signal)
		}
	}
	// The model is asked with the result that had no answer, too.
	took := a.Send("PLAY[nothing] after all")
	if end := a.Turn(); end.Error != nil || end.Text == "" || took.Text != "PLAY[nothing] after all" || a.Count(agentcli.SignalTook) != 3 {
		t.Errorf("the next turn ended with %+v\n%s", end.Signal, a.History())
	}
}
