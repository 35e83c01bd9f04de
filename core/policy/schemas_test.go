package policy_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/policy"
)

// A policy reaches nothing by schemas that refer to others, be they on the network or in files.
func TestSchemasReachNothing(t *testing.T) {
	var asked atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Store(true)
		_, _ = w.Write([]byte(`{"type":"object"}`))
	}))
	defer elsewhere.Close()
	secret := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(secret, []byte(`{"type":"object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]string{
		"Match": `json.match_schema({}, {"$ref": %q})[0]`, "Verify": `json.verify_schema({"$ref": %q})[0]`,
	} {
		for where, ref := range map[string]string{"Network": elsewhere.URL + "/schema.json", "File": "file://" + secret} {
			t.Run(name+where, func(t *testing.T) {
				dir := t.TempDir()
				text := "package wardroom.authz\n\ndecision := {\"allow\": true, \"reason\": \"by a schema\"} if {\n\tinput.scope in input.principal.scopes\n\t" +
					fmt.Sprintf(call, ref) + "\n}\n"
				if err := os.WriteFile(filepath.Join(dir, "authz.rego"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				e, err := policy.New(t.Context(), policy.Config{Dir: dir})
				if err == nil {
					r := e.Decide(t.Context(), core.Principal{ID: "ann", Scopes: []string{core.ScopeAdmin}}, core.Access{Action: "keys.create", Scope: core.ScopeAdmin})
					t.Errorf("it is taken, and decides %+v", r)
				}
				if asked.Load() {
					t.Error("it reached the network")
				}
			})
		}
	}
}
