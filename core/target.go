package core

import (
	"context"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What is public of targets, as it is stored.
type (
	Target          = wire.Target
	ExecutionTarget = wire.ExecutionTarget
	ThreadTarget    = wire.ThreadTarget
	RunRef          = wire.RunRef
)

// PrincipalRecord is a principal as it is stored with what runs on its behalf later.
type PrincipalRecord struct {
	Kind   PrincipalKind `json:"kind"`
	ID     string        `json:"id"`
	Name   string        `json:"name,omitempty"`
	KeyID  string        `json:"keyId,omitempty"`
	Groups []string      `json:"groups,omitempty"`
	Roles  []string      `json:"roles,omitempty"`
	Scopes []string      `json:"scopes,omitempty"`
	// ScopesByDefault is that of Principal.
	ScopesByDefault bool `json:"scopesByDefault,omitempty"`
	// SignedIn reports whether the scopes are those of a person's roles at that time, as a session at the identity provider has them, and not
	// those of a credential. It is not there in records of before it was known.
	SignedIn bool `json:"signedIn,omitempty"`
}

// RecordOf returns what is kept of a principal. When its credential ends is not: a key is asked about by its id, and
// tokens live shorter than what is started with their owner's rights.
func RecordOf(p Principal) PrincipalRecord {
	return PrincipalRecord{
		Kind: p.Kind, ID: p.ID, Name: p.Name, KeyID: p.KeyID, Groups: p.Groups, Roles: p.Roles, Scopes: p.Scopes, ScopesByDefault: p.ScopesByDefault,
		SignedIn: p.SessionID != "" && p.KeyID == "",
	}
}

// Principal returns the principal of a record, as it was.
func (r PrincipalRecord) Principal() Principal {
	return Principal{
		Kind: r.Kind, ID: r.ID, Name: r.Name, KeyID: r.KeyID, Groups: r.Groups, Roles: r.Roles, Scopes: r.Scopes, ScopesByDefault: r.ScopesByDefault,
	}
}

// AlongFunc writes what belongs to the start of something into the transaction that stores it. It goes by the rules of
// Store.Update, and its error has nothing started.
type AlongFunc func(tx Tx, ref RunRef) error

type alongKey struct{}

// WithAlong returns a context in which the next execution or thread that is created is stored together with what fn
// writes, or not at all.
func WithAlong(ctx context.Context, fn AlongFunc) context.Context {
	return context.WithValue(ctx, alongKey{}, fn)
}

// Along calls the AlongFunc of a context, if it has one. Services call it in the transaction that stores an execution or
// a thread.
func Along(ctx context.Context, tx Tx, ref RunRef) error {
	if fn, ok := ctx.Value(alongKey{}).(AlongFunc); ok {
		return fn(tx, ref)
	}
	return nil
}

// Launcher starts targets on behalf of principals who are not there. It is safe for concurrent use.
type Launcher interface {
	// Principal returns a principal as it is now. UNAUTHORIZED for one whose credential is gone, or who has none where
	// one is needed.
	Principal(ctx context.Context, r PrincipalRecord) (Principal, error)
	// CheckTarget returns why the principal of ctx could not start a target now, as far as that can be told without
	// doing it: FORBIDDEN; VALIDATION_ERROR for one that could never start. Of an execution without an input it is not
	// known yet.
	CheckTarget(ctx context.Context, t Target) error
	// Launch starts a target on behalf of the principal of ctx. along, which may be nil, writes in the transaction that
	// stores it. env is the environment of a thread. Errors are those of ExecutionService.Start and
	// ThreadService.SpawnThread, and of along.
	Launch(ctx context.Context, t Target, env map[string]string, along AlongFunc) (RunRef, error)
	// Over reports whether what was started is over; what does not exist any more is.
	Over(ctx context.Context, ref RunRef) (bool, error)
	// Cancel ends what was started; what is over stays as it is.
	Cancel(ctx context.Context, ref RunRef, reason string) error
}
