package agentcli_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TestInterrupt stops a turn over the API: by the CLI's own key, and only where a turn runs.
func TestInterrupt(t *testing.T) {
	c := &fakeCLI{turn: func(p *process, msg string) {
		p.signal(agentcli.Signal{Kind: agentcli.SignalTook, Text: msg})
		for {
			keys, ok := p.read()
			if !ok || keys == "\x1b" {
				break
			}
		}
		p.signal(agentcli.Signal{Kind: agentcli.SignalTurnEnd, TurnOutcome: runtime.TurnOutcome{Interrupted: true}})
	}}
	g, _ := ready(t, c, nil)
	stop := runtime.Input{Interrupt: true}
	if _, err := g.Send(t.Context(), "a", stop); code(err) != runtime.CodeNotRunning || !strings.Contains(err.Error(), "nothing to interrupt") {
		t.Errorf("an interrupt of an idle agent: %v", err)
	}
	_, err := g.Send(t.Context(), "a", runtime.Input{Interrupt: true, Message: "and more"})
	wantCode(t, err, runtime.CodeInvalidArgument)
	_, err = g.Send(t.Context(), "a", runtime.Input{Interrupt: true, ExpectResponse: true})
	wantCode(t, err, runtime.CodeInvalidArgument)

	answer := make(chan *runtime.Response, 1)
	go func() {
		res, err := g.Send(t.Context(), "a", runtime.Input{Message: "long", ExpectResponse: true})
		if err != nil {
			t.Error(err)
		}
		answer <- res.Response
	}()
	g.status("a", runtime.StatusBusy)
	if res, err := g.Send(t.Context(), "a", stop); err != nil || !res.Sent {
		t.Fatalf("%+v, %v", res, err)
	}
	if got := <-answer; got == nil || !got.Interrupted || got.Text != "" {
		t.Errorf("the turn came to %+v", got)
	}
}

// TestInterruptPutBack interrupts turns whose CLI puts the message back into its line: over the API it is taken out again, so
// that what a person types next does not join it; a person at the terminal goes on with it.
func TestInterruptPutBack(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		terminal bool   // the interrupt comes from there
		back     string // what is put back
		taken    string // in the end
	}{
		"api":      {back: "long  one", taken: "mine"},
		"draft":    {back: "long one and a draft ", taken: "long one and a draft mine"},
		"terminal": {terminal: true, back: "long one ", taken: "long one mine"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &fakeCLI{draws: true}
			c.turn = func(p *process, msg string) {
				p.signal(agentcli.Signal{Kind: agentcli.SignalTook, Text: msg})
				p.print("\r\n> ") // its line is empty, and shows it
				if msg != "long one" {
					p.signal(agentcli.Signal{Kind: agentcli.SignalTurnEnd, Text: "ANSWER[" + msg + "]"})
					return
				}
				for {
					if keys, ok := p.read(); !ok || keys == "\x1b" {
						break
					}
				}
				p.signal(agentcli.Signal{Kind: agentcli.SignalTurnEnd, TurnOutcome: runtime.TurnOutcome{Interrupted: true}})
				c.line.WriteString(tt.back)
			}
			g, _ := ready(t, c, nil)
			v := g.attach("a", runtime.AttachOptions{})
			if _, err := g.Send(t.Context(), "a", runtime.Input{Message: "long one", ID: "i1"}); err != nil {
				t.Fatal(err)
			}
			g.status("a", runtime.StatusBusy)
			if tt.terminal {
				if err := v.Input([]byte("\x1b")); err != nil {
					t.Fatal(err)
				}
			} else if _, err := g.Send(t.Context(), "a", runtime.Input{Interrupt: true}); err != nil {
				t.Fatal(err)
			}
			g.status("a", runtime.StatusReady)
			p := g.l.process()
			if tt.taken == "mine" {
				wait(t, "an empty line", func() bool {
					p.mu.Lock()
					defer p.mu.Unlock()
					return strings.HasSuffix(string(p.written), "\x15") && strings.HasSuffix(string(p.out), "\r\n> ")
				})
			}
			if err := v.Input([]byte("mine\r")); err != nil {
				t.Fatal(err)
			}
			wait(t, "what the person typed", func() bool { return len(c.messages()) == 2 })
			if got := c.messages()[1]; got != tt.taken {
				t.Errorf("the CLI took %q, want %q", got, tt.taken)
			}
		})
	}
}

// TestInterruptDeclared stops a command of a declared type, which tells nothing of it: the turn says so all the same, with
// what was printed until then.
func TestInterruptDeclared(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), nil)
	g.bash("b")
	answer := make(chan *runtime.Response, 1)
	go func() {
		res, err := g.Send(t.Context(), "b", runtime.Input{Message: "sh -c 'echo begun; exec sleep 100'", ExpectResponse: true})
		if err != nil {
			t.Error(err)
		}
		answer <- res.Response
	}()
	g.attach("b", runtime.AttachOptions{}).untilText("begun\r\n")
	g.status("b", runtime.StatusBusy)
	if _, err := g.Send(t.Context(), "b", runtime.Input{Interrupt: true}); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; got == nil || !got.Interrupted || !strings.HasPrefix(got.Text, "begun") {
		t.Errorf("the turn came to %+v", got)
	}
	if got := g.ask("b", "echo after"); got.Interrupted || got.Text != "after" {
		t.Errorf("the next one came to %+v", got)
	}
}
