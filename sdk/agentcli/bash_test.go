package agentcli_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestBash(t *testing.T) {
	g := open(t, newLauncher(t, nil), nil)
	a := g.bash("b1")
	if a.PID == 0 || a.Type != "bash" {
		t.Errorf("agent %+v", a)
	}
	if got := g.ask("b1", "echo hello; echo world"); got.Text != "hello\nworld" || got.Turn != 1 {
		t.Errorf("answer %+v", got)
	}
	if got := g.ask("b1", "for i in 1 2 3; do\necho line $i\ndone"); got.Text != "line 1\nline 2\nline 3" || got.Turn != 2 {
		t.Errorf("answer %+v", got)
	}
	if got := g.ask("b1", "true"); got.Text != "" {
		t.Errorf("answer %+v", got)
	}
	if got := g.ask("b1", "seq 1 300"); len(strings.Split(got.Text, "\n")) != 300 {
		t.Errorf("answer of %d lines", len(strings.Split(got.Text, "\n")))
	}
	v := g.attach("b1", runtime.AttachOptions{Tail: 5})
	v.untilText("300")
	if err := v.Input([]byte("echo from $((40+2)) viewer\r")); err != nil {
		t.Fatal(err)
	}
	v.untilText("from 42 viewer")
	wait(t, "the turn of the viewer", func() bool { return strings.Count(types(g.events("b1")), "turn_complete ready") == 5 })
	if err := g.Stop(t.Context(), "b1", runtime.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	if exit := v.drain(); exit == nil || exit.Code != 0 || exit.Reason != runtime.ReasonStopped {
		t.Errorf("exit %+v", exit)
	}
	if got := coarse(g.events("b1")); got != "started ready"+strings.Repeat(" busy message turn_complete ready", 2)+" busy turn_complete ready"+strings.Repeat(" busy message turn_complete ready", 2)+" stopped" {
		t.Errorf("events %s", got)
	}
	if err := g.Stop(t.Context(), "b1", runtime.StopOptions{}); err != nil {
		t.Errorf("second stop: %v", err)
	}
}
