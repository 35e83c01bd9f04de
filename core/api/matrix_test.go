package api_test

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

// guarded is a rig whose callers name their scopes as their key, and may do what those cover.
func guarded(t *testing.T, change ...func(*api.Options)) *rig {
	return newRig(t, append(change, guard)...)
}

func guard(o *api.Options) {
	o.Authenticate = func(r *http.Request) (core.Principal, error) {
		token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !ok {
			return core.Principal{}, &core.Error{Code: core.CodeUnauthorized, Message: "no", Details: map[string]any{"reason": "missing"}}
		}
		return core.Principal{Kind: core.PrincipalAPIKey, ID: "ann", Scopes: strings.Split(token, ",")}, nil
	}
	o.Authorize = func(_ context.Context, p core.Principal, a api.Access) error {
		if !core.Grants(p.Scopes, a.Scope) {
			return core.Forbidden(a.Action, a.Scope, "no")
		}
		return nil
	}
}

// Every operation of the table, called with each scope: what needs no scope is open, without a credential the rest is 401,
// without the scope it is 403 before anything else about the request is looked at, and with it it is neither.
func TestScopeMatrix(t *testing.T) {
	r := guarded(t)
	cells := 0
	for path, item := range document(t, r)["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			op := op.(map[string]any)
			scope, _ := op["x-scope"].(string)
			public := op["security"] != nil && len(op["security"].([]any)) == 0
			if scope == "" || op["x-action"] == "" {
				t.Errorf("%s %s has no scope or action", method, path)
			}
			if !public && scope != core.ScopeAny {
				if got := op["security"].([]any)[0].(map[string]any)["bearer"].([]any); len(got) != 1 || got[0] != scope {
					t.Errorf("%s %s: the document names the scopes %v, want %s", method, path, got, scope)
				}
			}
			target := filled(path)
			do := func(token string) int {
				req, err := http.NewRequestWithContext(t.Context(), strings.ToUpper(method), r.http.URL+target+"?thereIsNoSuchParameter=1", strings.NewReader("no json"))
				if err != nil {
					t.Fatal(err)
				}
				if token != "" {
					req.Header.Set("Authorization", "Bearer "+token)
				}
				// A plain client: these requests are wrong on purpose.
				resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				cells++
				return resp.StatusCode
			}
			if got := do(""); (got == 401) == public {
				t.Errorf("%s %s without a credential: %d", method, path, got)
			}
			for _, have := range core.Scopes {
				allowed := public || core.Grants([]string{have}, scope)
				if got := do(have); (got == 403) == allowed || got == 401 {
					t.Errorf("%s %s with %s: %d", method, path, have, got)
				}
			}
		}
	}
	t.Logf("%d cells", cells)
}

// filled returns a path with something in the place of its parameters: an id of an execution where one is looked at as such.
func filled(path string) string {
	return parameter.ReplaceAllString(strings.ReplaceAll(path, "{executionId}", execID), "x")
}

var parameter = regexp.MustCompile(`\{[^}]*\}`)

var update = flag.Bool("update", false, "write the table of docs/security.md anew")

// The table of docs/security.md is that of the routes.
func TestSecurityDoc(t *testing.T) {
	var rows []string
	for path, item := range document(t, newRig(t))["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			op := op.(map[string]any)
			scope := fmt.Sprint("`", op["x-scope"], "`")
			if security := op["security"].([]any); len(security) == 0 {
				scope = "none"
			} else if op["x-scope"] == core.ScopeAny {
				scope = "any"
			}
			rows = append(rows, fmt.Sprintf("| `%s` | %s | `%s` | %s |\n", path, strings.ToUpper(method), op["x-action"], scope))
		}
	}
	slices.Sort(rows)
	const name, mark = "../../docs/security.md", "-update` -->\n"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, _, found := strings.Cut(string(text), mark)
	want := before + mark + "\n| Path | Method | Action | Scope |\n|---|---|---|---|\n" + strings.Join(rows, "")
	if !found || string(text) == want {
		return
	}
	if !*update {
		t.Fatal("the table in docs/security.md is not that of the routes; run the test with -update")
	}
	if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Each action has one scope, wherever it is asked for, and what people are told they may do is what they may.
func TestActions(t *testing.T) {
	r := guarded(t)
	known := map[string]string{}
	for _, a := range r.server.Actions() {
		if a.Resource == "" || a.Scope != core.ScopeAny && !core.Grants([]string{core.ScopeAdmin}, a.Scope) {
			t.Errorf("%+v", a)
		}
		known[a.Action] = a.Scope
	}
	for _, inner := range []string{"agents.input", "threads.provision", "workspaces.force"} {
		if known[inner] == "" {
			t.Errorf("%s is not listed", inner)
		}
	}
	for path, item := range document(t, r)["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			op := op.(map[string]any)
			if scope, listed := known[op["x-action"].(string)]; listed && scope != op["x-scope"] {
				t.Errorf("%s %s: %v needs %v here and %s elsewhere", method, path, op["x-action"], op["x-scope"], scope)
			}
		}
	}
}

// A stream ends once its caller lost the right to it, for whatever reason, and others go on.
func TestWithdrawnStream(t *testing.T) {
	revision, revoked, hidden, away := uint64(1), map[string]bool{}, map[string]bool{}, false
	allowed := map[string]bool{"ann": true, "bob": true, "eve": true, "joe": true, "kim": true}
	r := newRig(t, func(o *api.Options) {
		o.Authenticate = func(r *http.Request) (core.Principal, error) {
			return core.Principal{Kind: core.PrincipalAPIKey, ID: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}, nil
		}
		o.Authorize = func(_ context.Context, p core.Principal, a api.Access) error {
			if !allowed[p.ID] {
				return core.Forbidden(a.Action, a.Scope, "no")
			}
			if hidden[p.ID] {
				return core.NotFound("execution", a.ID)
			}
			return nil
		}
		o.Refresh = func(_ context.Context, p core.Principal) (core.Principal, error) {
			if away {
				return p, core.Unavailable("store_failed", "the store does not answer")
			}
			if revoked[p.ID] {
				return p, core.Errorf(core.CodeUnauthorized, "revoked")
			}
			return p, nil
		}
		o.Revision = func() uint64 { return revision }
	})
	r.executions.stream = func(context.Context, string, uint64) (core.EventStream, error) { return &waitingStream{}, nil }
	open := func(who string) <-chan struct{} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", r.http.URL+"/api/executions/"+execID+"/stream", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+who)
		resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%v %v", resp, err)
		}
		over := make(chan struct{})
		go func() {
			defer close(over)
			defer resp.Body.Close()
			buf := make([]byte, 512)
			for {
				if _, err := resp.Body.Read(buf); err != nil {
					return
				}
			}
		}()
		return over
	}
	ann, bob, eve, joe, kim := open("ann"), open("bob"), open("eve"), open("joe"), open("kim")
	r.server.Recheck(t.Context())
	revoked["ann"], revision = true, 2
	r.server.Recheck(t.Context())
	<-ann
	allowed["bob"], revision = false, 3
	r.server.Recheck(t.Context())
	<-bob
	hidden["joe"], revision = true, 4 // by the allow-list of the pattern
	r.server.Recheck(t.Context())
	<-joe
	select {
	case <-eve:
		t.Error("the stream of another ended")
	default:
	}
	revoked["eve"], revision, away = true, 5, true
	r.server.Recheck(t.Context())
	away = false // what could not be found out is asked again
	r.server.Recheck(t.Context())
	<-eve
	select {
	case <-kim:
		t.Error("the stream of another ended")
	default:
	}
}

// waitingStream has no events.
type waitingStream struct{}

func (waitingStream) Next(ctx context.Context) (core.Event, error) {
	<-ctx.Done()
	return core.Event{}, ctx.Err()
}
func (waitingStream) Close() {}

// switchedKeys are the API keys of a rig, which a test may replace.
type switchedKeys struct{ core.KeyService }

// fakeAPIKeys knows no key.
type fakeAPIKeys struct{}

func (*fakeAPIKeys) CreateKey(_ context.Context, spec core.APIKeySpec) (*core.NewAPIKey, error) {
	return nil, core.Conflict("key", "key_1", "active", "the name %q is taken", spec.Name)
}
func (*fakeAPIKeys) FindKeys(context.Context, core.APIKeyFilter) ([]*core.APIKey, core.PageInfo, error) {
	return nil, core.PageInfo{}, nil
}
func (*fakeAPIKeys) FindKey(_ context.Context, id string) (*core.APIKey, error) {
	return nil, core.NotFound("key", id)
}
func (*fakeAPIKeys) RotateKey(_ context.Context, id string, _ time.Duration) (*core.NewAPIKey, error) {
	return nil, core.NotFound("key", id)
}
func (*fakeAPIKeys) RevokeKey(_ context.Context, id string) error { return core.NotFound("key", id) }

// fakeAgentTokens knows no token.
type fakeAgentTokens struct{}

func (*fakeAgentTokens) CreateAgentToken(_ context.Context, spec core.AgentTokenSpec) (*core.NewAgentToken, error) {
	return &core.NewAgentToken{AgentToken: core.AgentToken{ID: "atok_1", Capabilities: spec.Capabilities, Status: "active"}, Token: "wra_1"}, nil
}

func (*fakeAgentTokens) FindAgentTokens(context.Context, core.AgentTokenFilter) ([]*core.AgentToken, core.PageInfo, error) {
	return nil, core.PageInfo{}, nil
}

func (*fakeAgentTokens) FindAgentToken(_ context.Context, id string) (*core.AgentToken, error) {
	return nil, core.NotFound("agent token", id)
}

func (*fakeAgentTokens) RevokeAgentToken(_ context.Context, id string) error {
	return core.NotFound("agent token", id)
}
