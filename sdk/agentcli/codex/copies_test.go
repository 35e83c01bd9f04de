package codex_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/drivertest"
)

// prompted has codex report a prompt, and wants it to be refused or not.
func (r *rig) prompted(turn, text string, refused bool) {
	r.t.Helper()
	c := drivertest.Call(r.t, "UserPromptSubmit", map[string]any{"turn_id": turn, "prompt": text})
	r.driver.Hook(c.Call)
	if got := strings.Contains(c.Answer, `"block"`); got != refused || !c.Answered {
		r.t.Errorf("%q is answered with %q", text, c.Answer)
	}
}

// A message whose caller was answered that it was not delivered does not run, and is not typed on; one that is sent again does.
func TestGivenUp(t *testing.T) {
	r := readyRig(t, "/hook")
	rest := r.driver.Submit("hello")
	keys := drivertest.Keystrokes(rest)
	r.driver.(agentcli.Forgetter).Forget("hello")
	if more := drivertest.Keystrokes(rest); !strings.HasSuffix(keys, "\r") || more != "" {
		t.Errorf("typed %q, and then %q", keys, more)
	}
	r.state("working")
	r.prompted("t1", "hello", true)
	r.state("done")
	r.Pass(time.Second)
	r.want("")

	keys = drivertest.Keystrokes(r.driver.Submit("hello"))
	if !strings.HasPrefix(keys, "\x05\x15") { // it may be put back
		t.Errorf("typed %q", keys)
	}
	r.state("working")
	r.prompted("t2", "hello", false)
	r.state("done")
	r.Pass(time.Second)
	r.prompted("t3", "hello", false) // a person's
}

// The turn of a message that was typed twice goes on when the second one comes into it: a refusal would end it.
func TestTypedTwice(t *testing.T) {
	for _, anew := range []bool{false, true} {
		r := readyRig(t, "/hook")
		drivertest.Keystrokes(r.driver.Submit("hello"))
		drivertest.Keystrokes(r.driver.Submit("hello"))
		if anew {
			saved := r.driver.Save()
			r = newRig(t, "/hook")
			r.driver.Load(saved)
		}
		r.state("working")
		r.prompted("t1", "hello", false)
		r.prompted("t1", "hello", false)
		r.want("took[hello]")
	}
}

// A message is not typed again while codex works on something whose hook is on its way.
func TestAnnounced(t *testing.T) {
	r := readyRig(t, "/hook")
	r.driver.Submit("hello")
	announced := r.driver.(agentcli.Announcer).Announced
	if announced() {
		t.Error("it is announced before codex works")
	}
	r.state("working")
	if !announced() {
		t.Error("it is not announced")
	}
	r.prompted("t1", "hello", false)
	if announced() {
		t.Error("it is announced once it is taken")
	}
}
