package plugin

import (
	"context"

	"github.com/wardroom/wardroom/sdk/runtime"
)

const notYet = "the plugin has no configuration, or is shutting down"

// notConfigured is the Runtime before the first configuration and after Shutdown: a caller may come back.
type notConfigured struct{}

var _ runtime.Runtime = notConfigured{}

func (notConfigured) err() error {
	return &runtime.Error{Code: runtime.CodeUnavailable, Message: notYet, Retry: true}
}

func (n notConfigured) Capabilities(context.Context) (runtime.Capabilities, error) {
	return runtime.Capabilities{}, n.err()
}

func (n notConfigured) Spawn(context.Context, runtime.Spec) (runtime.Agent, error) {
	return runtime.Agent{}, n.err()
}

func (n notConfigured) Stop(context.Context, string, runtime.StopOptions) error { return n.err() }

func (n notConfigured) Restart(context.Context, string, runtime.RestartOptions) (runtime.Agent, error) {
	return runtime.Agent{}, n.err()
}

func (n notConfigured) Inspect(context.Context, string) (runtime.Agent, error) {
	return runtime.Agent{}, n.err()
}

func (n notConfigured) List(context.Context, runtime.ListFilter) ([]runtime.Agent, error) {
	return nil, n.err()
}

func (n notConfigured) Send(context.Context, string, runtime.Input) (runtime.SendResult, error) {
	return runtime.SendResult{}, n.err()
}

func (n notConfigured) Answer(context.Context, string, runtime.Answer) error { return n.err() }

func (n notConfigured) Attach(context.Context, string, runtime.AttachOptions) (runtime.Terminal, error) {
	return nil, n.err()
}

func (n notConfigured) Logs(context.Context, string, runtime.LogOptions) (runtime.LogStream, error) {
	return nil, n.err()
}

func (n notConfigured) Metrics(context.Context, string) (runtime.Metrics, error) {
	return runtime.Metrics{}, n.err()
}

func (n notConfigured) Events(context.Context, runtime.EventOptions) (runtime.EventStream, error) {
	return nil, n.err()
}

func (n notConfigured) Recover(context.Context, []runtime.Handle) ([]runtime.Recovered, error) {
	return nil, n.err()
}

func (n notConfigured) Prune(context.Context, runtime.PruneOptions) (runtime.PruneReport, error) {
	return runtime.PruneReport{}, n.err()
}
