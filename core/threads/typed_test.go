package threads_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// What is typed for a hosted thread, and not taken by its host, is an error of who typed it.
func TestTypeAtHost(t *testing.T) {
	r := newRig(t, core.SystemClock{})
	e := newEdge(r)
	refusals := map[string]core.InputRefusal{
		"none": {Code: "NO_TERMINAL", Reason: "NO_TERMINAL: the threads of this host have no terminal"},
		"bad":  {Code: "INVALID_ARGUMENT", Reason: "INVALID_ARGUMENT: keys[0]: is no key"},
		"full": {Code: "RATE_LIMITED", Reason: "too much waits for the host"},
	}
	silent := make(chan string, 10)
	r.hosts.input = func(in core.RemoteInput) {
		what := in.Raw + strings.Join(in.Keys, " ")
		switch why, refused := refusals[what]; {
		case refused:
			go r.RemoteInputRefused("agent_1", in.ThreadID, in.InputID, why)
		case what == "slow":
			r.RemoteInputRefused("agent_2", in.ThreadID, in.InputID, core.InputRefusal{Reason: "of another host"})
			silent <- in.InputID
		default:
			e.input(in)
		}
	}
	r.open()
	id := r.readied(spec())
	for what, want := range map[string]core.Code{
		"none": core.CodeConflict, "bad": core.CodeValidation, "full": core.CodeRateLimited, "fine": "",
	} {
		_, err := r.SendThread(r.ctx, id, core.ThreadInput{Keys: []string{what}})
		if core.ErrorCode(err) != want || err != nil && !strings.Contains(core.AsError(err).Message, refusals[what].Reason) {
			t.Errorf("%s: %v, want %s", what, err, want)
		}
	}

	// A host that is lost before it answered gets it again: it was sent, no more is known.
	sent := make(chan error, 2)
	for range 2 { // the same twice
		go func() {
			_, err := r.SendThread(r.ctx, id, core.ThreadInput{Raw: "slow", InputID: "in_same"})
			sent <- err
		}()
		if got := <-silent; got != "in_same" {
			t.Errorf("the host got %s", got)
		}
	}
	select {
	case err := <-sent:
		t.Fatalf("it is answered before the host did: %v", err)
	default:
	}
	r.HostAway("agent_1")
	for range 2 {
		if err := <-sent; err != nil {
			t.Errorf("a host that was lost: %v", err)
		}
	}
	if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Raw: "slow"}); err != nil {
		t.Errorf("a host that is away: %v", err)
	}
	<-silent
	r.HostBack("agent_1", []string{id})

	ctx, cancel := context.WithCancel(r.ctx)
	go func() {
		_, err := r.SendThread(ctx, id, core.ThreadInput{Raw: "slow"})
		sent <- err
	}()
	<-silent
	cancel()
	if err := <-sent; err != nil {
		t.Errorf("a sender that went away: %v", err)
	}
}

// A host that does not answer keeps no sender waiting for ever.
func TestTypeAtSilentHost(t *testing.T) {
	clock := coretest.NewClock()
	r := newRig(t, clock)
	e := newEdge(r)
	given := make(chan struct{})
	r.hosts.input = func(in core.RemoteInput) {
		if in.Raw == "" {
			e.input(in)
			return
		}
		close(given)
	}
	r.open()
	id := r.readied(spec())
	sent := make(chan error, 1)
	go func() {
		_, err := r.SendThread(r.ctx, id, core.ThreadInput{Raw: "x"})
		sent <- err
	}()
	<-given
	coretest.WaitFor(t, "the sender to have an answer", func() bool {
		clock.Advance(time.Second)
		select {
		case err := <-sent:
			if err != nil {
				t.Error(err)
			}
			return true
		default:
			return false
		}
	})
}

// After a restart of the server no sender waits for a host that was not here since: it gets what was typed once it is back.
func TestTypeAtHostAfterRestart(t *testing.T) {
	r := newRig(t, coretest.NewClock()) // which stands still
	newEdge(r)
	r.open()
	id := r.readied(spec())
	given := make(chan string, 1)
	r.reopen()
	r.hosts.input = func(in core.RemoteInput) { given <- in.Raw }
	if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Raw: "x"}); err != nil {
		t.Error(err)
	}
	if got := <-given; got != "x" {
		t.Errorf("the host gets %q", got)
	}

	r.HostBack("agent_1", []string{id})
	r.hosts.input = func(in core.RemoteInput) {
		go r.RemoteInputRefused("agent_1", in.ThreadID, in.InputID, core.InputRefusal{Code: "NO_TERMINAL", Reason: "none"})
	}
	if _, err := r.SendThread(r.ctx, id, core.ThreadInput{Raw: "y"}); core.ErrorCode(err) != core.CodeConflict {
		t.Errorf("a host that is back and refuses: %v", err)
	}
}
