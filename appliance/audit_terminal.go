package appliance

import (
	"bytes"
	"context"
	"sync"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// typedAtOnce is how much may be typed into a terminal before it is recorded; a line is, when it ends.
const typedAtOnce = 512

// recordTyping returns a terminal that records what is typed into it: how much, and at the level verbose the text,
// masked.
func (a *App) recordTyping(ctx context.Context, agentID string, t runtime.Terminal) (runtime.Terminal, error) {
	if !a.audit.Wants(wire.AuditAgents, false) {
		return t, nil
	}
	r := &typedTerminal{Terminal: t, app: a, ctx: context.WithoutCancel(ctx), agent: agentID}
	return r, r.record("agents.attach", map[string]any{})
}

// typedTerminal is a terminal whose input is recorded.
type typedTerminal struct {
	runtime.Terminal
	app   *App
	ctx   context.Context // with the principal and the request; it outlives the connection for the last record
	agent string

	mu     sync.Mutex // guards below; held over Input, so that records stand in the order of what is typed
	typed  []byte
	closed bool
}

// Input implements runtime.Terminal. A line that cannot be recorded, where it must be, is not typed.
func (t *typedTerminal) Input(p []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.typed = append(t.typed, p...)
	if bytes.ContainsAny(p, "\r\n") || len(t.typed) >= typedAtOnce {
		if err := t.flush(); err != nil {
			return runtime.Errorf(runtime.CodeUnavailable, "%s", core.AsError(err).Message)
		}
	}
	return t.Terminal.Input(p)
}

// flush records what was typed. mu is held.
func (t *typedTerminal) flush() error {
	if len(t.typed) == 0 {
		return nil
	}
	details := map[string]any{"bytes": len(t.typed)}
	if text := t.app.audit.Text(t.typed); text != "" {
		details["text"] = text
	}
	t.typed = t.typed[:0]
	return t.record("agents.input", details)
}

// Close implements runtime.Terminal.
func (t *typedTerminal) Close() error {
	t.mu.Lock()
	if !t.closed {
		t.closed = true
		if err := t.flush(); err != nil {
			t.app.log.Warn("what was typed last is not in the audit trail", "agent", t.agent, "error", err)
		}
	}
	t.mu.Unlock()
	return t.Terminal.Close()
}

func (t *typedTerminal) record(action string, details map[string]any) error {
	p := core.PrincipalFrom(t.ctx)
	if p.KeyID != "" {
		details["keyId"] = p.KeyID
	}
	entry := core.AuditEntry{
		Category: wire.AuditAgents, Action: action, Outcome: wire.AuditSuccess, Details: details,
		Actor: wire.AuditActor{Type: string(p.Kind), ID: p.ID}, Resource: wire.AuditResource{Type: "agents", ID: t.agent},
	}
	if request := core.AuditRequestFrom(t.ctx); request != nil {
		entry.Actor.IP, entry.Actor.UserAgent, entry.Request = request.Actor.IP, request.Actor.UserAgent, request.Request
	}
	return t.app.audit.Record(t.ctx, entry)
}
