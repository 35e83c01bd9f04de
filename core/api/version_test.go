package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

// Where callers prove who they are, only those who did learn the version.
func TestVersionIsForThoseWhoSignedIn(t *testing.T) {
	r := newRig(t, func(o *api.Options) {
		o.Authenticate = func(r *http.Request) (core.Principal, error) {
			if r.Header.Get("Authorization") == "" {
				return core.Principal{}, core.Errorf(core.CodeUnauthorized, "a credential is required")
			}
			return core.Principal{Kind: core.PrincipalAPIKey, ID: "ann", Scopes: []string{core.ScopeRead}}, nil
		}
	})
	for _, path := range []string{"/api/patterns", "/api/health/live", "/api/openapi.json", "/api/nothing", "/api/metrics"} {
		p := r.do("GET", path, "")
		if got := p.header.Get("X-Service-Version"); got != "" || strings.Contains(p.text, "1.2.3") {
			t.Errorf("%s tells a stranger the version: %q, %s", path, got, p.text)
		}
	}
	if p := r.do("GET", "/api/patterns", "", "Authorization: Bearer x"); p.header.Get("X-Service-Version") != "1.2.3" {
		t.Errorf("answered %d, %v", p.status, p.header)
	}
}
