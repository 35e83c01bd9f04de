package appliance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/access"
	"github.com/wardroom/wardroom/core/cert"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/store"
)

// openAgentAuth makes what finds out which agent connects. Registration tokens count whether security is configured or not:
// only what else does depends on that.
func (a *App) openAgentAuth(pepper [32]byte) {
	c := &a.config.Load().Security
	a.agentTokens = access.NewAgentTokens(access.TokenOptions{
		Store: a.store, Clock: a.clock, IDs: a.ids, Logger: a.log.Named("access"), Pepper: pepper, Older: a.store.Older,
		Changed: func() { a.keyChanges.Add(1) },
	})
	o := access.AgentOptions{
		Tokens: a.agentTokens, Clock: a.clock, Logger: a.log.Named("access"), Method: access.AgentByToken, Origin: a.gate.Origin,
		Attempt: func(method core.PrincipalKind, allowed bool) { a.metrics.Access.Attempt(string(method), allowed) },
	}
	if c.AgentAuth.Method != "" {
		o.Method, o.Required = access.AgentMethod(c.AgentAuth.Method), c.AgentAuth.Token.RegistrationRequired
		a.log.Info("agents need a credential of their own", "method", c.AgentAuth.Method)
	}
	if a.access != nil {
		o.Others = a.access.Authenticate
	}
	by := cert.Name(c.MTLS.Identity)
	o.Certificate = func(r *http.Request) (core.Principal, bool) {
		who, ok := cert.IdentityOf(r.TLS, by)
		if !ok || core.IsReserved(who.Name) || a.withdrawn(r) {
			return core.Principal{}, false
		}
		return core.Principal{
			Kind: core.PrincipalClient, ID: who.Name, Name: who.Name, Groups: who.Groups, Expires: r.TLS.PeerCertificates[0].NotAfter,
			Certificates: cert.NumbersOf(r.TLS),
		}, true
	}
	a.agentAuth = access.NewAgentAuth(o)
}

// refresh returns a principal as it is now; UNAUTHORIZED when its credential is over.
func (a *App) refresh(ctx context.Context, p core.Principal) (core.Principal, error) {
	source := a.certificates.Load()
	switch {
	case !p.Expires.IsZero() && !a.clock.Now().Before(p.Expires), source != nil && source.Withdrawn(p.Certificates):
		return p, errWithdrawn
	case p.Kind == core.PrincipalAgent:
		return p, a.agentTokens.Refresh(ctx, p)
	case a.access == nil:
		return p, nil
	}
	refreshed, err := a.access.Refresh(ctx, p)
	// Those are of the connection, which a key or session knows nothing of.
	refreshed.Certificates, refreshed.Expires = p.Certificates, sooner(refreshed.Expires, p.Expires)
	return refreshed, err
}

// errWithdrawn refuses a certificate that its CA withdrew, or that has ended.
var errWithdrawn = &core.Error{
	Code: core.CodeUnauthorized, Message: "the credential is not valid", Details: map[string]any{"reason": "invalid"},
}

// withdrawn reports whether the certificate of a request's connection has ended or was withdrawn since it was opened.
func (a *App) withdrawn(r *http.Request) bool {
	source := a.certificates.Load()
	return source != nil && r.TLS != nil && source.Check(r.TLS) != nil
}

// purgeTokensEvery is how often registration tokens that are over are looked for.
const purgeTokensEvery = time.Hour

// pepper returns the key under which keys and tokens are hashed. It returns CONFLICT when the key is gone while hashes made
// with it remain: with another key every credential would be refused.
func pepper(ctx context.Context, s *store.Store, dir string, now time.Time) (key [32]byte, err error) {
	path := filepath.Join(dir, pepperFile)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		needed, err := pepperNeeded(ctx, s, now)
		if err != nil {
			return key, err
		}
		if needed != "" {
			return key, core.Errorf(core.CodeConflict, "%s is gone, and without it no key is valid, such as %s: put the file back from where the store "+
				"came from, or give up all keys and agent tokens with `wardroom auth reset --config FILE`", path, needed)
		}
	}
	return sealKey(dir, pepperFile)
}

// pepperNeeded returns a key or token that is not over, or "".
func pepperNeeded(ctx context.Context, s *store.Store, now time.Time) (id string, err error) {
	for page := (core.Page{Limit: core.MaxPageLimit}); ; {
		list, info, err := s.FindAPIKeys(ctx, core.APIKeyFilter{Page: page})
		if err != nil {
			return "", err
		}
		for _, k := range list {
			if k.RevokedAt == nil && (k.ExpiresAt == nil || now.Before(*k.ExpiresAt)) {
				return k.ID, nil
			}
		}
		if page.Cursor = info.NextCursor; page.Cursor == "" {
			break
		}
	}
	for page := (core.Page{Limit: core.MaxPageLimit}); ; {
		list, info, err := s.FindAgentTokens(ctx, core.AgentTokenFilter{Page: page})
		if err != nil {
			return "", err
		}
		for _, t := range list {
			if t.RevokedAt == nil {
				return t.ID, nil
			}
		}
		if page.Cursor = info.NextCursor; page.Cursor == "" {
			return "", nil
		}
	}
}

// offline opens the store of a server that does not run, for fn. CONFLICT when a server has it open.
func offline(ctx context.Context, at store.Location, fn func(ctx context.Context, s *store.Store, clock core.Clock, ids core.IDs) error) (err error) {
	if err := os.MkdirAll(at.Path, 0o700); err != nil { // before the first start it may not be there
		return fmt.Errorf("make the directory of the store: %w", err)
	}
	recorded, err := offlineAudit(at.Path, true)
	if err != nil {
		return err
	}
	s, err := store.Open(ctx, store.Options{Path: at.Path, Encryption: at.Encryption, Audit: func(ctx context.Context, tx core.AuditTx) error {
		if tx.AuditHead().Sequence == 0 {
			return nil // nothing was ever recorded here
		}
		return recorded.Hook(ctx, tx)
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	recorded.Open(s, nil)
	defer recorded.Close()
	newest, err := s.NewestTime(ctx)
	if err != nil {
		return err
	}
	clock := newClock()
	ids := core.NewIDs(clock)
	ids.NotBefore(newest)
	return fn(core.WithAuditIntent(core.WithPrincipal(ctx, core.System), keyIntent("keys.change")), s, clock, ids)
}

// OfflineKeys hands fn the keys in the directory of a store that no server has open, on behalf of who owns it. CONFLICT
// when one has. Roles of keys that are made are as the configuration has them.
func OfflineKeys(ctx context.Context, c *config.Config, at store.Location, fn func(ctx context.Context, keys core.KeyService) error) error {
	return offline(ctx, at, func(ctx context.Context, s *store.Store, clock core.Clock, ids core.IDs) error {
		pepper, err := pepper(ctx, s, at.Path, clock.Now())
		if err != nil {
			return err
		}
		return fn(ctx, access.New(access.Options{
			Store: s, Clock: clock, IDs: ids, Logger: hclog.NewNullLogger(), Pepper: pepper, KnownRole: c.Security.RBAC.HasRole, FitKey: policyConfig(c).FitKey,
		}))
	})
}

// OfflineAgentTokens is OfflineKeys for the registration tokens of agents.
func OfflineAgentTokens(ctx context.Context, at store.Location, fn func(ctx context.Context, tokens core.AgentTokenService) error) error {
	return offline(ctx, at, func(ctx context.Context, s *store.Store, clock core.Clock, ids core.IDs) error {
		pepper, err := pepper(ctx, s, at.Path, clock.Now())
		if err != nil {
			return err
		}
		return fn(ctx, access.NewAgentTokens(access.TokenOptions{Store: s, Clock: clock, IDs: ids, Pepper: pepper}))
	})
}

// ResetKeys forgets all keys and registration tokens in the directory of a store that no server has open, so that the next
// start makes a first key. It returns how many there were.
func ResetKeys(ctx context.Context, at store.Location) (count int, err error) {
	err = offline(ctx, at, func(ctx context.Context, s *store.Store, _ core.Clock, _ core.IDs) error {
		for {
			keys, _, err := s.FindAPIKeys(ctx, core.APIKeyFilter{Page: core.Page{Limit: core.MaxPageLimit}})
			if err != nil {
				return err
			}
			tokens, _, err := s.FindAgentTokens(ctx, core.AgentTokenFilter{Page: core.Page{Limit: core.MaxPageLimit}})
			if err != nil {
				return err
			}
			if len(keys)+len(tokens) == 0 {
				return nil
			}
			err = s.Update(ctx, func(tx core.Tx) error {
				var errs []error
				for _, k := range keys {
					errs = append(errs, tx.DeleteAPIKey(k.ID))
				}
				for _, t := range tokens {
					errs = append(errs, tx.DeleteAgentToken(t.ID))
				}
				return errors.Join(errs...)
			})
			if err != nil {
				return err
			}
			count += len(keys) + len(tokens)
		}
	})
	return count, err
}
