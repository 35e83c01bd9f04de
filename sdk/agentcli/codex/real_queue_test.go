package codex_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// startedBehind starts a codex whose hooks have a shell script before them, if it is not empty.
func startedBehind(t *testing.T, script string) *drivertest.Agent {
	t.Helper()
	drivertest.CLI(t, "codex")
	t.Parallel()
	adapter := codex.New()
	if script != "" {
		adapter = drivertest.BeforeHooks(adapter, script)
	}
	return started(t, adapter, modelEnv(drivertest.StartModel(t).URL))
}

// A message that is taken late runs once, and not at all once it was given up.
func TestRealCopies(t *testing.T) { drivertest.RunCopies(t, "UserPromptSubmit", startedBehind) }

// A message that codex gets while it works on the prompt of a person joins that turn, and has its answer, which is the last one. So it
// does where the runtime starts again meanwhile.
func TestRealQueued(t *testing.T) {
	for name, meanwhile := range map[string]func(a *drivertest.Agent){"Queued": func(*drivertest.Agent) {}, "Reloaded": (*drivertest.Agent).Reload} {
		t.Run(name, func(t *testing.T) {
			a := startedBehind(t, "")
			a.Person("HANG[4] for the person")
			a.Submit("for the caller")
			a.WaitScreen("↳ for the caller")
			meanwhile(a)
			a.WantTook("for the caller")
			a.WantTurn("ANSWER[for the caller]")
			a.WantLast(2)
		})
	}
}

// So does one that comes while a tool runs, and two of them.
func TestRealSteered(t *testing.T) {
	a := startedBehind(t, "")
	a.Person("USE_TOOL[sleep 4] for the person")
	a.Wait(agentcli.SignalTool)
	a.Submit("for the caller")
	a.WantTook("for the caller")
	a.WantTurn("ANSWER[for the caller]")
	a.WantLast(2)
}

func TestRealTwoQueued(t *testing.T) {
	a := startedBehind(t, "")
	a.Person("HANG[6] for the person")
	for _, message := range []string{"one of two", "two of two"} {
		a.Queue(message)
		a.WaitScreen("↳ " + message)
	}
	a.WantTook("one of two")
	a.WantTook("two of two")
	a.WantTurn("ANSWER[two of two]")
	a.WantLast(2)
}

// An interrupt of the turn that a message waits for has codex go on with the message at once, in that turn.
func TestRealQueuedInterrupted(t *testing.T) {
	a := startedBehind(t, "")
	a.Person("HANG[60] for the person")
	a.Submit("for the caller")
	a.WaitScreen("↳ for the caller")
	a.Interrupt()
	a.WantTook("for the caller")
	a.WantTurn("ANSWER[for the caller]")
	a.WantLast(2)
}

// One that was given up, and comes within the turn of a person, ends that: the turn says so, and the message does not run.
func TestRealGivenUpWithinATurn(t *testing.T) {
	a := startedBehind(t, "")
	a.Person("HANG[4] for the person")
	a.Submit("given up")
	a.Forget("given up")
	if end := a.Turn(); end.Error == nil || end.Error.Code != wire.TurnUnknown || !strings.Contains(end.Error.Message, "given up") || end.Text != "" {
		t.Errorf("turn ended with %+v, error %+v\n%s", end.Signal, end.Error, a.History())
	}
	a.WantLast(2)
	if a.Written("ANSWER[given up]") {
		t.Errorf("it ran\n%s", a.Screen())
	}
}
