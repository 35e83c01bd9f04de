package appliance

import (
	"slices"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/access"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/policy"
)

// What a person who signed in at the identity provider gave its content goes by what their roles are good for now: the scope admin,
// which opens allow-lists, goes with the role. Scopes of a token are its own.
func TestLaunchesOfFormerAdministrator(t *testing.T) {
	c := new(config.Config)
	c.Security.RBAC.Enabled, c.Security.RBAC.DefaultRole = true, "developer"
	c.Security.RBAC.Bindings = []config.Binding{{Subject: config.Subject{Type: "user", Name: "ann"}, Role: "admin"}}
	engine, err := policy.New(t.Context(), policyConfig(c))
	if err != nil {
		t.Fatal(err)
	}
	a := &App{policy: engine, access: access.New(access.Options{Clock: coretest.NewClock()})}
	a.config.Store(c)
	signedIn := core.Principal{Kind: core.PrincipalUser, ID: "ann", Name: "Ann", SessionID: "sess_1"}
	signedIn.Scopes, signedIn.ScopesByDefault = a.sessionScopes(t.Context(), signedIn)
	bearer := core.Principal{Kind: core.PrincipalUser, ID: "ann", Name: "Ann", Scopes: []string{core.ScopeAdmin}}
	scopes := func(p core.Principal) []string {
		t.Helper()
		now, err := launcher{a}.Principal(t.Context(), core.RecordOf(p))
		if err != nil {
			t.Fatal(err)
		}
		return now.Scopes
	}
	if got := scopes(signedIn); !slices.Equal(got, []string{core.ScopeAdmin}) {
		t.Errorf("an administrator has %q", got)
	}
	c.Security.RBAC.Bindings = nil
	if err := engine.Load(t.Context(), policyConfig(c)); err != nil {
		t.Fatal(err)
	}
	if got := scopes(signedIn); slices.Contains(got, core.ScopeAdmin) || !slices.Contains(got, core.ScopeExecutionsCreate) {
		t.Errorf("a former administrator has %q", got)
	}
	if got := scopes(bearer); !slices.Equal(got, []string{core.ScopeAdmin}) {
		t.Errorf("a token has %q", got)
	}
}
