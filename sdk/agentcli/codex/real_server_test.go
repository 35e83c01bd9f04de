package codex_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// startedWithServer starts a codex that has the MCP server.
func startedWithServer(t *testing.T) *drivertest.Agent {
	t.Helper()
	drivertest.CLI(t, "codex")
	t.Parallel()
	adapter, err := withServer(codex.New())
	if err != nil {
		t.Fatal(err)
	}
	return started(t, adapter, modelEnv(drivertest.StartModel(t).URL))
}

// askColour has the MCP server ask for a colour and a note.
const askColour = "CALL[mcp__own__colour {}] please"

// What an MCP server asks is read off the screen, field by field.
func TestRealServerAsks(t *testing.T) {
	a := startedWithServer(t)
	a.Send(askColour)
	p := a.Wait(agentcli.SignalBlocked).Prompt
	if p.Kind != runtime.PromptQuestion || !strings.Contains(p.Text, "Which colour?") || strings.Contains(p.Text, "please") ||
		len(p.Options) != 2 || p.Options[1].Label != "blue" {
		t.Fatalf("blocked with %+v\n%s", p, a.Screen())
	}
	a.MustAnswer(runtime.Answer{Choice: "blue"})
	if s := a.Wait(agentcli.SignalUnblocked); s.Choice != "2" {
		t.Errorf("the choice is %q", s.Choice)
	}
	if p = a.Wait(agentcli.SignalBlocked).Prompt; len(p.Options) > 0 || !strings.Contains(p.Text, "note") {
		t.Fatalf("blocked with %+v\n%s", p, a.Screen())
	}
	a.Reload()
	a.MustAnswer(runtime.Answer{Text: "not too dark"})
	end := a.Turn()
	if !strings.Contains(end.Text, "blue") || !strings.Contains(end.Text, "not too dark") || end.Refused || end.Interrupted {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}

	a.Send("again: " + askColour)
	a.Wait(agentcli.SignalBlocked)
	a.Keys("\x1b")
	a.Wait(agentcli.SignalUnblocked)
	if end := a.Turn(); !strings.Contains(end.Text, "cancel") || end.Error != nil {
		t.Errorf("turn ended with %+v", end.Signal)
	}
}

// A helper of codex's may call the server when the turn is over: what it asks then is no turn.
func TestRealServerAsksBetweenTurns(t *testing.T) {
	a := startedWithServer(t)
	a.Send(`CALL[spawn_agent {"message":"HANG[2] CALL[mcp__own__colour {}]","task_name":"helper","fork_turns":"none"}] please`)
	if end := a.Turn(); end.Error != nil || a.Count(agentcli.SignalBlocked) > 0 {
		t.Fatalf("turn ended with %+v\n%s", end.Signal, a.History())
	}
	a.Wait(agentcli.SignalBlocked)
	a.MustAnswer(runtime.Answer{Choice: "blue"})
	a.Wait(agentcli.SignalBlocked) // the second field
	a.MustAnswer(runtime.Answer{Text: "not too dark"})
	a.Wait(agentcli.SignalUnblocked)
	a.Send("SAY[alone]")
	if end := a.Turn(); end.Text != "alone" || a.Count(agentcli.SignalTurnEnd) != 2 {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// A refusal of an MCP server's tool does not end codex's turn: its reason reaches the model all the same, at once or when the model
// had answered already.
func TestRealServerRefused(t *testing.T) {
	a := startedWithServer(t)
	for _, pace := range []string{"", "SLOW[100]"} {
		a.Send("CALL[mcp__own__change {}] now " + pace)
		if p := a.Wait(agentcli.SignalBlocked).Prompt; p.Kind != runtime.PromptApproval || !strings.Contains(p.Text, "change") {
			t.Fatalf("blocked with %+v", p)
		}
		a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceDeny, Text: "the other one"})
		end := a.Turn()
		if end.Text != "ANSWER[the other one]" || !end.Refused || end.Interrupted {
			t.Errorf("%s: turn ended with %+v\n%s", pace, end.Signal, a.History())
		}
	}
	a.Send("CALL[mcp__own__change {}] at last")
	a.Wait(agentcli.SignalBlocked)
	a.MustAnswer(runtime.Answer{Choice: runtime.ChoiceAllow})
	if end := a.Turn(); !strings.Contains(end.Text, "changed") || end.Refused {
		t.Errorf("turn ended with %+v", end.Signal)
	}
}

// An interrupt ends the turn also where a dialog of an MCP server's stands, which Escape alone closes.
func TestRealServerInterrupted(t *testing.T) {
	a := startedWithServer(t)
	for _, tool := range []string{"change", "colour"} {
		a.Send("CALL[mcp__own__" + tool + " {}] now SLOW[100]")
		a.Wait(agentcli.SignalBlocked)
		a.WaitScreen("esc to cancel")
		a.Interrupt()
		if end := a.Turn(); !end.Interrupted {
			t.Errorf("%s: turn ended with %+v\n%s", tool, end.Signal, a.History())
		}
	}
	a.Send("SAY[well]")
	if end := a.Turn(); end.Text != "well" {
		t.Errorf("turn ended with %+v", end.Signal)
	}
}

// What codex asks beside its tools, and no hook tells of, is read off the screen.
func TestRealPermissions(t *testing.T) {
	drivertest.CLI(t, "codex")
	t.Parallel()
	adapter := configured{codex.New(), []string{"features.request_permissions_tool=true"}}
	a := started(t, adapter, modelEnv(drivertest.StartModel(t).URL))
	for _, choice := range []string{runtime.ChoiceAllow, runtime.ChoiceDeny} {
		a.Send(`CALL[request_permissions {"reason":"to fetch","permissions":{"network":{"enabled":true}}}] ` + choice)
		p := a.Wait(agentcli.SignalBlocked).Prompt
		if p.Kind != runtime.PromptApproval || !strings.Contains(p.Text, "to fetch") || !strings.Contains(p.Text, "network") {
			t.Errorf("blocked with %+v", p)
		}
		a.MustAnswer(runtime.Answer{Choice: choice})
		end := a.Turn()
		if denied := strings.Contains(end.Text, `network\":null`); denied != (choice == runtime.ChoiceDeny) {
			t.Errorf("%s: turn ended with %+v", choice, end.Signal)
		}
		if end.Refused != (choice == runtime.ChoiceDeny) {
			t.Errorf("%s: refused is %v", choice, end.Refused)
		}
	}
}
