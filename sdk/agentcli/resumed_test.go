package agentcli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestCrashAfterTheBusyEvent is a kill after the event of a turn was stored and before the state was: the driver of
// a declared type, whom nobody else tells, learns that its turn runs.
func TestCrashAfterTheBusyEvent(t *testing.T) {
	g := open(t, newLauncher(t, nil), nil)
	g.bash("b")
	g.ask("b", "true")
	name := filepath.Join("agents", "b", "state.json")
	stored := func(status string) (state []byte) {
		wait(t, "the stored state "+status, func() bool {
			state, _ = os.ReadFile(filepath.Join(g.o.StateDir, name))
			return strings.Contains(string(state), `"status":"`+status+`"`)
		})
		return state
	}
	before := stored("ready")
	if _, err := g.Send(t.Context(), "b", runtime.Input{Message: `echo as''ks; read line; echo got $line`}); err != nil {
		t.Fatal(err)
	}
	stored("busy")
	// What is typed while the shell hands the terminal over may be lost to both.
	p := g.l.process()
	wait(t, "the question", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return strings.Contains(string(p.out), "asks")
	})
	next := g.crash(func(dir string) {
		if err := os.WriteFile(filepath.Join(dir, name), before, 0o600); err != nil {
			t.Error(err)
		}
	})
	next.status("b", runtime.StatusBusy)
	if _, err := next.Send(t.Context(), "b", runtime.Input{Raw: "it\r"}); err != nil {
		t.Fatal(err)
	}
	next.status("b", runtime.StatusReady)
	if got := next.ask("b", "echo back").Text; got != "back" {
		t.Errorf("answer %q", got)
	}
	if got := types(next.events("b")); got != "started ready busy turn_complete ready busy turn_complete ready busy turn_complete ready" {
		t.Errorf("events %s", got)
	}
}
