package claude_test

import (
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
