package threads

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
)

// typedWait bounds how long a sender waits for the word of a host on what was typed. Without one it was sent, no more.
const typedWait = 10 * time.Second

// typed is raw bytes or keys on their way to a host.
type typed struct {
	done chan struct{}
	why  *core.InputRefusal // that the host did not take them; immutable once done is closed
}

// typeAtHost gives the terminal of a hosted thread raw bytes or keys, and returns once its host took or refused them. A
// host that is away, or was not here since the server started, gets them when it is back.
func (t *thread) typeAtHost(ctx context.Context, key string, in core.ThreadInput) error {
	t.mu.Lock()
	p := t.remote.typed[key]
	if p == nil {
		p = &typed{done: make(chan struct{})}
		if t.remote.typed == nil {
			t.remote.typed = map[string]*typed{}
		}
		t.remote.typed[key] = p
	}
	r, away := t.record(), !t.remote.heard || t.remote.away || t.remote.over
	t.mu.Unlock()
	given := t.s.opts.Hosts.InputThread(r.AgentID, core.RemoteInput{ThreadID: t.id, InputID: key, Raw: in.Raw, Keys: in.Keys})
	if !given || away {
		t.typed(key, nil)
	}
	if !given {
		return core.Conflict("thread", t.id, string(r.Status), "the agent that hosts the thread is gone")
	}
	timer := t.s.clock.AfterFunc(typedWait, func() { t.typed(key, nil) })
	defer timer.Stop()
	select {
	case <-p.done:
	case <-ctx.Done():
		t.typed(key, nil)
		return nil // the answer goes nowhere
	}
	if p.why == nil {
		return nil
	}
	reason := clip.Text(p.why.Reason, maxSummary)
	switch p.why.Code {
	case runtimecode.InvalidArgument, string(core.CodeValidation):
		field := "raw"
		if len(in.Keys) > 0 {
			field = "keys"
		}
		return core.Invalid(field, "the host did not take it: %s", reason)
	case string(core.CodeRateLimited):
		return core.RateLimited(0, 0, time.Second, "the host did not take it: %s", reason)
	}
	return core.Conflict("thread", t.id, string(r.Status), "the host did not take it: %s", reason)
}

// typed ends the wait for what was typed under a key, and returns whether there was one.
func (t *thread) typed(key string, why *core.InputRefusal) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remote.settleTyped(key, why)
}

// settleTyped is typed with the thread's mu held.
func (m *mailbox) settleTyped(key string, why *core.InputRefusal) bool {
	p := m.typed[key]
	if p == nil {
		return false
	}
	delete(m.typed, key)
	p.why = why
	close(p.done)
	return true
}

// untype ends all waits: no word is to be expected. The thread's mu is held.
func (m *mailbox) untype() {
	for key := range m.typed {
		m.settleTyped(key, nil)
	}
}
