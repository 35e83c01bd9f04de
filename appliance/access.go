package appliance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/access"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/cert"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/policy"
	"github.com/wardroom/wardroom/sdk/wire"
)

// adminKeyFile holds the first key, in the directory of the store.
const adminKeyFile = "admin.key"

// openAccess starts authentication and authorization, where the configuration enables them.
func (a *App) openAccess(ctx context.Context) (err error) {
	c := a.config.Load()
	if err := a.checkStoreDir(ctx, c.Store.Path); err != nil {
		return err
	}
	pepper, err := pepper(ctx, a.store, c.Store.Path, a.clock.Now())
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			a.openAgentAuth(pepper)
		}
	}()
	a.approvals = new(policy.Approvals)
	a.approvals.LogTo(a.log.Named("access"), a.clock)
	if err = a.loadApprovals(c); err != nil {
		return err
	}
	if !c.Security.Enabled() {
		return nil
	}
	if a.policy, err = policy.New(ctx, policyConfig(c)); err != nil {
		return err
	}
	a.policy.LogTo(a.log.Named("access"), a.clock)
	if err := a.openTokens(c.Security.Authentication.JWT); err != nil {
		return err
	}
	a.log.Info("requests need a credential", "policy", a.policy.Revision(), "rbac", c.Security.RBAC.Enabled)
	a.access = access.New(access.Options{
		Bound: func(name string) bool {
			return slices.ContainsFunc(a.config.Load().Security.RBAC.Bindings, func(b config.Binding) bool {
				return b.Subject.Type == "serviceAccount" && b.Subject.Name == name
			})
		},
		FitKey: func(spec core.APIKeySpec) ([]string, string) { return policyConfig(a.config.Load()).FitKey(spec) },
		MayGrant: func(ctx context.Context, p core.Principal) bool {
			if p.ScopesByDefault && !a.config.Load().Security.RBAC.Enabled {
				return false // a reload may have taken roles away
			}
			return a.policy.Decide(ctx, p, core.Access{Action: core.ActionGrant, Resource: "keys", Scope: core.ScopeAdmin}).Allowed
		},
		Origin: a.gate.Origin, Tokens: a.verifyToken(), Certificate: a.clientOf(), NoKeys: !c.Security.Authentication.APIKeys.Enabled,
		Attempt: func(method core.PrincipalKind, allowed bool) { a.metrics.Access.Attempt(string(method), allowed) },
		Older:   a.store.Older,
		Store:   a.store, Clock: a.clock, IDs: a.ids, Logger: a.log.Named("access"), Pepper: pepper,
		KnownRole: func(name string) bool { return a.config.Load().Security.RBAC.HasRole(name) },
		Changed:   func() { a.keyChanges.Add(1) },
		Sessions: &access.SessionOptions{
			Limits: a.sessionLimits, Scopes: a.sessionScopes, Secure: c.SecureCookies(), SSO: c.Security.SSO.Enabled, Issuer: c.Security.SSO.Client().Issuer,
		},
	})
	if err := a.openSignIn(c, pepper); err != nil {
		return err
	}
	if err := a.access.Open(ctx); err != nil {
		return err
	}
	if !c.Security.Authentication.APIKeys.Enabled {
		return nil
	}
	path := filepath.Join(c.Store.Path, adminKeyFile)
	ctx = core.WithAuditIntent(ctx, keyIntent("keys.create"))
	return a.access.CreateFirstKey(ctx, "admin", func(key string) error {
		if err := keepKey(path, key); err != nil {
			return fmt.Errorf("keep the first key in %s: %w", path, err)
		}
		a.log.Info("the first key was made; it may do everything", "file", path)
		return nil
	})
}

// keyIntent returns the audit record of a key change that no request asked for.
func keyIntent(action string) *core.AuditIntent {
	return &core.AuditIntent{
		AuditEntry: core.AuditEntry{
			Category: wire.AuditAdmin, Action: action, Outcome: wire.AuditSuccess, Resource: wire.AuditResource{Type: "keys"},
			Actor: wire.AuditActor{Type: string(core.PrincipalSystem), ID: core.System.ID},
		},
		IDPrefix: core.PrefixAPIKey,
	}
}

// keepKey writes a key to a file that only we can read. One that is there is of a start that did not get to its end.
func keepKey(path, key string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|noFollow, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(key + "\n")
	return errors.Join(err, f.Sync(), f.Close())
}

// withCertificate adds the certificate of the connection to what a way to authenticate finds: what is opened ends with it,
// whatever other credential was shown beside it. A request over one that was withdrawn, or has ended, is refused.
func (a *App) withCertificate(authenticate func(*http.Request) (core.Principal, error)) func(*http.Request) (core.Principal, error) {
	return func(r *http.Request) (core.Principal, error) {
		if a.withdrawn(r) {
			return core.Principal{}, errWithdrawn
		}
		p, err := authenticate(r)
		if err == nil {
			p.Certificates = cert.NumbersOf(r.TLS)
			p.Expires = sooner(p.Expires, cert.Ends(r.TLS))
		}
		return p, err
	}
}

// sooner returns the one of two ends that comes first; zero: there is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// guarded adds to the options of the API what decides who may do what.
func (a *App) guarded(o api.Options) api.Options {
	o.Limits = a.gate
	o.Parts, o.AuthenticateAgent = append(o.Parts, api.AgentTokens(a.agentTokens)), a.withCertificate(a.agentAuth.Authenticate)
	if a.access == nil {
		return o
	}
	o.Parts = append(o.Parts, api.Keys(a.access))
	o.SignIn = a.signInOptions()
	authenticate := a.withCertificate(a.access.Authenticate)
	o.Authenticate = func(r *http.Request) (core.Principal, error) {
		if p, ok := localPrincipal(r.Context()); ok { // who came by the admin socket has shown who it is
			return p, nil
		}
		return authenticate(r)
	}
	o.Authorize = a.authorize
	o.Decide = func(ctx context.Context, p core.Principal, access core.Access) core.Ruling {
		ruling, hidden := a.decide(ctx, p, access)
		if hidden && finderOf(access) != nil { // alike, so that it tells nothing of ids
			ruling.Allowed, ruling.Reason = false, "there is none of that id, or its pattern is not open to the caller"
		}
		return ruling
	}
	o.ReadsAll = func(ctx context.Context, p core.Principal, access core.Access) bool {
		return a.policy.AllowsAll(ctx, p, access, a.patterns.Guarded())
	}
	o.Refresh = a.refresh
	o.Revision = a.accessRevision
	return o
}
