package pluginhost

import (
	"context"

	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Runtime returns the runtime that a plugin is. The value stays good over restarts of the plugin. While the
// plugin is not ready, calls return UNAVAILABLE at once; so does a call during which it ends, retryable in both
// cases, and reading calls are repeated once with its next process. It is no error to ask for a plugin that
// does not exist: its calls are UNAVAILABLE and say so.
func (h *Host) Runtime(name string) runtime.Runtime { return &runtimeOf{target{h, name}} }

// runtimeOf forwards to the present instance.
type runtimeOf struct{ target }

var _ runtime.Runtime = (*runtimeOf)(nil)

var runtimeKind = kindOf{
	code: func(err error) string { return string(runtime.ErrorCode(err)) },
	down: func(u *unavailable) error {
		return &runtime.Error{
			Code: runtime.CodeUnavailable, Message: u.reason, Retry: true,
			Hint: "wardroom plugin list shows the state of all plugins",
		}
	},
}

// onRuntime is call for a runtime.
func onRuntime[T any](ctx context.Context, r *runtimeOf, method string, read bool, fn func(runtime.Runtime) (T, error)) (T, error) {
	return call(ctx, r.target, runtimeKind, method, read, func(c *plugin.Conn) (T, error) { return fn(c.Runtime()) })
}

// done is the result of a call without one.
type done struct{}

// Capabilities implements runtime.Runtime.
func (r *runtimeOf) Capabilities(ctx context.Context) (runtime.Capabilities, error) {
	return onRuntime(ctx, r, "capabilities", true, func(rt runtime.Runtime) (runtime.Capabilities, error) { return rt.Capabilities(ctx) })
}

// Spawn implements runtime.Runtime.
func (r *runtimeOf) Spawn(ctx context.Context, spec runtime.Spec) (runtime.Agent, error) {
	return onRuntime(ctx, r, "spawn", false, func(rt runtime.Runtime) (runtime.Agent, error) { return rt.Spawn(ctx, spec) })
}

// Stop implements runtime.Runtime.
func (r *runtimeOf) Stop(ctx context.Context, id string, opts runtime.StopOptions) error {
	_, err := onRuntime(ctx, r, "stop", false, func(rt runtime.Runtime) (done, error) { return done{}, rt.Stop(ctx, id, opts) })
	return err
}

// Restart implements runtime.Runtime.
func (r *runtimeOf) Restart(ctx context.Context, id string, opts runtime.RestartOptions) (runtime.Agent, error) {
	return onRuntime(ctx, r, "restart", false, func(rt runtime.Runtime) (runtime.Agent, error) { return rt.Restart(ctx, id, opts) })
}

// Inspect implements runtime.Runtime.
func (r *runtimeOf) Inspect(ctx context.Context, id string) (runtime.Agent, error) {
	return onRuntime(ctx, r, "inspect", true, func(rt runtime.Runtime) (runtime.Agent, error) { return rt.Inspect(ctx, id) })
}

// List implements runtime.Runtime.
func (r *runtimeOf) List(ctx context.Context, filter runtime.ListFilter) ([]runtime.Agent, error) {
	return onRuntime(ctx, r, "list", true, func(rt runtime.Runtime) ([]runtime.Agent, error) { return rt.List(ctx, filter) })
}

// Send implements runtime.Runtime. A message whose plugin ended may have been taken, so it is DELIVERY_UNKNOWN
// then; so are raw input and keys without an id, which a caller of an UNAVAILABLE runtime would have typed once more.
func (r *runtimeOf) Send(ctx context.Context, id string, in runtime.Input) (runtime.SendResult, error) {
	k := runtimeKind
	k.down = func(u *unavailable) error {
		if u.during && (in.Message != "" || in.ID == "" && !in.Interrupt) {
			return &runtime.Error{
				Code: runtime.CodeDeliveryUnknown, Message: u.reason + "; the agent may have the input",
				Hint: "look at the agent before sending it again; with the same id it is given once",
			}
		}
		return runtimeKind.down(u)
	}
	return call(ctx, r.target, k, "send", false, func(c *plugin.Conn) (runtime.SendResult, error) { return c.Runtime().Send(ctx, id, in) })
}

// Answer implements runtime.Runtime.
func (r *runtimeOf) Answer(ctx context.Context, id string, answer runtime.Answer) error {
	_, err := onRuntime(ctx, r, "answer", false, func(rt runtime.Runtime) (done, error) { return done{}, rt.Answer(ctx, id, answer) })
	return err
}

// Metrics implements runtime.Runtime.
func (r *runtimeOf) Metrics(ctx context.Context, id string) (runtime.Metrics, error) {
	return onRuntime(ctx, r, "metrics", true, func(rt runtime.Runtime) (runtime.Metrics, error) { return rt.Metrics(ctx, id) })
}

// Recover implements runtime.Runtime.
func (r *runtimeOf) Recover(ctx context.Context, handles []runtime.Handle) ([]runtime.Recovered, error) {
	return onRuntime(ctx, r, "recover", false, func(rt runtime.Runtime) ([]runtime.Recovered, error) { return rt.Recover(ctx, handles) })
}

// Prune implements runtime.Runtime.
func (r *runtimeOf) Prune(ctx context.Context, opts runtime.PruneOptions) (runtime.PruneReport, error) {
	return onRuntime(ctx, r, "prune", false, func(rt runtime.Runtime) (runtime.PruneReport, error) { return rt.Prune(ctx, opts) })
}
