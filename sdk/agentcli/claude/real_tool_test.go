package claude_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/claude"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// What claude asks before it starts is a question, and it starts once that is answered: here whether to use a server that the project
// declares.
func TestRealProjectServer(t *testing.T) {
	drivertest.CLI(t, "claude")
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".mcp.json"), []byte(`{"mcpServers":{"own":{"command":"false"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	a := drivertest.StartSpec(t, claude.New(), runtime.Spec{Env: modelEnv(drivertest.StartModel(t).URL), Workdir: dir})
	seen := a.Wait(agentcli.SignalBlocked, agentcli.SignalIdle)
	if seen.Kind != agentcli.SignalBlocked || seen.Prompt.Kind != runtime.PromptQuestion || len(seen.Prompt.Options) < 2 {
		t.Fatalf("%s with %+v\n%s", seen.Kind, seen.Prompt, a.Screen())
	}
	a.MustAnswer(runtime.Answer{Choice: seen.Prompt.Options[len(seen.Prompt.Options)-1].ID})
	a.Wait(agentcli.SignalUnblocked)
	a.Wait(agentcli.SignalIdle)
	a.Send("SAY[without it]")
	if end := a.Turn(); end.Text != "without it" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// A home that an older claude began is started without a question about what is new.
func TestRealOlderHome(t *testing.T) {
	a := startReal(t, "", "", nil)
	a.Send("SAY[before]")
	a.Turn()
	name := filepath.Join(a.Room.Home, ".claude", ".claude.json")
	var state map[string]any
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, &state)
	}
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	data, err = json.Marshal(map[string]any{ // as 2.1.197 left it
		"customApiKeyResponses": state["customApiKeyResponses"], "projects": state["projects"], "hasCompletedOnboarding": true, "numStartups": 1,
		"firstStartTime":        "2026-06-01T00:00:00.000Z",
		"lastOnboardingVersion": "2.1.197", "lastReleaseNotesSeen": "2.1.197", "migrationVersion": 13,
	})
	if err == nil {
		err = os.WriteFile(name, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	a.Again(a.Plan.SessionID)
	if seen := a.Wait(agentcli.SignalBlocked, agentcli.SignalIdle); seen.Kind != agentcli.SignalIdle {
		t.Fatalf("%s with %+v\n%s", seen.Kind, seen.Prompt, a.Screen())
	}
	a.Send("SAY[after]")
	if end := a.Turn(); end.Text != "after" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

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
