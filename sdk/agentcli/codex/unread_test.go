package codex_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// show draws a screen.
func (r *rig) show(screen string) {
	r.Screen = strings.Split(screen, "\n")
	r.driver.Screen(r.Screen, 0, 0)
	r.note()
}

const (
	working = "• Calling own.colour({})\n\n• Working (1s • esc to interrupt)\n\n› Ask Codex to do anything\n\n  GPT · /work\n"
	field   = "• Calling own.colour({})\n\n\n  Field 1/2\n  Which?\n\n  › 1. red\n    2. blue\n  enter to submit answer | esc to cancel\n"
	note    = "◦ Calling own.colour({})\n\n\n  Field 2/2\n  note\n\n  › Type your answer\n  enter to submit all | esc to cancel\n"
	granted = "• Working\n\n\n  Grant these?\n\n› 1. Yes (y)\n  2. No (d)\n\n  Press enter to confirm or esc to cancel\n"
)

// A question without a hook has the words on the screen, one field after the other, and is over when codex goes on.
func TestUnreadQuestion(t *testing.T) {
	r := readyRig(t)
	r.busy()
	r.hook("PreToolUse", shell("x"))
	r.show(working)
	r.state("blocked:kind=question")
	r.Pass(time.Second)
	r.want("tool") // it is not drawn
	r.show(field)
	r.Pass(time.Second)
	r.note()
	r.want("blocked[Field 1/2\nWhich?\nenter to submit answer | esc to cancel]")
	if _, err := r.driver.Answer(r.shown, runtime.Answer{Choice: "green"}); runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
		t.Errorf("a wrong choice: %v", err)
	}
	steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: "blue"})
	if keys := drivertest.Keystrokes(steps); err != nil || keys != "2" {
		t.Errorf("%v, typed %q", err, keys)
	}
	r.Pass(3 * time.Second)
	if keys := r.Keystrokes(); keys != "" {
		t.Errorf("%q was typed again, which may be for the next field", keys)
	}
	r.show(note)
	r.Pass(time.Second)
	r.note()
	r.want("unblocked[2] blocked[Field 2/2\nnote\n› Type your answer\nenter to submit all | esc to cancel]")
	back := newRig(t)
	back.Screen = r.Screen
	back.driver.Load(r.driver.Save())
	steps, err = back.driver.Answer(r.shown, runtime.Answer{Text: "dark"})
	if keys := drivertest.Keystrokes(steps); err != nil || !strings.Contains(keys, "dark") || !strings.HasSuffix(keys, "\r") {
		t.Errorf("%v, typed %q", err, keys)
	}
	back.state("working")
	back.state("done")
	back.want("unblocked[dark] turn_end(TURN_UNKNOWN)")
}

// What a helper's MCP server asks between two turns is no turn, and over when codex is idle again.
func TestUnreadBetweenTurns(t *testing.T) {
	r := readyRig(t)
	for _, kind := range []string{"question", "permission"} {
		for _, then := range []string{"idle", "done", "working"} {
			r.show(field)
			r.state("blocked:kind=" + kind)
			r.Pass(time.Second)
			r.note()
			r.want("blocked[Field 1/2\nWhich?\nenter to submit answer | esc to cancel]")
			r.show(history + "› Ask Codex to do anything\n\n  GPT · /work\n")
			r.state(then)
			r.Pass(time.Second)
			r.want("unblocked")
			r.state("idle")
		}
	}
}

// An approval of which no hook told has the words of its dialog; an end of the turn, or of the runtime, finds it closed.
func TestUnreadApproval(t *testing.T) {
	r := readyRig(t)
	r.busy()
	r.show(working)
	r.state("blocked:kind=permission")
	r.want("")
	back := newRig(t)
	back.driver.Load(r.driver.Save())
	back.show(granted)
	back.Pass(time.Second)
	back.note()
	back.want("blocked[Grant these?\nPress enter to confirm or esc to cancel]")
	steps, err := back.driver.Answer(back.shown, runtime.Answer{Choice: runtime.ChoiceDeny})
	if keys := drivertest.Keystrokes(steps, back.Screen...); err != nil || keys != "\x1b" {
		t.Errorf("%v, typed %q", err, keys)
	}
	back.state("idle")
	back.Pass(time.Second)
	back.want("unblocked[deny] turn_end!(refused)")

	r.state("done") // before it was drawn
	r.Pass(time.Minute)
	r.want("turn_end(TURN_UNKNOWN)")
}

// What a helper asks in the moment of an interrupt is refused. Where nothing stands no second Escape is pressed.
func TestInterruptBeforeDialog(t *testing.T) {
	r := readyRig(t)
	r.busy()
	r.show(working)
	r.helperAsks("one")
	if keys := drivertest.Keystrokes(r.driver.(agentcli.Interrupter).Interrupt()); keys != "\x1b" {
		t.Errorf("typed %q", keys)
	}
	r.Pass(time.Second)
	if keys := r.Keystrokes(); keys != "" {
		t.Errorf("typed %q where nothing stands", keys)
	}
	r.state("blocked:kind=permission")
	r.show(approval("one"))
	r.Pass(time.Second)
	if keys := r.Keystrokes(); keys != "2" {
		t.Errorf("typed %q into the approval", keys)
	}
}

// The end of a turn that is asked for while a dialog stands is Escape once more where the dialog stays, or codex goes on without it,
// and no more of it when the turn is over.
func TestInterruptOfDialog(t *testing.T) {
	r := readyRig(t)
	for _, asks := range []bool{false, true} {
		r.busy()
		if asks {
			r.show(field)
			r.state("blocked:kind=question")
		}
		if keys := drivertest.Keystrokes(r.driver.(agentcli.Interrupter).Interrupt()); keys != "\x1b" {
			t.Errorf("typed %q", keys)
		}
		r.Pass(time.Second)
		if keys := r.Keystrokes(); (keys == "\x1b") != asks {
			t.Errorf("typed %q where the dialog stays", keys)
		}
		r.show(working)
		r.state("working")
		r.Pass(time.Second)
		if keys := r.Keystrokes(); (keys != "") != asks {
			t.Errorf("typed %q where codex goes on", keys)
		}
		r.state("idle")
		r.Pass(time.Second)
		r.Kinds()
		r.busy()
		r.Pass(time.Minute)
		if keys := r.Keystrokes(); keys != "" {
			t.Errorf("%q was typed into the next turn", keys)
		}
		r.state("idle")
		r.Pass(time.Second)
		r.Kinds()
	}
}
