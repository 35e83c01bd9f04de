package agentcli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestTurnsOfPersons has somebody run commands past the messages, over each way that there is: the agent is busy with them,
// their text is their own turn's, and a message waits for its own.
func TestTurnsOfPersons(t *testing.T) {
	t.Parallel()
	quick := func(o *agentcli.Options) { o.HumanHold = 5 * time.Millisecond }
	for _, way := range []string{"viewer", "raw", "keys", "letters"} {
		t.Run(way, func(t *testing.T) {
			g := open(t, newLauncher(t, nil), quick)
			g.bash("b")
			v := g.attach("b", runtime.AttachOptions{})
			command := "sleep 0.7; echo by a person"
			send := func(in runtime.Input) {
				t.Helper()
				if _, err := g.Send(t.Context(), "b", in); err != nil {
					t.Fatal(err)
				}
			}
			switch way {
			case "viewer":
				if err := v.Input([]byte(command + "\r")); err != nil {
					t.Fatal(err)
				}
			case "raw":
				send(runtime.Input{Raw: command + "\r"})
			case "keys":
				send(runtime.Input{Raw: command})
				send(runtime.Input{Keys: []string{"ENTER"}})
			case "letters":
				for _, c := range command + "\r" {
					if err := v.Input([]byte(string(c))); err != nil {
						t.Fatal(err)
					}
				}
			}
			g.status("b", runtime.StatusBusy)
			if got := g.ask("b", "echo by a message"); got.Text != "by a message" || got.Turn != 2 {
				t.Errorf("the message came to %+v", got)
			}
			var told []string
			for _, e := range g.events("b") {
				if e.Type == runtime.EventTurnComplete {
					told = append(told, e.Text)
				}
			}
			if got := strings.Join(told, "|"); got != "by a person|by a message" {
				t.Errorf("turns %q", got)
			}
		})
	}
}

// TestTurnOfAPersonWithoutAPattern does the same to a program that prints no prompt.
func TestTurnOfAPersonWithoutAPattern(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) {
		o.HumanHold = 5 * time.Millisecond
		o.Types["slow"] = runtime.DeclaredType{
			Command: "bash", Idle: runtime.Duration(500 * time.Millisecond),
			Args: []string{"-c", `while read -r line; do for i in 1 2 3; do echo "$line $i"; sleep 0.2; done; done`},
		}
	})
	g.spawn(runtime.Spec{ID: "s", Type: "slow"})
	g.status("s", runtime.StatusReady)
	if err := g.attach("s", runtime.AttachOptions{}).Input([]byte("mine\r")); err != nil {
		t.Fatal(err)
	}
	g.status("s", runtime.StatusBusy)
	if got := g.ask("s", "yours"); got.Text != "yours 1\nyours 2\nyours 3" {
		t.Errorf("the message came to %+v", got)
	}
}

// TestEmptyLineIsNoTurn has a person lean on Enter.
func TestEmptyLineIsNoTurn(t *testing.T) {
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) { o.HumanHold = 5 * time.Millisecond })
	g.bash("b")
	v := g.attach("b", runtime.AttachOptions{})
	for range 5 {
		if err := v.Input([]byte("\r")); err != nil {
			t.Fatal(err)
		}
	}
	v.until("the prompts", func(_ runtime.Frame, text string) bool { return strings.Count(text, "wardroom$") >= 6 })
	if got := g.ask("b", "echo first"); got.Text != "first" || got.Turn != 1 {
		t.Errorf("the message came to %+v", got)
	}
	if got := coarse(g.events("b")); got != "started ready busy message turn_complete ready" {
		t.Errorf("events %s", got)
	}
}

// TestPersonInterrupts has a person press the key in the turn of a message.
func TestPersonInterrupts(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), nil)
	g.bash("b")
	v := g.attach("b", runtime.AttachOptions{})
	answer := make(chan *runtime.Response, 1)
	go func() {
		res, err := g.Send(t.Context(), "b", runtime.Input{Message: "sh -c 'echo begun; exec sleep 100'", ExpectResponse: true})
		if err != nil {
			t.Error(err)
		}
		answer <- res.Response
	}()
	v.untilText("begun\r\n")
	g.status("b", runtime.StatusBusy)
	if err := v.Input([]byte("\x03")); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got == nil || !got.Interrupted {
		t.Errorf("the turn came to %+v", got)
	}
}

// TestSeveralLinesAreOneMessage gives a shell that knows no paste a message of several lines: the prompt that each of them
// brings does not end the turn.
func TestSeveralLinesAreOneMessage(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) {
		o.Types["plain"] = runtime.DeclaredType{
			Command: "bash", Args: []string{"--norc", "--noprofile", "--noediting"}, Env: map[string]string{"PS1": "> "},
			Ready: runtime.ReadyRule{Pattern: `^> ?$`}, Idle: runtime.Duration(2 * time.Second),
		}
	})
	g.spawn(runtime.Spec{ID: "p", Type: "plain"})
	g.status("p", runtime.StatusReady)
	got := g.ask("p", "echo one\nsleep 0.8\necho tw''o")
	if !strings.Contains(got.Text, "two") || got.Turn != 1 {
		t.Errorf("the message came to %+v", got)
	}
	if got := g.ask("p", "echo three"); got.Text != "three" || got.Turn != 2 {
		t.Errorf("the next came to %+v", got)
	}
}

// A command that a person runs is a turn though it prints nothing; an Enter on an empty line is none.
func TestSilentCommandOfPerson(t *testing.T) {
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) { o.HumanHold = 5 * time.Millisecond })
	g.bash("b")
	v := g.attach("b", runtime.AttachOptions{})
	for i, keys := range []string{"\r", "true\r"} {
		if err := v.Input([]byte(keys)); err != nil {
			t.Fatal(err)
		}
		wait(t, "the turn", func() bool {
			a, err := g.Inspect(t.Context(), "b")
			return err == nil && a.Turn == i && a.Status == runtime.StatusReady
		})
	}
	if got := g.ask("b", "echo by a message"); got.Text != "by a message" || got.Turn != 2 {
		t.Errorf("the message came to %+v", got)
	}
}
