package agentcli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
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

// What a command prints may look like the prompt: as long as another program than the shell has the terminal, it is output.
func TestPromptAmongOutput(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), nil)
	g.bash("b1")
	fake := `printf 'that is the prompt:\nward%s' 'room$ '; sleep 1.5; echo; echo more`
	if got := g.ask("b1", "bash -c \""+fake+"\""); got.Text != "that is the prompt:\nwardroom$\nmore" || got.Turn != 1 {
		t.Errorf("answer %+v", got)
	}
	if got := g.ask("b1", "echo next"); got.Text != "next" || got.Turn != 2 {
		t.Errorf("answer %+v", got)
	}
}

// What a program in the background prints when the turn that began it is over, and the prompt is gone from the last line by
// that, keeps nobody from going on, and is in no later answer.
func TestOutputBehindThePrompt(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) { o.HumanHold = 5 * time.Millisecond })
	g.bash("b1")
	v := g.attach("b1", runtime.AttachOptions{})
	for _, message := range []string{"echo first", "echo second"} {
		// The marks do not stand in what is typed.
		g.ask("b1", `{ sleep 0.5; echo late$((1+1)); } & disown`)
		v.untilText("late2")
		want := strings.TrimPrefix(message, "echo ")
		if got := g.ask("b1", message); got.Text != want {
			t.Errorf("answer %+v", got)
		}
	}
	g.ask("b1", `{ sleep 0.5; echo late$((1+2)); } & disown`)
	v.untilText("late3")
	before := strings.Count(types(g.events("b1")), "turn_complete ready")
	if err := v.Input([]byte("echo from $((40+2)) viewer\r")); err != nil {
		t.Fatal(err)
	}
	wait(t, "the turn of the viewer", func() bool { return strings.Count(types(g.events("b1")), "turn_complete ready") == before+1 })
	all := g.events("b1")
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Type == runtime.EventTurnComplete {
			if all[i].Text != "from 42 viewer" {
				t.Errorf("the viewer's turn has the text %q", all[i].Text)
			}
			break
		}
	}
}
