package drivertest

import (
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/vt"
)

// host is what one driver sees of an Agent, until it is over: each driver has its own.
type host struct {
	agent  *Agent
	screen *vt.Screen
	work   chan<- func()   // of the life of the CLI
	stop   <-chan struct{} // closed at its end
	over   chan struct{}   // closed when nothing is heard of the driver any more
}

func newHost(a *Agent) *host {
	return &host{agent: a, screen: a.screen, work: a.work, stop: a.stop, over: make(chan struct{})}
}

// end has nothing heard of the driver any more. The loop calls it, once.
func (h *host) end() { close(h.over) }

// post runs fn on the loop unless the driver is over.
func (h *host) post(fn func()) {
	postTo(h.work, h.stop, func() {
		select {
		case <-h.over:
		default:
			fn()
		}
	})
}

func (h *host) Signal(s agentcli.Signal) {
	a := h.agent
	a.mu.Lock()
	defer a.mu.Unlock()
	switch s.Kind {
	case agentcli.SignalBlocked:
		a.prom = s.Prompt
	case agentcli.SignalUnblocked, agentcli.SignalTurnEnd:
		a.prom = nil
	}
	a.seen = append(a.seen, Seen{Signal: s, At: time.Now()})
	close(a.more)
	a.more = make(chan struct{})
}

func (h *host) After(d time.Duration, fn func()) (cancel func()) {
	cancelled := false // the loop owns it
	t := time.AfterFunc(d, func() {
		h.post(func() {
			if !cancelled {
				fn()
			}
		})
	})
	return func() {
		cancelled = true
		t.Stop()
	}
}

func (h *host) Rows() []string       { return h.screen.Text() }
func (h *host) BracketedPaste() bool { return h.screen.BracketedPaste() }
func (h *host) Drafted() bool        { return h.agent.drafted.Swap(false) }
func (h *host) Now() time.Time       { return time.Now() }

func (h *host) Do(fn func(), done func()) {
	h.agent.group.Go(func() {
		fn()
		h.post(done)
	})
}

// Type implements agentcli.Typist.
func (h *host) Type(steps []agentcli.Step) {
	h.agent.group.Go(func() { h.agent.typeUntil(steps, h.over) })
}

var _ agentcli.Typist = (*host)(nil)
