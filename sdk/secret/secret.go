package secret

import "context"

// Provider reads secrets. Methods may be called concurrently and return soon after ctx ends. Values appear in
// no error and no log.
type Provider interface {
	// Resolve returns one result for each reference, in order: what one reference lacks does not keep the
	// others from their values. The error is for failures of the whole: UNAVAILABLE, FORBIDDEN.
	Resolve(ctx context.Context, refs []Ref, caller Caller) ([]Result, error)
}

// Watcher is a Provider that tells when secrets changed.
type Watcher interface {
	// Watch follows the references, until ctx ends or the stream is closed.
	Watch(ctx context.Context, refs []Ref) (ChangeStream, error)
}

// ChangeStream yields changes. Next is called by one goroutine; it returns io.EOF when the provider ends the
// stream, and soon after Close.
type ChangeStream interface {
	// Next returns the references whose values changed, or may have.
	Next() ([]Ref, error)
	// Close lets go of the stream. Safe to call twice.
	Close() error
}

// Ref names a secret in the provider's own form.
type Ref struct {
	Path string // where it is: secret/data/db
	Key  string // which field of it; empty: the whole
}

// String returns path#key.
func (r Ref) String() string {
	if r.Key == "" {
		return r.Path
	}
	return r.Path + "#" + r.Key
}

// Caller says for whom a secret is resolved; providers put it into their own audit trail. All of it is
// optional.
type Caller struct {
	Component   string // of the appliance: webhook, runtime-local
	Pattern     string
	ExecutionID string
	RequestID   string
}

// Result is a value, or why there is none. One with neither, or about another reference than the one in its place, reaches
// the caller as an INTERNAL error.
type Result struct {
	Ref   Ref // as it was asked for; may be empty
	Value Value
	Error *Error
}

// Unimplemented is a Provider that has no secrets. Embed it to stay a Provider when the interface grows.
type Unimplemented struct{}

var _ Provider = Unimplemented{}

// Resolve returns UNIMPLEMENTED.
func (Unimplemented) Resolve(context.Context, []Ref, Caller) ([]Result, error) {
	return nil, Errorf(CodeUnimplemented, "this provider has no Resolve")
}
