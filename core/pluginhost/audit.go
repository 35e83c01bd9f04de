package pluginhost

import (
	"context"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// Audit returns the audit sink that a plugin is. As with Runtime, the value stays good over restarts, and calls
// fail fast with a retryable UNAVAILABLE while the plugin is not ready. No call is repeated: after a failure
// the caller begins anew with Open, which tells what is durable.
func (h *Host) Audit(name string) audit.Sink { return &auditOf{target{h, name}} }

type auditOf struct{ target }

var _ audit.Sink = (*auditOf)(nil)

var auditKind = kindOf{
	code: func(err error) string { return string(audit.AsError(err).Code) },
	down: func(u *unavailable) error {
		return &audit.Error{
			Code: audit.CodeUnavailable, Message: u.reason, Retry: true, Hint: "wardroom plugin list shows the state of all plugins",
		}
	},
}

// Open implements audit.Sink.
func (a *auditOf) Open(ctx context.Context, from uint64) (uint64, error) {
	return call(ctx, a.target, auditKind, "open", false, func(c *plugin.Conn) (uint64, error) { return c.Audit().Open(ctx, from) })
}

// Write implements audit.Sink.
func (a *auditOf) Write(ctx context.Context, batch []audit.Record) (uint64, error) {
	return call(ctx, a.target, auditKind, "write", false, func(c *plugin.Conn) (uint64, error) { return c.Audit().Write(ctx, batch) })
}

// Flush implements audit.Sink.
func (a *auditOf) Flush(ctx context.Context) (uint64, error) {
	return call(ctx, a.target, auditKind, "flush", false, func(c *plugin.Conn) (uint64, error) { return c.Audit().Flush(ctx) })
}
