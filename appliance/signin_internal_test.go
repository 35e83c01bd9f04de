package appliance

import (
	"slices"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/policy"
)

// While a reload that turns roles off is under way, the policy does without them before the configuration does: no one becomes an
// administrator meanwhile.
func TestSessionScopesWhileReloading(t *testing.T) {
	former := new(config.Config)
	former.Security.RBAC.Enabled, former.Security.RBAC.DefaultRole = true, "viewer"
	engine, err := policy.New(t.Context(), policyConfig(former))
	if err != nil {
		t.Fatal(err)
	}
	a := &App{policy: engine}
	a.config.Store(former)
	ann := core.Principal{Kind: core.PrincipalUser, ID: "ann", Name: "Ann"}
	if scopes, byDefault := a.sessionScopes(t.Context(), ann); byDefault || slices.Contains(scopes, core.ScopeAdmin) || !slices.Contains(scopes, core.ScopeExecutionsCreate) {
		t.Errorf("with roles: %q, %t", scopes, byDefault)
	}
	next := new(config.Config)
	if err := engine.Load(t.Context(), policyConfig(next)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*config.Config{former, next} {
		a.config.Store(c)
		if scopes, byDefault := a.sessionScopes(t.Context(), ann); !byDefault || !slices.Equal(scopes, []string{core.ScopeRead}) {
			t.Errorf("without roles: %q, %t", scopes, byDefault)
		}
	}
}
