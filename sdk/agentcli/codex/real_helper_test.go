package codex_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
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
