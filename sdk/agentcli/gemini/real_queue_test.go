package gemini_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// startedBehind starts a gemini whose hooks have a shell script before them, if it is not empty.
func startedBehind(t *testing.T, script string) *drivertest.Agent {
	t.Helper()
	drivertest.CLI(t, "gemini")
	t.Parallel()
	adapter := gemini.New()
	if script != "" {
		adapter = drivertest.BeforeHooks(adapter, script)
	}
	a := drivertest.StartSpec(t, adapter, runtime.Spec{Env: modelEnv(drivertest.StartModel(t).URL), Approval: "autonomous"})
	a.Wait(agentcli.SignalIdle)
	return a
}

// queues submits a message while gemini works. Gemini may not show its line at the moment of Enter, which is left for later then.
func queues(a *drivertest.Agent, message string) {
	a.Submit(message)
	a.WaitScreen(message)
	a.Type([]agentcli.Step{{Wait: time.Second}})
	if strings.Contains(a.Screen(), "* "+message) {
		a.Confirm()
	}
	a.WaitScreen("   " + message)
}

// A message that is taken late runs once, and not at all once it was given up.
func TestRealCopies(t *testing.T) { drivertest.RunCopies(t, "BeforeAgent", startedBehind) }

// A message that gemini gets while it works on the prompt of a person has the answer of its own turn, where a tool runs in that one too, and
// where the runtime starts again meanwhile.
func TestRealQueued(t *testing.T) {
	for name, tt := range map[string]struct {
		person, answer string
		meanwhile      func(a *drivertest.Agent)
	}{
		"Queued":   {"HANG[8] for the person", "ANSWER[HANG[8] for the person]", func(*drivertest.Agent) {}},
		"Reloaded": {"HANG[8] for the person", "ANSWER[HANG[8] for the person]", (*drivertest.Agent).Reload},
		"Steered":  {"USE_TOOL[sleep 8] QUOTE[nothing] for the person", "ANSWER[USE_TOOL[sleep 8] QUOTE[nothing] for the person] QUOTED[]", func(*drivertest.Agent) {}},
	} {
		t.Run(name, func(t *testing.T) {
			a := startedBehind(t, "")
			a.Person(tt.person)
			if strings.Contains(tt.person, "TOOL") {
				a.Wait(agentcli.SignalTool)
			}
			queues(a, "for the caller")
			tt.meanwhile(a)
			a.WantTurn(tt.answer)
			a.WantTook("for the caller")
			if u := a.WantTurn("ANSWER[for the caller]").Usage; u == nil || u.Requests != 1 {
				t.Errorf("usage %+v", u)
			}
			a.WantLast(3)
		})
	}
}

// Those that wait gemini joins to one prompt: it is that of the caller's message, and nothing of the other one is lost.
func TestRealTwoQueued(t *testing.T) {
	for name, callers := range map[string][2]bool{"Before": {true, false}, "Behind": {false, true}} {
		t.Run(name, func(t *testing.T) {
			a := startedBehind(t, "")
			a.Person("HANG[12] for the person")
			for i, message := range []string{"one of two", "two of two"} {
				if callers[i] {
					queues(a, message)
				} else {
					a.Queue(message)
					a.WaitScreen("   " + message)
				}
			}
			a.WantTurn("ANSWER[HANG[12] for the person]")
			want := "one of two"
			if callers[1] {
				want = "two of two"
			}
			a.WantTook(want)
			a.WantTurn("ANSWER[one of two\n\ntwo of two]")
			a.WantLast(3)
		})
	}
}

// An interrupt ends the turn that runs, and none of what waits behind it.
func TestRealQueuedInterrupted(t *testing.T) {
	a := startedBehind(t, "")
	a.Person("HANG[60] for the person")
	queues(a, "for the caller")
	a.Interrupt()
	if end := a.Turn(); !end.Interrupted || end.Text != "" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
	a.WantTook("for the caller")
	a.WantTurn("ANSWER[for the caller]")
	a.WantLast(3)
}
