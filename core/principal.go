package core

import "context"

// PrincipalKind tells how a principal proved who it is.
type PrincipalKind string

// Kinds of principals.
const (
	PrincipalAnonymous PrincipalKind = "anonymous" // no security configured: loopback only
	PrincipalSystem    PrincipalKind = "system"    // Wardroom itself: recovery, retention, batches after a restart
)

// Principal is who makes a request. Every request carries one from the first day, so that records can name
// their creator and later authorization has its subject.
type Principal struct {
	Kind PrincipalKind
	ID   string // stable identity: `sub`, key name, certificate subject; "anonymous" in dev
	Name string // for people
}

// Anonymous is the principal of every request while no security is configured.
var Anonymous = Principal{Kind: PrincipalAnonymous, ID: "anonymous", Name: "anonymous"}

// System is the principal of work that Wardroom starts by itself.
var System = Principal{Kind: PrincipalSystem, ID: "system", Name: "system"}

type principalKey struct{}

// WithPrincipal returns a context that carries p.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns the principal of ctx, or System when none was set: only code inside the process
// runs without one.
func PrincipalFrom(ctx context.Context) Principal {
	if p, ok := ctx.Value(principalKey{}).(Principal); ok {
		return p
	}
	return System
}
