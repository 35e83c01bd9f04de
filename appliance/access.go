package appliance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/access"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/policy"
	"github.com/wardroom/wardroom/core/store"
)

// adminKeyFile holds the first key, in the directory of the store.
const adminKeyFile = "admin.key"

// openAccess starts authentication and authorization, where the configuration enables them.
func (a *App) openAccess(ctx context.Context) error {
	c := a.config.Load()
	if !c.Security.Enabled() {
		return nil
	}
	pepper, err := sealKey(c.Store.Path, pepperFile)
	if err != nil {
		return err
	}
	if a.policy, err = policy.New(ctx, policyConfig(c)); err != nil {
		return err
	}
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
		Origin: a.gate.Origin, Tokens: a.verifyToken(), Certificate: a.clientOf(), NoKeys: !c.Security.Authentication.APIKeys.Enabled,
		Attempt: func(method core.PrincipalKind, allowed bool) { a.metrics.Access.Attempt(string(method), allowed) },
		Older:   a.store.Older,
		Store:   a.store, Clock: a.clock, IDs: a.ids, Logger: a.log.Named("access"), Pepper: pepper,
		KnownRole: func(name string) bool { return a.config.Load().Security.RBAC.HasRole(name) },
		Changed:   func() { a.keyChanges.Add(1) },
	})
	a.access.Open()
	a.wg.Add(1)
	go func() {
		defer a.wg.Done()
		a.watchAccess(a.work)
	}()
	if !c.Security.Authentication.APIKeys.Enabled {
		return nil
	}
	path := filepath.Join(c.Store.Path, adminKeyFile)
	return a.access.CreateFirstKey(ctx, "admin", func(key string) error {
		if err := keepKey(path, key); err != nil {
			return fmt.Errorf("keep the first key in %s: %w", path, err)
		}
		a.log.Info("the first key was made; it may do everything", "file", path)
		return nil
	})
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

// guarded adds to the options of the API what decides who may do what.
func (a *App) guarded(o api.Options) api.Options {
	o.Limits = a.gate
	if a.access == nil {
		return o
	}
	o.Keys = a.access
	o.Authenticate = a.access.Authenticate
	o.Authorize = a.authorize
	o.Decide = func(ctx context.Context, p core.Principal, access core.Access) core.Ruling {
		ruling, hidden := a.decide(ctx, p, access)
		if hidden && kindOf(access) != "" || ruling.Allowed && !a.exists(ctx, access) { // alike, so that it tells nothing of ids
			ruling.Allowed, ruling.Reason = false, "there is none of that id, or its pattern is not open to the caller"
		}
		return ruling
	}
	o.Refresh = a.access.Refresh
	o.Revision = a.accessRevision
	return o
}

// OfflineKeys hands fn the keys in the directory of a store that no server has open, on behalf of who owns it. CONFLICT
// when one has.
func OfflineKeys(ctx context.Context, dir string, fn func(ctx context.Context, keys core.KeyService) error) (err error) {
	s, err := store.Open(ctx, store.Options{Path: dir})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	pepper, err := sealKey(dir, pepperFile)
	if err != nil {
		return err
	}
	newest, err := s.NewestTime(ctx)
	if err != nil {
		return err
	}
	clock := newClock()
	ids := core.NewIDs(clock)
	ids.NotBefore(newest)
	keys := access.New(access.Options{Store: s, Clock: clock, IDs: ids, Logger: hclog.NewNullLogger(), Pepper: pepper})
	return fn(core.WithPrincipal(ctx, core.System), keys)
}
