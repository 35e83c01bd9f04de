package runtime

import "context"

// Unimplemented is a Runtime that can do nothing. Embed it to stay a Runtime when the interface grows.
type Unimplemented struct{}

var _ Runtime = Unimplemented{}

func unimplemented(method string) error {
	return Errorf(CodeUnimplemented, "this runtime has no %s", method)
}

// Capabilities returns UNIMPLEMENTED.
func (Unimplemented) Capabilities(context.Context) (Capabilities, error) {
	return Capabilities{}, unimplemented("Capabilities")
}

// Spawn returns UNIMPLEMENTED.
func (Unimplemented) Spawn(context.Context, Spec) (Agent, error) {
	return Agent{}, unimplemented("Spawn")
}

// Stop returns UNIMPLEMENTED.
func (Unimplemented) Stop(context.Context, string, StopOptions) error { return unimplemented("Stop") }

// Restart returns UNIMPLEMENTED.
func (Unimplemented) Restart(context.Context, string, RestartOptions) (Agent, error) {
	return Agent{}, unimplemented("Restart")
}

// Inspect returns UNIMPLEMENTED.
func (Unimplemented) Inspect(context.Context, string) (Agent, error) {
	return Agent{}, unimplemented("Inspect")
}

// List returns UNIMPLEMENTED.
func (Unimplemented) List(context.Context, ListFilter) ([]Agent, error) {
	return nil, unimplemented("List")
}

// Send returns UNIMPLEMENTED.
func (Unimplemented) Send(context.Context, string, Input) (SendResult, error) {
	return SendResult{}, unimplemented("Send")
}

// Answer returns UNIMPLEMENTED.
func (Unimplemented) Answer(context.Context, string, Answer) error { return unimplemented("Answer") }

// Attach returns UNIMPLEMENTED.
func (Unimplemented) Attach(context.Context, string, AttachOptions) (Terminal, error) {
	return nil, unimplemented("Attach")
}

// Logs returns UNIMPLEMENTED.
func (Unimplemented) Logs(context.Context, string, LogOptions) (LogStream, error) {
	return nil, unimplemented("Logs")
}

// Metrics returns UNIMPLEMENTED.
func (Unimplemented) Metrics(context.Context, string) (Metrics, error) {
	return Metrics{}, unimplemented("Metrics")
}

// Events returns UNIMPLEMENTED.
func (Unimplemented) Events(context.Context, EventOptions) (EventStream, error) {
	return nil, unimplemented("Events")
}

// Recover returns UNIMPLEMENTED.
func (Unimplemented) Recover(context.Context, []Handle) ([]Recovered, error) {
	return nil, unimplemented("Recover")
}

// Prune returns UNIMPLEMENTED.
func (Unimplemented) Prune(context.Context, PruneOptions) (PruneReport, error) {
	return PruneReport{}, unimplemented("Prune")
}
