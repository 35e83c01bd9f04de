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
