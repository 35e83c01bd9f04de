package runtimetest

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

var _ runtime.Runtime = (*Runtime)(nil)

// Runtime is one process of a world's runtime.
type Runtime struct {
	world *World
	alive context.Context // ends at Kill
	kill  context.CancelFunc
}

// Kill ends the runtime as SIGKILL would: its calls and streams fail with UNAVAILABLE, its agents live on.
func (r *Runtime) Kill() { r.kill() }

// Capabilities implements runtime.Runtime.
func (r *Runtime) Capabilities(ctx context.Context) (runtime.Capabilities, error) {
	return runtime.Capabilities{Name: "memory", Types: []string{Type}, Attach: true, Resize: true, Recover: true}, ended(ctx, r.alive)
}

// Spawn implements runtime.Runtime.
func (r *Runtime) Spawn(ctx context.Context, spec runtime.Spec) (runtime.Agent, error) {
	if err := ended(ctx, r.alive); err != nil {
		return runtime.Agent{}, err
	}
	return r.world.spawn(spec)
}

// find returns an agent if the runtime is alive.
func (r *Runtime) find(ctx context.Context, id string) (*agent, error) {
	if err := ended(ctx, r.alive); err != nil {
		return nil, err
	}
	return r.world.find(id)
}

// Stop implements runtime.Runtime.
func (r *Runtime) Stop(ctx context.Context, id string, opts runtime.StopOptions) error {
	a, err := r.find(ctx, id)
	if err != nil {
		return err
	}
	return a.stop(ctx, opts)
}

// Restart implements runtime.Runtime.
func (r *Runtime) Restart(ctx context.Context, id string, _ runtime.RestartOptions) (runtime.Agent, error) {
	a, err := r.find(ctx, id)
	if err != nil {
		return runtime.Agent{}, err
	}
	return a.restart(ctx)
}

// Inspect implements runtime.Runtime.
func (r *Runtime) Inspect(ctx context.Context, id string) (runtime.Agent, error) {
	a, err := r.find(ctx, id)
	if err != nil {
		return runtime.Agent{}, err
	}
	return a.view(), nil
}

// List implements runtime.Runtime.
func (r *Runtime) List(ctx context.Context, filter runtime.ListFilter) ([]runtime.Agent, error) {
	if err := ended(ctx, r.alive); err != nil {
		return nil, err
	}
	var list []runtime.Agent
	for _, a := range r.world.all() {
		wanted := filter.Installation == "" || filter.Installation == a.spec.Installation
		for name, value := range filter.Labels {
			wanted = wanted && a.spec.Labels[name] == value
		}
		if wanted {
			list = append(list, a.view())
		}
	}
	return list, nil
}

// Send implements runtime.Runtime.
func (r *Runtime) Send(ctx context.Context, id string, in runtime.Input) (runtime.SendResult, error) {
	a, err := r.find(ctx, id)
	if err != nil {
		return runtime.SendResult{}, err
	}
	return a.send(ctx, r.alive, in)
}

// Answer implements runtime.Runtime.
func (r *Runtime) Answer(ctx context.Context, id string, answer runtime.Answer) error {
	a, err := r.find(ctx, id)
	if err != nil {
		return err
	}
	return a.answered(ctx, answer)
}

// Attach implements runtime.Runtime.
func (r *Runtime) Attach(ctx context.Context, id string, opts runtime.AttachOptions) (runtime.Terminal, error) {
	a, err := r.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return attach(ctx, r.alive, a, opts), nil
}

// Logs implements runtime.Runtime.
func (r *Runtime) Logs(ctx context.Context, id string, opts runtime.LogOptions) (runtime.LogStream, error) {
	a, err := r.find(ctx, id)
	if err != nil {
		return nil, err
	}
	inner, stop := context.WithCancel(ctx)
	return a.journal.open(inner, r.alive, stop, opts), nil
}

// Metrics implements runtime.Runtime.
func (r *Runtime) Metrics(ctx context.Context, id string) (runtime.Metrics, error) {
	a, err := r.find(ctx, id)
	if err != nil {
		return runtime.Metrics{}, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.Status == runtime.StatusStopped {
		return runtime.Metrics{}, notRunning(id)
	}
	return runtime.Metrics{
		MemoryBytes: a.out.size(), UptimeSeconds: time.Since(a.started).Seconds(),
		MessagesSent: a.sent, LastResponseMs: a.took.Milliseconds(),
	}, nil
}

// Events implements runtime.Runtime.
func (r *Runtime) Events(ctx context.Context, opts runtime.EventOptions) (runtime.EventStream, error) {
	if err := ended(ctx, r.alive); err != nil {
		return nil, err
	}
	seq := opts.After
	switch last := r.world.events.last(); {
	case opts.Live:
		seq = max(seq, last)
	case seq > last, opts.Log != "" && opts.Log != r.world.events.id:
		seq = 0 // of another log
	}
	inner, stop := context.WithCancel(ctx)
	return &eventStream{ctx: inner, stop: stop, alive: r.alive, events: &r.world.events, agent: opts.AgentID, seq: seq}, nil
}

// Recover implements runtime.Runtime.
func (r *Runtime) Recover(ctx context.Context, handles []runtime.Handle) ([]runtime.Recovered, error) {
	if err := ended(ctx, r.alive); err != nil {
		return nil, err
	}
	return r.world.recover(handles), nil
}

// Prune implements runtime.Runtime.
func (r *Runtime) Prune(ctx context.Context, opts runtime.PruneOptions) (runtime.PruneReport, error) {
	if err := ended(ctx, r.alive); err != nil {
		return runtime.PruneReport{}, err
	}
	return r.world.prune(ctx, opts)
}
