package codex_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// approval is the dialog of a command.
func approval(command string) string {
	return "• Working\n\n\n  Would you like to run the following command?\n\n  $ " + command +
		"\n\n› 1. Yes\n  2. No (esc)\n\n  Press enter to confirm or esc to cancel\n"
}

// helperAsks has a helper ask for a command.
func (r *rig) helperAsks(command string) {
	r.t.Helper()
	p := shell(command)
	p["agent_id"] = command
	r.hook("PermissionRequest", p)
}

// answers gives an answer, which has to be typed as keys.
func (r *rig) answers(answer runtime.Answer, keys string) {
	r.t.Helper()
	steps, err := r.driver.Answer(r.shown, answer)
	if got := drivertest.Keystrokes(steps, r.Screen...); err != nil || got != keys {
		r.t.Fatalf("%v, typed %q, want %q", err, got, keys)
	}
}

// one brings the rig to a helper's approval, behind which that of another waits.
func one(t *testing.T) *rig {
	t.Helper()
	r := readyRig(t)
	r.helperAsks("one")
	r.state("blocked:kind=permission")
	r.show(approval("one"))
	r.title("[ . ] Action Required")
	r.Pass(time.Second)
	r.want("blocked[Bash: one]")
	return r
}

// The approval that takes the place of an answered one is a prompt of its own, and is not answered by the key of that one.
func TestApprovalTakesThePlace(t *testing.T) {
	r := one(t)
	r.helperAsks("two")
	r.answers(runtime.Answer{Choice: runtime.ChoiceAllow}, "1")
	r.show(approval("two"))
	r.state("idle") // of the one that was answered
	r.Pass(4 * time.Second)
	if keys := r.Keystrokes(); keys != "" {
		t.Errorf("what is asked next was answered by %q", keys)
	}
	r.note()
	r.want("unblocked[allow] blocked[Bash: two]")
	r.answers(runtime.Answer{Choice: runtime.ChoiceAllow}, "1")
	r.show(history + "› Ask Codex to do anything\n\n  GPT · /work\n")
	r.state("idle")
	r.want("unblocked[allow]")
}

// An answer is not typed into the approval that took the place of the one it is for before anything looked.
func TestAnswerToReplaced(t *testing.T) {
	r := one(t)
	r.helperAsks("two")
	r.Screen = strings.Split(approval("two"), "\n")
	r.answers(runtime.Answer{Choice: runtime.ChoiceAllow}, "")
	r.show(approval("two"))
	r.Pass(4 * time.Second)
	if keys := r.Keystrokes(); keys != "" {
		t.Errorf("typed %q", keys)
	}
	r.want("unblocked blocked[Bash: two]")
}

// Where several wait the hook that came last may be about another one than stands: the words of the dialog count.
func TestApprovalOfSeveral(t *testing.T) {
	r := one(t)
	r.helperAsks("two")
	r.helperAsks("three")
	r.answers(runtime.Answer{Choice: runtime.ChoiceAllow}, "1")
	r.show(approval("two"))
	r.Pass(time.Second)
	r.note()
	r.want("unblocked[allow] blocked[Bash: two]")
	r.answers(runtime.Answer{Choice: runtime.ChoiceAllow}, "1")
	r.show(approval("three"))
	r.Pass(time.Second)
	r.want("unblocked[allow] blocked[Bash: three]")
}

// Several helpers may have asked before codex says that it is blocked. The prompt is of the one whose dialog is drawn.
func TestSeveralAskBefore(t *testing.T) {
	for _, first := range []string{"touch one", "touch one more"} {
		r := readyRig(t)
		r.busy()
		r.helperAsks("touch one")
		r.helperAsks("touch one more")
		r.state("blocked:kind=permission")
		back := newRig(t) // as after a crash of the runtime
		back.driver.Load(r.driver.Save())
		r = back
		r.show(approval(first))
		r.title("[ . ] Action Required")
		r.Pass(time.Second)
		r.note()
		r.want("blocked[Bash: " + first + "]")
		r.answers(runtime.Answer{Choice: runtime.ChoiceAllow}, "1")
		second := map[string]string{"touch one": "touch one more", "touch one more": "touch one"}[first]
		r.show(approval(second))
		r.Pass(time.Second)
		r.want("unblocked[allow] blocked[Bash: " + second + "]")
	}
}

// What many helpers ask is kept within bounds, so that the state can be stored; what is left out is reported by the words of its dialog.
func TestAsksAreBounded(t *testing.T) {
	r := readyRig(t)
	r.busy()
	large := strings.Repeat("x", 1<<20)
	for i := range 40 {
		r.helperAsks(fmt.Sprintf("touch %d %s", i, large))
	}
	if n := len(r.driver.Save()); n > 4<<20 {
		t.Errorf("the state has %d bytes", n)
	}
	r.helperAsks("touch last")
	r.state("blocked:kind=permission")
	for _, command := range []string{"touch 30", "touch last"} { // the first as far as it is drawn
		r.show(approval(command))
		r.title("[ . ] Action Required")
		r.Pass(time.Second)
		r.note()
		r.answers(runtime.Answer{Choice: runtime.ChoiceAllow}, "1")
	}
	r.want("blocked[Would you like to run the following command?\n$ touch 30\nPress enter to confirm or esc to cancel]" +
		" unblocked[allow] blocked[Bash: touch last]")
}

// A person may answer in the terminal before anything looked at the dialog: what stands then is not the one of the prompt.
func TestApprovalNeverSeen(t *testing.T) {
	r := readyRig(t)
	r.busy()
	r.helperAsks("one")
	r.state("blocked:kind=permission")
	r.title("[ . ] Action Required")
	r.note()
	r.helperAsks("two")
	r.Screen = strings.Split(approval("two"), "\n")
	r.answers(runtime.Answer{Choice: runtime.ChoiceAllow}, "")
	r.show(approval("two"))
	r.Pass(4 * time.Second)
	if keys := r.Keystrokes(); keys != "" {
		t.Errorf("typed %q", keys)
	}
	r.want("blocked[Bash: one] unblocked blocked[Bash: two]")
}

// A dialog that was read first while the terminal had another size, as it was cut off there, is the same once codex has drawn it anew.
func TestApprovalReadCut(t *testing.T) {
	r := readyRig(t)
	r.helperAsks("one")
	r.state("blocked:kind=permission")
	r.show("• Working\n\n\n  Would you like to ru\n\n  $ one\n\n› 1. Y\n  2. N\n\n  Press enter to confirm or esc to c\n")
	r.title("[ . ] Action Required")
	r.note()
	r.Pass(time.Second)
	r.show(approval("one"))
	r.Pass(5 * time.Second)
	r.want("blocked[Bash: one]")
	r.answers(runtime.Answer{Choice: runtime.ChoiceAllow}, "1")
}

// A dialog that is drawn is not gone though codex says that it goes on, and one whose words wrap in another way, or have other ones of
// the conversation above, is the same.
func TestApprovalStays(t *testing.T) {
	r := one(t)
	r.state("idle")
	for _, screen := range []string{approval("o\n  ne"), history + strings.TrimPrefix(approval("one"), "• Working\n")} {
		r.show(screen)
		r.Pass(4 * time.Second)
		r.want("")
	}
	back := newRig(t)
	back.Screen = r.Screen
	back.driver.Load(r.driver.Save())
	back.show(history + "› Ask Codex to do anything\n\n  GPT · /work\n")
	back.want("unblocked")
}

// The reason of a refusal is a message: where no turn runs there is none that would go on with it.
func TestReasonBetweenTurns(t *testing.T) {
	r := one(t)
	_, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceDeny, Text: "take another name"})
	if e := runtime.AsError(err); runtime.ErrorCode(err) != runtime.CodeInvalidArgument || e.Field != "text" {
		t.Errorf("a reason: %+v", err)
	}
	r.answers(runtime.Answer{Choice: runtime.ChoiceDeny}, "2")
	r.show(working)
	r.state("idle")
	r.want("unblocked[deny]")
}

// The refusal of what a helper asks stops nothing of the turn, and its reason waits for the end of it.
func TestReasonOfHelper(t *testing.T) {
	r := readyRig(t)
	r.busy()
	r.helperAsks("one")
	r.state("blocked:kind=permission")
	r.show(approval("one"))
	r.title("[ . ] Action Required")
	r.note()
	saved := newRig(t)
	saved.Screen = r.Screen
	saved.driver.Load(r.driver.Save())
	for _, r := range []*rig{r, {t: t, FakeHost: saved.FakeHost, driver: saved.driver, files: saved.files, shown: r.shown}} {
		r.Kinds()
		r.answers(runtime.Answer{Choice: runtime.ChoiceDeny, Text: "take another name"}, "2")
		r.show(working)
		r.state("working")
		r.want("unblocked[deny]")
		back := newRig(t)
		back.driver.Load(r.driver.Save())
		for _, r := range []*rig{r, back} {
			r.Pass(4 * time.Second)
			if keys := r.Keystrokes(); keys != "" {
				t.Errorf("typed %q into the turn that goes on", keys)
			}
		}
	}
}

// An answer to a field of a form is not typed into the next one, to which a person went on.
func TestAnswerToOtherField(t *testing.T) {
	r := readyRig(t)
	r.busy()
	r.show(field)
	r.state("blocked:kind=question")
	r.Pass(time.Second)
	r.note()
	back := newRig(t)
	back.driver.Load(r.driver.Save())
	for _, r := range []*rig{r, {t: t, FakeHost: back.FakeHost, driver: back.driver, shown: r.shown}} {
		r.Screen = strings.Split(strings.NewReplacer("1/2", "2/2", "Which", "Delete all", "red", "no", "blue", "yes").Replace(field), "\n")
		for _, answer := range []runtime.Answer{{Choice: "blue"}, {Choice: "2"}} {
			steps, err := r.driver.Answer(r.shown, answer)
			if runtime.ErrorCode(err) != runtime.CodeNoPrompt || len(steps) > 0 {
				t.Errorf("%v, typed %q into the next field", err, drivertest.Keystrokes(steps))
			}
		}
	}
}

// Escape closes a dialog of which only the screen tells, and then ends the turn.
func TestInterruptBehindShown(t *testing.T) {
	r := readyRig(t)
	r.busy()
	r.show(history + "  Select Model\n\n› 1. one\n  2. two\n\n  Press enter to confirm or esc to go back\n")
	r.Pass(time.Second)
	if keys := drivertest.Keystrokes(r.driver.(agentcli.Interrupter).Interrupt()); keys != "\x1b" {
		t.Errorf("typed %q", keys)
	}
	r.show(working)
	r.Pass(time.Second)
	if keys := r.Keystrokes(); keys != "\x1b" {
		t.Errorf("typed %q where the turn goes on", keys)
	}
}

// A dialog that a small terminal has no room for is the same: the end of its list is gone, or that of an entry.
func TestApprovalCut(t *testing.T) {
	r := one(t)
	for _, rows := range []string{"› 1. Yes\n  2. N\n", "› 1. Yes\n"} {
		r.show("\n  Would you like to\n  run the following\n  command?\n\n  $ one\n\n" + rows + "\n  Press enter to\n  confirm or esc to\n  cancel\n")
		r.Pass(4 * time.Second)
		r.want("")
	}
	r.show(approval("one"))
	r.Pass(4 * time.Second)
	r.want("")
	r.answers(runtime.Answer{Choice: runtime.ChoiceAllow}, "1")
}

// The conversation may go on above the approvals of helpers, one of which takes the place of the other all the same.
func TestApprovalWhileTalking(t *testing.T) {
	r := one(t)
	talk := func(words, command string) {
		r.show("• so it\n  goes on" + words + strings.TrimPrefix(approval(command), "• Working"))
		r.Pass(300 * time.Millisecond)
	}
	talk("", "one")
	r.helperAsks("two")
	r.answers(runtime.Answer{Choice: runtime.ChoiceAllow}, "1")
	for _, words := range []string{" and", " and on", " and on\n\n  and", " and on\n\n  and on"} {
		talk(words, "two")
	}
	r.want("unblocked[allow] blocked[Bash: two]")
}

// An approval may be given for longer by the entry for that, and for this time where there is none; a refusal is the entry for which
// Escape stands. Either is one key.
func TestEntriesOfApproval(t *testing.T) {
	lasting := strings.Replace(approval("one"), "  2. No (esc)", "  2. Yes, and don't ask again for commands that start with `one` (p)\n  3. No (esc)", 1)
	for _, tt := range []struct{ screen, choice, key string }{
		{lasting, "allow_always", "2"}, {approval("one"), "allow_always", "1"}, {lasting, runtime.ChoiceDeny, "3"}, {lasting, runtime.ChoiceAllow, "1"},
	} {
		r := readyRig(t)
		r.helperAsks("one")
		r.state("blocked:kind=permission")
		r.show(tt.screen)
		r.title("[ . ] Action Required")
		r.answers(runtime.Answer{Choice: tt.choice}, tt.key)
	}
}

// A refusal that is typed again to a dialog which looks as before may meet another one, not drawn yet: it is Escape then, which allows
// nothing, and no number. A dialog that differs is refused by its own number.
func TestRefusalAgain(t *testing.T) {
	r := one(t)
	steps, err := r.driver.Answer(r.shown, runtime.Answer{Choice: runtime.ChoiceDeny})
	if first, again := drivertest.Keystrokes(steps, r.Screen...), drivertest.Keystrokes(steps, r.Screen...); err != nil || first != "2" || again != "\x1b" {
		t.Errorf("%v, typed %q and then %q", err, first, again)
	}
	r = readyRig(t)
	r.busy()
	r.helperAsks("one")
	r.state("blocked:kind=permission")
	r.show(approval("one"))
	if keys := drivertest.Keystrokes(r.driver.(agentcli.Interrupter).Interrupt(), r.Screen...); keys != "2" {
		t.Errorf("an interrupt typed %q", keys)
	}
	r.Pass(time.Second)
	if keys := r.Keystrokes(); keys != "\x1b" {
		t.Errorf("it typed %q where the dialog looks as before", keys)
	}
	r.show(approval("two"))
	r.Pass(time.Second)
	if keys := r.Keystrokes(); keys != "2" {
		t.Errorf("it typed %q into the next dialog", keys)
	}
}
