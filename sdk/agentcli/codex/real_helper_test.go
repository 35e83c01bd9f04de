package codex_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// What an agent uses that codex's own one started is counted in the turn.
func TestRealHelperUsage(t *testing.T) {
	drivertest.CLI(t, "codex")
	t.Parallel()
	a := drivertest.Start(t, codex.New(), modelEnv(drivertest.StartModel(t).URL))
	a.Wait(agentcli.SignalIdle)
	a.Send(`CALL[spawn_agent {"message":"SAY[done]","task_name":"helper","fork_turns":"none"}] CALL[wait_agent {"timeout_ms":60000}] please`)
	end := a.Turn()
	// A request for each of the two calls and the answer, and those of the helper.
	if u := end.Usage; u == nil || u.Requests < 4 || u.InputTokens < 4*10000 || u.Model == "" {
		t.Errorf("usage %+v; the turn ended with %+v\n%s\n%s", u, end.Signal, a.History(), a.Screen())
	}
	a.Send("SAY[alone]")
	if end = a.Turn(); end.Usage == nil || end.Usage.Requests != 1 || strings.TrimSpace(end.Text) != "alone" {
		t.Errorf("usage %+v of %q", end.Usage, end.Text)
	}
}

// An agent that codex's own one started may ask when the turn is over: that is no turn, and is answered as any other.
func TestRealHelperAsks(t *testing.T) {
	drivertest.CLI(t, "codex")
	t.Parallel()
	a := started(t, codex.New(), modelEnv(drivertest.StartModel(t).URL))
	made := filepath.Join(filepath.Dir(a.Room.Home), "made")
	a.Send(`CALL[spawn_agent {"message":"HANG[2] ESCALATE USE_TOOL[touch ` + made + `]","task_name":"helper","fork_turns":"none"}] please`)
	if end := a.Turn(); end.Error != nil || a.Count(agentcli.SignalBlocked) > 0 {
		t.Fatalf("turn ended with %+v\n%s", end.Signal, a.History())
	}
	s := a.Wait(agentcli.SignalBlocked)
	if s.Source != runtime.SourceScreen || s.Prompt.Kind != runtime.PromptApproval || !strings.Contains(s.Prompt.Text, made) {
		t.Errorf("blocked by %s with %+v", s.Source, s.Prompt)
	}
	a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceAllow})
	if s = a.Wait(agentcli.SignalUnblocked); s.Choice != runtime.ChoiceAllow {
		t.Errorf("the choice is %q", s.Choice)
	}
	a.Send("SAY[alone]")
	if end := a.Turn(); end.Text != "alone" || a.Count(agentcli.SignalTurnEnd) != 2 {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
	if _, err := os.Stat(made); err != nil {
		t.Error(err)
	}
}
