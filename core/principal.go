package core

import (
	"context"
	"slices"
	"time"
)

// PrincipalKind says how a principal proved who it is.
type PrincipalKind string

// Kinds of principals.
const (
	PrincipalAnonymous PrincipalKind = "anonymous" // no security configured: loopback only
	PrincipalSystem    PrincipalKind = "system"    // Wardroom itself: recovery, retention, batches after a restart
	PrincipalAPIKey    PrincipalKind = "apiKey"
	PrincipalUser      PrincipalKind = "user" // a person who signed in, or whom a token names
	PrincipalClient    PrincipalKind = "certificate"
	PrincipalAgent     PrincipalKind = "agent" // a connected agent, by security.agentAuth
	PrincipalLocal     PrincipalKind = "local" // root or the service's user, over the admin socket of the machine
)

// Principal is who makes a request. Every request carries one from the first day, so that records can name
// their creator and authorization has its subject. Its lists are shared and must not be changed.
type Principal struct {
	Kind PrincipalKind
	ID   string // stable identity: `sub`, owner of the key, certificate subject; "anonymous" in dev
	Name string // for people
	// KeyID is the id of the API key or registration token that was shown, else "".
	KeyID string
	// KeySecret names which secret of the key KeyID was shown, of several that a rotation leaves good for a while, by a text that proves
	// nothing: what it began ends with it. Empty: that is not known, and what was begun ends with the key.
	KeySecret string
	// Certificates names the certificate that was shown, those between it and its CA, and the CA, as package cert does; empty: none was. It may
	// have been shown beside the credential that the principal is of.
	Certificates []string
	// SessionID is the id of the session that the person is signed in by, else "".
	SessionID string
	Groups    []string
	Roles     []string // that the credential itself carries, beyond those that bindings give
	Scopes    []string // bound what roles grant
	// ScopesByDefault says that the configuration gave the scopes, to everybody whose credential names none: admin among them
	// opens no allow-list of a pattern.
	ScopesByDefault bool
	// Expires is when the credential ends, or the certificate that was shown beside it, whichever is first; zero: neither does, or is
	// known to.
	Expires time.Time
}

// Anonymous is the principal of every request while no security is configured.
var Anonymous = Principal{Kind: PrincipalAnonymous, ID: "anonymous", Name: "anonymous"}

// System is the principal of work that Wardroom starts by itself.
var System = Principal{Kind: PrincipalSystem, ID: "system", Name: "system"}

// IsReserved reports whether an id is that of a principal without a credential, which no other may have.
func IsReserved(id string) bool { return id == Anonymous.ID || id == System.ID }

// Unbounded reports whether nothing is ever refused to the principal: as long as no security is configured everyone is
// anonymous, and what Wardroom does by itself was allowed when it was asked for.
func (p Principal) Unbounded() bool {
	return p.Kind == PrincipalAnonymous || p.Kind == PrincipalSystem || slices.Contains(p.Scopes, ScopeAdmin)
}

type principalKey struct{}

// WithPrincipal returns a context that carries p.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// OnBehalf returns a context of work that Wardroom does by itself because somebody asked for it: what is written by it is put
// down to them. It is allowed everything. by is the id of their principal; "" leaves ctx as it is.
func OnBehalf(ctx context.Context, by string) context.Context {
	if by == "" {
		return ctx
	}
	return WithPrincipal(ctx, Principal{Kind: PrincipalSystem, ID: by})
}

// PrincipalFrom returns the principal of ctx, or System when none was set: only code inside the process
// runs without one.
func PrincipalFrom(ctx context.Context) Principal {
	if p, ok := ctx.Value(principalKey{}).(Principal); ok {
		return p
	}
	return System
}
