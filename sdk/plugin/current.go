package plugin

import (
	"context"
	"sync/atomic"

	"github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/secret"
)

// current leads calls to the service in force. Calls that run while a new one takes over end with the former,
// when it is closed.
type current struct{ service atomic.Pointer[Service] }

// currentRuntime is a Runtime that is the current one.
type currentRuntime struct{ *current }

var _ runtime.Runtime = currentRuntime{}

func (c currentRuntime) get() runtime.Runtime {
	if s := c.service.Load(); s != nil {
		return s.Runtime
	}
	return notConfigured{}
}

func (c currentRuntime) Capabilities(ctx context.Context) (runtime.Capabilities, error) {
	return c.get().Capabilities(ctx)
}

func (c currentRuntime) Spawn(ctx context.Context, spec runtime.Spec) (runtime.Agent, error) {
	return c.get().Spawn(ctx, spec)
}

func (c currentRuntime) Stop(ctx context.Context, id string, opts runtime.StopOptions) error {
	return c.get().Stop(ctx, id, opts)
}

func (c currentRuntime) Restart(ctx context.Context, id string, opts runtime.RestartOptions) (runtime.Agent, error) {
	return c.get().Restart(ctx, id, opts)
}

func (c currentRuntime) Inspect(ctx context.Context, id string) (runtime.Agent, error) {
	return c.get().Inspect(ctx, id)
}

func (c currentRuntime) List(ctx context.Context, filter runtime.ListFilter) ([]runtime.Agent, error) {
	return c.get().List(ctx, filter)
}

func (c currentRuntime) Send(ctx context.Context, id string, in runtime.Input) (runtime.SendResult, error) {
	return c.get().Send(ctx, id, in)
}

func (c currentRuntime) Answer(ctx context.Context, id string, answer runtime.Answer) error {
	return c.get().Answer(ctx, id, answer)
}

func (c currentRuntime) Attach(ctx context.Context, id string, opts runtime.AttachOptions) (runtime.Terminal, error) {
	return c.get().Attach(ctx, id, opts)
}

func (c currentRuntime) Logs(ctx context.Context, id string, opts runtime.LogOptions) (runtime.LogStream, error) {
	return c.get().Logs(ctx, id, opts)
}

func (c currentRuntime) Metrics(ctx context.Context, id string) (runtime.Metrics, error) {
	return c.get().Metrics(ctx, id)
}

func (c currentRuntime) Events(ctx context.Context, opts runtime.EventOptions) (runtime.EventStream, error) {
	return c.get().Events(ctx, opts)
}

func (c currentRuntime) Recover(ctx context.Context, handles []runtime.Handle) ([]runtime.Recovered, error) {
	return c.get().Recover(ctx, handles)
}

func (c currentRuntime) Prune(ctx context.Context, opts runtime.PruneOptions) (runtime.PruneReport, error) {
	return c.get().Prune(ctx, opts)
}

// currentSecret is a Provider that is the current one.
type currentSecret struct{ *current }

var (
	_ secret.Provider = currentSecret{}
	_ secret.Watcher  = currentSecret{}
)

func (c currentSecret) Resolve(ctx context.Context, refs []secret.Ref, caller secret.Caller) ([]secret.Result, error) {
	s := c.service.Load()
	if s == nil {
		return nil, secret.Errorf(secret.CodeUnavailable, notYet)
	}
	return s.Secret.Resolve(ctx, refs, caller)
}

func (c currentSecret) Watch(ctx context.Context, refs []secret.Ref) (secret.ChangeStream, error) {
	s := c.service.Load()
	if s == nil {
		return nil, secret.Errorf(secret.CodeUnavailable, notYet)
	}
	w, ok := s.Secret.(secret.Watcher)
	if !ok {
		return nil, secret.Errorf(secret.CodeUnimplemented, "this provider does not tell of changes")
	}
	return w.Watch(ctx, refs)
}

// currentAudit is a Sink that is the current one.
type currentAudit struct{ *current }

var _ audit.Sink = currentAudit{}

func (c currentAudit) get() (audit.Sink, error) {
	if s := c.service.Load(); s != nil {
		return s.Audit, nil
	}
	return nil, audit.Errorf(audit.CodeUnavailable, notYet)
}

func (c currentAudit) Open(ctx context.Context, from uint64) (uint64, error) {
	sink, err := c.get()
	if err != nil {
		return 0, err
	}
	return sink.Open(ctx, from)
}

func (c currentAudit) Write(ctx context.Context, batch []audit.Record) (uint64, error) {
	sink, err := c.get()
	if err != nil {
		return 0, err
	}
	return sink.Write(ctx, batch)
}

func (c currentAudit) Flush(ctx context.Context) (uint64, error) {
	sink, err := c.get()
	if err != nil {
		return 0, err
	}
	return sink.Flush(ctx)
}
