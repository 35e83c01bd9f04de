package policy_test

import (
	"slices"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/policy"
)

// A key that has no role gets the least that grants its scopes; where it has one, what that leaves of the scopes shows.
func TestFitKey(t *testing.T) {
	c := policy.Config{
		RBAC: true, DefaultRole: "viewer", Roles: map[string][]string{"runner": {"executions:create", "executions:read"}},
		Bindings: []policy.Binding{{"user", "ann", "viewer"}, {"serviceAccount", "ci", "developer"}, {"user", "run", "runner"}},
	}
	strict, open := c, c
	strict.DefaultRole, open.RBAC = "", false
	for name, k := range map[string]struct {
		config  policy.Config
		spec    core.APIKeySpec
		lacking []string
		role    string
	}{
		"reading":                     {config: c, spec: core.APIKeySpec{Scopes: []string{"read"}}},
		"executing":                   {config: c, spec: core.APIKeySpec{Scopes: []string{"read", "execute"}}, lacking: []string{"execute"}, role: "developer"},
		"cancelling":                  {config: c, spec: core.APIKeySpec{Scopes: []string{"executions:create"}}, lacking: []string{"executions:create"}, role: "developer"},
		"writing patterns":            {config: c, spec: core.APIKeySpec{Scopes: []string{"patterns:write"}}, lacking: []string{"patterns:write"}, role: "developer"},
		"deleting patterns":           {config: c, spec: core.APIKeySpec{Scopes: []string{"patterns:delete"}}, lacking: []string{"patterns:delete"}, role: "operator"},
		"agents":                      {config: c, spec: core.APIKeySpec{Scopes: []string{"agents:manage"}}, lacking: []string{"agents:manage"}, role: "operator"},
		"the trail":                   {config: c, spec: core.APIKeySpec{Scopes: []string{"audit:read"}}, lacking: []string{"audit:read"}, role: "admin"},
		"in clear":                    {config: c, spec: core.APIKeySpec{Scopes: []string{"read", "data:unmasked"}}, lacking: []string{"data:unmasked"}, role: "admin"},
		"everything":                  {config: c, spec: core.APIKeySpec{Scopes: []string{"admin"}}, lacking: []string{"admin"}, role: "admin"},
		"a role too small":            {config: c, spec: core.APIKeySpec{Scopes: []string{"read", "execute"}, Roles: []string{"viewer"}}, lacking: []string{"execute"}},
		"a role that does":            {config: c, spec: core.APIKeySpec{Scopes: []string{"execute"}, Roles: []string{"operator"}}},
		"an owner with a role":        {config: c, spec: core.APIKeySpec{Name: "x", Owner: "ann", Scopes: []string{"execute"}}, lacking: []string{"execute"}},
		"a name with a role":          {config: c, spec: core.APIKeySpec{Name: "ci", Owner: "ann", Scopes: []string{"execute"}}},
		"a role that cannot cancel":   {config: c, spec: core.APIKeySpec{Owner: "run", Scopes: []string{"execute"}}, lacking: []string{"execute"}},
		"nothing without a role":      {config: strict, spec: core.APIKeySpec{Scopes: []string{"read"}}, lacking: []string{"read"}},
		"roles that nobody asked for": {config: open, spec: core.APIKeySpec{Scopes: []string{"admin"}}},
	} {
		if lacking, role := k.config.FitKey(k.spec); !slices.Equal(lacking, k.lacking) || role != k.role {
			t.Errorf("%s: %v, %q", name, lacking, role)
		}
	}
}
