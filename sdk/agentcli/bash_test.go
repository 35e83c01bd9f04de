package agentcli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
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

// TestSilentForeground has the first message of an agent run a program that is silent for longer than a prompt is waited for that no
// turn ended with yet: the turn lasts as long as the program does, and what comes next is not its input.
func TestSilentForeground(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), nil)
	g.bash("b1")
	if got := g.ask("b1", "sleep 13; echo over"); got.Text != "over" || got.Turn != 1 {
		t.Errorf("answer %+v", got)
	}
	if got := g.ask("b1", "echo next"); got.Text != "next" || got.Turn != 2 {
		t.Errorf("answer %+v", got)
	}
}

// TestAgentOfAnEarlierVersion has an agent go on of which an earlier version kept neither whose its prompt is nor that a turn ended with
// it: a program that is silent for long ends no turn there either.
func TestAgentOfAnEarlierVersion(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), nil)
	g.bash("b1")
	g.ask("b1", "true")
	owner := regexp.MustCompile(`"owner":\d+`)
	next := g.crash(func(dir string) {
		path := filepath.Join(dir, "agents", "b1", "state.json")
		state, err := os.ReadFile(path)
		if err != nil || !owner.Match(state) {
			t.Fatalf("%s: %v", state, err)
		}
		state = bytes.Replace(owner.ReplaceAll(state, []byte(`"owner":0`)), []byte(`"proven":true`), []byte(`"proven":false`), 1)
		if err := os.WriteFile(path, state, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	next.status("b1", runtime.StatusReady)
	if got := next.ask("b1", "sleep 13; echo over"); got.Text != "over" {
		t.Errorf("answer %+v", got)
	}
}

// TestPromptOfAProgramThatEnds has a program print what looks like the prompt, and then end: what it printed last is part of the
// answer, also where it is read only after the shell has the terminal again.
func TestPromptOfAProgramThatEnds(t *testing.T) {
	t.Parallel()
	l := newLauncher(t, nil)
	g := open(t, l, nil)
	g.bash("b1")
	p := l.process()
	gate := filepath.Join(t.TempDir(), "gate")
	printed := func() string {
		p.mu.Lock()
		defer p.mu.Unlock()
		return string(p.out)
	}
	answer := make(chan *runtime.Response, 1)
	go func() {
		defer close(answer)
		res, err := g.Send(t.Context(), "b1", runtime.Input{ExpectResponse: true, Message: "bash -c \"printf 'ward%s' 'room$ '; touch " + gate + ".runs; while [ ! -e " + gate + " ]; do sleep 0.05; done; echo; echo more\""})
		if err != nil || res.Response == nil {
			t.Errorf("send: %+v, %v", res, err)
			return
		}
		answer <- res.Response
	}()
	asked := func() int {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.asked
	}
	wait(t, "the prompt of the program", func() bool {
		_, err := os.Stat(gate + ".runs")
		return err == nil && strings.HasSuffix(printed(), "wardroom$ ")
	})
	slow := make(chan struct{})
	p.mu.Lock()
	p.slowFrom, p.slow = p.dropped+uint64(len(p.out)), slow
	p.mu.Unlock()
	before := asked()
	wait(t, "a look at the program", func() bool { return asked() >= before+2 })
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wait(t, "the prompt of the shell", func() bool {
		_, rest, ended := strings.Cut(printed(), "\r\nmore\r\n")
		return ended && strings.HasSuffix(rest, "wardroom$ ")
	})
	before = asked()
	wait(t, "looks at the shell", func() bool { return asked() >= before+2 || len(answer) > 0 })
	close(slow)
	if got := <-answer; got == nil || got.Text != "wardroom$\nmore" || got.Turn != 1 {
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

// A shell that a message tells to exit may be gone before it is known that the message was typed: the turn is the message's.
func TestExitBeforeItIsTyped(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), nil)
	g.bash("b1")
	p := g.l.process()
	p.mu.Lock()
	p.lateEnter = true
	p.mu.Unlock()
	got, err := g.Send(t.Context(), "b1", runtime.Input{Message: "exit 3", ExpectResponse: true})
	if err != nil || !got.Sent || got.Response == nil || got.Response.Error == nil || got.Response.Error.Code != wire.TurnAgentEnded {
		t.Errorf("send: %+v, %v", got, err)
	}
	if a := g.status("b1", runtime.StatusStopped); a.Reason != runtime.ReasonExited || *a.ExitCode != 3 {
		t.Errorf("agent %+v", a)
	}
	if got := coarse(g.events("b1")); got != "started ready busy message turn_complete stopped" {
		t.Errorf("events %s", got)
	}
}
