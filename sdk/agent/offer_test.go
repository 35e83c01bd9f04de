package agent_test

import (
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/agenttest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// nextUpdate returns the next status_update and its frame's id.
func nextUpdate(t *testing.T, c *agenttest.Conn) (string, protocol.StatusUpdate) {
	t.Helper()
	var u protocol.StatusUpdate
	f, err := c.Next(testContext(t), protocol.TypeStatusUpdate, &u)
	must(t, err)
	return f.ID, u
}

// beyond refuses registrations with a capability that the credential does not allow.
func beyond(r protocol.Register) *protocol.Error {
	if slices.Contains(r.Capabilities, "beyond") {
		return &protocol.Error{Code: "FORBIDDEN", Message: "not for this token", Fatal: true}
	}
	return nil
}

// TestAgent_RefusedCapabilities has the server refuse an update: the agent offers what it did before, and its next registration
// is taken.
func TestAgent_RefusedCapabilities(t *testing.T) {
	srv := newServer(t, agenttest.Options{Refuse: beyond})
	var log lines
	a := run(t, srv, echo, func(o *agent.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	c := accept(t, srv)
	eventually(t, "connected", a.Connected)
	a.SetCapabilities([]string{"testing", "more"}, "a plugin")
	nextUpdate(t, c) // an update is not answered: it was taken
	a.SetCapabilities([]string{"testing", "beyond"}, "a mistake")
	id, u := nextUpdate(t, c)
	if id == "" || !slices.Contains(u.Capabilities, "beyond") {
		t.Fatalf("update %q is %+v", id, u)
	}
	must(t, c.Send(protocol.TypeError, id, protocol.Error{Code: "FORBIDDEN", Message: "not for this token"}))
	must(t, c.Sync(testContext(t)))
	c.Drop()
	if r := accept(t, srv).Register; !slices.Equal(r.Capabilities, []string{"testing", "more"}) {
		t.Errorf("registered again with %q", r.Capabilities)
	}
	if got := log.String(); !strings.Contains(got, "not for this token") {
		t.Errorf("logged %q", got)
	}
}

// TestAgent_RefusedCapabilitiesThatWereReplaced has the server refuse an update after the next one was sent: that one stands.
func TestAgent_RefusedCapabilitiesThatWereReplaced(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	a := run(t, srv, echo)
	c := accept(t, srv)
	eventually(t, "connected", a.Connected)
	a.SetCapabilities([]string{"beyond"}, "a mistake")
	a.SetCapabilities([]string{"testing", "more"}, "mended")
	id, _ := nextUpdate(t, c)
	nextUpdate(t, c)
	must(t, c.Send(protocol.TypeError, id, protocol.Error{Code: "FORBIDDEN", Message: "not for this token"}))
	must(t, c.Sync(testContext(t)))
	c.Drop()
	if r := accept(t, srv).Register; !slices.Equal(r.Capabilities, []string{"testing", "more"}) {
		t.Errorf("registered again with %q", r.Capabilities)
	}
}

// TestAgent_CapabilitiesOfAnotherSessionRefused changes the capabilities while the connection is lost: a registration that is
// refused for them is followed by one with those of the session before.
func TestAgent_CapabilitiesOfAnotherSessionRefused(t *testing.T) {
	var a running
	changed := make(chan struct{})
	var again atomic.Int32
	srv := newServer(t, agenttest.Options{Refuse: func(r protocol.Register) *protocol.Error {
		if r.Resume == nil {
			return nil
		}
		if <-changed; again.Add(1) == 1 { // this registration may be one of before the change
			return &protocol.Error{Code: "INTERNAL_ERROR", Message: "not now"}
		}
		return beyond(r)
	}})
	a = run(t, srv, echo)
	c := accept(t, srv)
	eventually(t, "connected", a.Connected)
	c.Drop()
	eventually(t, "lost", func() bool { return !a.Connected() })
	a.SetCapabilities([]string{"testing", "beyond"}, "a mistake")
	close(changed)
	if r := accept(t, srv).Register; again.Load() != 3 || !slices.Equal(r.Capabilities, []string{"testing"}) {
		t.Errorf("registered again with %q, at attempt %d", r.Capabilities, again.Load())
	}
}

// TestAgent_OfferChangesAtRegistration changes the offer between the registration and its answer, as OnRegistered may: the
// server gets the change.
func TestAgent_OfferChangesAtRegistration(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	var a *agent.Agent
	made := make(chan struct{})
	a = run(t, srv, echo, func(o *agent.Options) {
		o.OnRegistered = func(protocol.Registered) {
			<-made
			a.SetCapabilities([]string{"testing", "more"}, "a plugin")
			a.SetMaxConcurrentTasks(7, "a plugin")
		}
	}).Agent
	close(made)
	c := accept(t, srv)
	if _, u := nextUpdate(t, c); u.MaxTasks == nil || *u.MaxTasks != 7 || u.Capabilities != nil {
		t.Errorf("got %+v", u)
	}
	if _, u := nextUpdate(t, c); !slices.Equal(u.Capabilities, []string{"testing", "more"}) {
		t.Errorf("got %+v", u)
	}
}

func TestAgent_OfferThatNoServerTakes(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	var log lines
	a := run(t, srv, echo, func(o *agent.Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	c := accept(t, srv)
	eventually(t, "connected", a.Connected)
	a.SetStatus(protocol.StatusBusy, "loading a model")
	nextUpdate(t, c)
	a.SetStatus("idle", "a mistake")
	a.SetMaxConcurrentTasks(1_000_000, "far too many")
	if _, u := nextUpdate(t, c); u.Status != "" || u.MaxTasks == nil || *u.MaxTasks != 10000 {
		t.Errorf("got %+v", u)
	}
	if got := log.String(); !strings.Contains(got, "idle") {
		t.Errorf("logged %q", got)
	}
	c.Drop()
	c = accept(t, srv)
	if n := c.Register.Config.MaxConcurrentTasks; n != 10000 {
		t.Errorf("registered again with %d tasks", n)
	}
	if _, u := nextUpdate(t, c); u.Status != protocol.StatusBusy {
		t.Errorf("got %+v", u)
	}
}
