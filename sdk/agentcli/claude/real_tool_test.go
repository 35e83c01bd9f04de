package claude_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Plan mode ends as its dialog is answered: with one prompt, and no other one after it.
func TestRealPlanMode(t *testing.T) {
	a := startReal(t, "", "", nil)
	for _, choice := range []string{runtime.ChoiceAllow, runtime.ChoiceDeny} {
		before := a.Count(agentcli.SignalBlocked)
		a.Send("CALL[EnterPlanMode {}] CALL[ExitPlanMode {}] now " + choice)
		seen := a.Wait(agentcli.SignalBlocked, agentcli.SignalTurnEnd)
		if seen.Kind != agentcli.SignalBlocked || seen.Prompt.Tool != "ExitPlanMode" {
			t.Fatalf("%s with %+v\n%s", seen.Kind, seen.Prompt, a.History())
		}
		a.MustAnswer(runtime.Answer{Choice: choice})
		end := a.Turn()
		if n := a.Count(agentcli.SignalBlocked) - before; n != 1 || !strings.Contains(end.Text, "TOOL_RESULT") {
			t.Errorf("%s: %d prompts, and the turn ended with %+v, error %+v\n%s\n%s", choice, n, end.Signal, end.Error, a.History(), a.Screen())
		}
	}
}

// helper makes a message whose model starts a helper that does what its prompt says.
func helper(prompt string) string {
	return `CALL[Agent {"description":"helper","prompt":"` + prompt + `","subagent_type":"general-purpose"}] please`
}

// A turn in which helpers work lasts until they are done: what they ask is asked in it, and what they use is counted.
func TestRealHelpers(t *testing.T) {
	a := startReal(t, "", "", nil)
	for _, choice := range []string{runtime.ChoiceAllow, runtime.ChoiceDeny} {
		asked, ended := a.Count(agentcli.SignalBlocked), a.Count(agentcli.SignalTurnEnd)
		file := filepath.Join(a.Room.Workdir, choice)
		a.Send(helper("USE_TOOL[sleep 1; touch " + file + "] now"))
		seen := a.Wait(agentcli.SignalBlocked, agentcli.SignalTurnEnd)
		if seen.Kind != agentcli.SignalBlocked || !strings.Contains(seen.Prompt.Text, "touch "+file) || seen.Source != runtime.SourceHook {
			t.Fatalf("%s with %+v\n%s", seen.Kind, seen.Prompt, a.History())
		}
		a.MustAnswer(runtime.Answer{Choice: choice})
		end := a.Turn()
		// Of the turn's two parts, and of its helper.
		if u := end.Usage; u == nil || u.Requests != 2+1+2 || u.InputTokens < 5*1000 {
			t.Errorf("%s: usage %+v", choice, u)
		}
		if _, err := os.Stat(file); (err == nil) != (choice == runtime.ChoiceAllow) {
			t.Errorf("%s: %v", choice, err)
		}
		if n := a.Count(agentcli.SignalBlocked) - asked; n != 1 || a.Count(agentcli.SignalTurnEnd) != ended+1 || !strings.Contains(end.Text, "ANSWER") {
			t.Errorf("%s: %d prompts, and the turn ended with %+v, error %+v\n%s\n%s", choice, n, end.Signal, end.Error, a.History(), a.Screen())
		}
	}
	a.Send("SAY[after them]")
	if end := a.Turn(); end.Text != "after them" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// An interrupt ends a turn in which claude waits for a helper. The helper goes on, and what it asks can be answered all the same.
func TestRealHelperInterrupted(t *testing.T) {
	a := startReal(t, "", "", nil)
	file := filepath.Join(a.Room.Workdir, "made")
	a.Send(helper("USE_TOOL[sleep 1; touch " + file + "] now"))
	a.Wait(agentcli.SignalBlocked)
	a.WaitScreen("background agent")
	a.Interrupt()
	if end := a.Turn(); !end.Interrupted || end.Error != nil {
		t.Errorf("turn ended with %+v, error %+v\n%s", end.Signal, end.Error, a.History())
	}
	seen := a.Wait(agentcli.SignalBlocked)
	a.MustAnswer(runtime.Answer{PromptID: seen.Prompt.ID, Choice: runtime.ChoiceAllow})
	if end := a.Turn(); end.Interrupted || end.Error != nil {
		t.Errorf("turn ended with %+v, error %+v\n%s", end.Signal, end.Error, a.History())
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("%v\n%s", err, a.History())
	}
	a.Send("SAY[after it]")
	if end := a.Turn(); end.Text != "after it" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}
