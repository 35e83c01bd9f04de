package agentcli_test

import (
	"strings"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// reads is a turn that ends once what is typed holds words, after first.
func reads(words string, first agentcli.Signal, end agentcli.Signal) func(p *process, msg string) {
	return func(p *process, msg string) {
		p.signal(agentcli.Signal{Kind: took, Text: msg})
		if first.Kind != "" {
			p.signal(first)
		}
		var typed string
		for !strings.Contains(typed, words) {
			keys, ok := p.read()
			if !ok {
				return
			}
			typed += keys
		}
		if first.Kind != "" {
			p.signal(agentcli.Signal{Kind: agentcli.SignalUnblocked, Choice: runtime.ChoiceDeny})
		}
		p.signal(end)
	}
}

// An answer that was taken, and whose dialog was not drawn when the runtime was killed, is given by the next one.
func TestAnswerOutlivesTheRuntime(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{}
	c.turn = reads("answer p1 deny", agentcli.Signal{Kind: blocked, Prompt: approval("p1")}, agentcli.Signal{Kind: turnEnd, Text: "so be it"})
	g, f := ready(t, c, nil)
	if _, err := g.Send(t.Context(), "a", runtime.Input{Message: "work", ID: "i1"}); err != nil {
		t.Fatal(err)
	}
	g.status("a", runtime.StatusBlocked)
	f.mu.Lock()
	f.undrawn = 1
	f.mu.Unlock()
	if err := g.Answer(t.Context(), "a", runtime.Answer{Choice: runtime.ChoiceDeny}); err != nil {
		t.Fatal(err)
	}
	g = g.again()
	if a := g.status("a", runtime.StatusReady); a.Turn != 1 || a.Prompt != nil {
		t.Errorf("agent %+v", a)
	}
}

// An answer that its CLI did not take, since another dialog came in front, is not reported as one.
func TestAnswerNotTaken(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{turn: func(p *process, msg string) {
		p.signal(agentcli.Signal{Kind: took, Text: msg})
		p.signal(agentcli.Signal{Kind: blocked, Prompt: approval("p1")})
		if _, ok := p.read(); !ok {
			return
		}
		p.signal(agentcli.Signal{Kind: agentcli.SignalUnblocked, Unanswered: true})
		p.signal(agentcli.Signal{Kind: blocked, Prompt: approval("p2")})
		p.signal(agentcli.Signal{Kind: turnEnd, Text: "so be it"})
	}}
	g, _ := ready(t, c, nil)
	if _, err := g.Send(t.Context(), "a", runtime.Input{Message: "work", ID: "i1"}); err != nil {
		t.Fatal(err)
	}
	g.status("a", runtime.StatusBlocked)
	if err := g.Answer(t.Context(), "a", runtime.Answer{PromptID: "p1", Choice: runtime.ChoiceAllow}); err != nil {
		t.Fatal(err)
	}
	g.status("a", runtime.StatusReady)
	for _, e := range g.events("a") {
		if e.Type == runtime.EventUnblocked && e.Answered != "" {
			t.Errorf("%s was answered by %q", e.Prompt.ID, e.Answered)
		}
	}
}

// An answer that the CLI took, and of which the runtime was killed before it saw that, is how the prompt was answered.
func TestAnswerTakenAsTheRuntimeEnds(t *testing.T) {
	t.Parallel()
	c, answered, gate := &fakeCLI{}, make(chan struct{}), make(chan struct{})
	c.turn = func(p *process, msg string) {
		p.signal(agentcli.Signal{Kind: took, Text: msg})
		p.signal(agentcli.Signal{Kind: blocked, Prompt: approval("p1")})
		if keys, ok := p.read(); !ok || keys != "answer p1 deny\r" {
			return
		}
		close(answered)
		<-gate
		p.signal(agentcli.Signal{Kind: turnEnd, Text: "so be it"})
	}
	g, _ := ready(t, c, nil)
	if _, err := g.Send(t.Context(), "a", runtime.Input{Message: "work", ID: "i1"}); err != nil {
		t.Fatal(err)
	}
	g.status("a", runtime.StatusBlocked)
	if err := g.Answer(t.Context(), "a", runtime.Answer{Choice: runtime.ChoiceDeny}); err != nil {
		t.Fatal(err)
	}
	<-answered
	next := g.crash()
	close(gate)
	if a := next.status("a", runtime.StatusReady); a.Turn != 1 {
		t.Errorf("agent %+v", a)
	}
	for _, e := range next.events("a") {
		switch e.Type {
		case runtime.EventUnblocked:
			if e.Answered != runtime.ChoiceDeny {
				t.Errorf("the prompt was answered %q", e.Answered)
			}
		case runtime.EventTurnComplete:
			if !e.Refused || e.Text != "so be it" {
				t.Errorf("the turn came to %q, %+v", e.Text, e.TurnOutcome)
			}
		}
	}
}

// An interrupt that the agent took no notice of when the runtime was killed is repeated by the next one, in the same turn
// only.
func TestInterruptOutlivesTheRuntime(t *testing.T) {
	t.Parallel()
	c := &fakeCLI{}
	c.turn = reads("\x1b\x1b", agentcli.Signal{}, agentcli.Signal{Kind: turnEnd, TurnOutcome: runtime.TurnOutcome{Interrupted: true}})
	g, _ := ready(t, c, nil)
	if _, err := g.Send(t.Context(), "a", runtime.Input{Message: "work", ID: "i1"}); err != nil {
		t.Fatal(err)
	}
	g.status("a", runtime.StatusBusy)
	if _, err := g.Send(t.Context(), "a", runtime.Input{Interrupt: true}); err != nil {
		t.Fatal(err)
	}
	g = g.again()
	if a := g.status("a", runtime.StatusReady); a.Turn != 1 {
		t.Errorf("agent %+v", a)
	}
	c.mu.Lock()
	c.turn = reads("never typed", agentcli.Signal{}, agentcli.Signal{})
	c.mu.Unlock()
	if _, err := g.Send(t.Context(), "a", runtime.Input{Message: "more", ID: "i2"}); err != nil {
		t.Fatal(err)
	}
	g = g.again()
	g.status("a", runtime.StatusBusy)
}

// An agent whose turn failed because it needs a login is not ready in between, each time.
func TestLoginEndsTheTurn(t *testing.T) {
	t.Parallel()
	failed := &runtime.TurnError{Code: wire.TurnLoginRequired, Message: "401"}
	c := &fakeCLI{turn: func(p *process, msg string) {
		p.signal(agentcli.Signal{Kind: took, Text: msg})
		p.signal(agentcli.Signal{Kind: turnEnd, TurnOutcome: runtime.TurnOutcome{Error: failed}})
		p.signal(agentcli.Signal{Kind: agentcli.SignalLogin})
	}}
	g, _ := ready(t, c, nil)
	for i := range 2 {
		res, err := g.Send(t.Context(), "a", runtime.Input{Message: "work", ExpectResponse: true})
		if err != nil || res.Response == nil || res.Response.Error == nil || res.Response.Error.Code != wire.TurnLoginRequired {
			t.Fatalf("turn %d: %+v, %v", i, res.Response, err)
		}
		if a := g.status("a", runtime.StatusError); a.Reason != runtime.ReasonLoginRequired {
			t.Errorf("agent %+v", a)
		}
		g.l.process().kind(agentcli.SignalIdle)
		g.status("a", runtime.StatusReady)
	}
	events := g.events("a")
	if got := types(events); got != "started ready busy turn_complete login_required ready busy turn_complete login_required ready" {
		t.Errorf("events %s", got)
	}
	for _, e := range events {
		if e.Type == runtime.EventTurnComplete && e.Agent.Status != runtime.StatusError {
			t.Errorf("at the end of the turn it is %s", e.Agent.Status)
		}
	}
}
