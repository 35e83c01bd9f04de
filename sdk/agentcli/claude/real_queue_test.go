package claude_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/agentcli/internal/composer"
)

// A message that claude gets while it works on the prompt of a person waits in its queue: it has the answer of its own turn.
func TestRealQueued(t *testing.T) {
	a := startReal(t, "", "", nil)
	a.Keys("HANG[4] for the person")
	a.WaitScreen("HANG[4] for the person")
	a.Keys("\r")
	a.Wait(agentcli.SignalTook)
	a.Submit("for the caller")
	if end := a.Turn(); end.Text != "ANSWER[HANG[4] for the person]" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
	a.Wait(agentcli.SignalTook)
	if end := a.Turn(); end.Text != "ANSWER[for the caller]" || end.Usage == nil || end.Usage.Requests != 1 {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
	a.Send("after it")
	if end := a.Turn(); end.Text != "ANSWER[after it]" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// A message that waits in claude's queue has its answer where the runtime starts again while it waits, and while it is asked.
func TestRealQueuedReloaded(t *testing.T) {
	a := startReal(t, "", "", nil)
	a.Keys("HANG[4] for the person")
	a.WaitScreen("HANG[4] for the person")
	a.Keys("\r")
	a.Wait(agentcli.SignalTook)
	a.Submit("HANG[4] for the caller")
	a.WaitFile(`"enqueue"`)
	a.Reload()
	if end := a.Turn(); end.Text != "ANSWER[HANG[4] for the person]" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
	a.Wait(agentcli.SignalTook)
	a.Reload()
	if end := a.Turn(); end.Text != "ANSWER[HANG[4] for the caller]" || a.Count(agentcli.SignalTurnEnd) != 2 {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
	a.Send("after it")
	if end := a.Turn(); end.Text != "ANSWER[after it]" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// One that claude takes into the turn that runs, behind a tool, has the answer of that.
func TestRealSteered(t *testing.T) {
	a := startReal(t, "", "autonomous", nil)
	a.Keys("USE_TOOL[sleep 4] for the person")
	a.WaitScreen("USE_TOOL[sleep 4] for the person")
	a.Keys("\r")
	a.Wait(agentcli.SignalTool)
	a.Submit("for the caller")
	if took := a.Wait(agentcli.SignalTook, agentcli.SignalTurnEnd); took.Text != "for the caller" {
		t.Errorf("%s of %q\n%s", took.Kind, took.Text, a.History())
	}
	if end := a.Turn(); !strings.Contains(end.Text, "for the caller") {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
	a.Send("after it")
	if end := a.Turn(); end.Text != "ANSWER[after it]" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// A message that is taken late runs once, and not at all once it was given up.
func TestRealCopies(t *testing.T) {
	drivertest.RunCopies(t, "UserPromptSubmit", func(t *testing.T, script string) *drivertest.Agent { return startReal(t, script, "", nil) })
}

// A message of many lines that was refused stands in the line again: the next one is typed without it.
func TestRealManyLinesLeft(t *testing.T) {
	a := startReal(t, "", "", nil)
	a.Type([]agentcli.Step{{Write: composer.PasteInPieces(strings.Repeat("a line of a draft\n", 60), 2, 600), Wait: time.Second}})
	message := strings.Repeat("a line of a message\n", 60) + "end"
	if took := a.Send(message); took.Text != message {
		t.Errorf("took %q", took.Text)
	}
	if end := a.Turn(); end.Text != "ANSWER["+message+"]" || a.Count(agentcli.SignalTook) != 1 {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// A message whose hook is slow is taken, however long that took.
func TestRealSlowHook(t *testing.T) {
	a := startReal(t, `case "$*" in *UserPromptSubmit*) sleep 6;; esac; exec "$@"`, "", nil)
	a.Submit("the message")
	a.Confirm()
	if took := a.Wait(agentcli.SignalTook); took.Text != "the message" {
		t.Errorf("took %q", took.Text)
	}
	if end := a.Turn(); end.Text != "ANSWER[the message]" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// An interrupt ends the turn that runs, and none of what waits in claude's queue.
func TestRealQueuedInterrupted(t *testing.T) {
	a := startReal(t, "", "", nil)
	a.Keys("HANG[60] for the person")
	a.WaitScreen("HANG[60] for the person")
	a.Keys("\r")
	a.Wait(agentcli.SignalTook)
	a.Submit("for the caller")
	a.WaitFile(`"enqueue"`)
	a.Interrupt()
	if end := a.Turn(); !end.Interrupted || end.Text != "" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
	if took := a.Wait(agentcli.SignalTook); took.Text != "for the caller" {
		t.Errorf("took %q\n%s", took.Text, a.Screen())
	}
	if end := a.Turn(); end.Text != "ANSWER[for the caller]" || a.Count(agentcli.SignalTurnEnd) != 2 {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// What a person takes back from claude's queue into the input line waits no more, and is taken when it is entered again.
func TestRealQueuedTakenBack(t *testing.T) {
	a := startReal(t, "", "", nil)
	a.Keys("HANG[6] for the person")
	a.WaitScreen("HANG[6] for the person")
	a.Keys("\r")
	a.Wait(agentcli.SignalTook)
	a.Submit("for the caller")
	a.WaitFile(`"enqueue"`)
	a.Keys("\x1b[A")
	a.WaitFile(`"popAll"`)
	if end := a.Turn(); end.Text != "ANSWER[HANG[6] for the person]" {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
	a.Confirm()
	if took := a.Wait(agentcli.SignalTook); took.Text != "for the caller" {
		t.Errorf("took %q\n%s", took.Text, a.Screen())
	}
	if end := a.Turn(); end.Text != "ANSWER[for the caller]" || a.Count(agentcli.SignalTurnEnd) != 2 {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}

// Two that wait are asked together, and have one answer.
func TestRealTwoQueued(t *testing.T) {
	a := startReal(t, "", "", nil)
	a.Keys("HANG[6] for the person")
	a.WaitScreen("HANG[6] for the person")
	a.Keys("\r")
	a.Wait(agentcli.SignalTook)
	for _, message := range []string{"one of two", "two of two"} {
		a.Keys(message)
		a.WaitScreen(message)
		a.Keys("\r")
		a.WaitFile(`"content":"` + message)
	}
	if end := a.Turn(); end.Text != "ANSWER[HANG[6] for the person]" {
		t.Errorf("turn ended with %+v", end.Signal)
	}
	for _, message := range []string{"one of two", "two of two"} {
		if took := a.Wait(agentcli.SignalTook, agentcli.SignalTurnEnd); took.Text != message {
			t.Errorf("%s of %q", took.Kind, took.Text)
		}
	}
	if end := a.Turn(); end.Text != "ANSWER[two of two]" || end.Usage == nil || end.Usage.Requests != 1 {
		t.Errorf("turn ended with %+v", end.Signal)
	}
	a.Send("after them")
	if end := a.Turn(); end.Text != "ANSWER[after them]" || a.Count(agentcli.SignalTurnEnd) != 3 {
		t.Errorf("turn ended with %+v\n%s", end.Signal, a.History())
	}
}
