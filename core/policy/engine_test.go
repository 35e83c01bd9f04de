package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/policy"
)

func mustNew(tb testing.TB, c policy.Config) *policy.Engine {
	tb.Helper()
	e, err := policy.New(tb.Context(), c)
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

func key(id string, scopes ...string) core.Principal {
	return core.Principal{Kind: core.PrincipalAPIKey, ID: id, Name: id, KeyID: "key_" + id, Scopes: scopes}
}

var (
	readPattern  = core.Access{Action: "patterns.read", Resource: "patterns", Scope: core.ScopePatternsRead}
	writePattern = core.Access{Action: "patterns.create", Resource: "patterns", Scope: core.ScopePatternsWrite}
	execute      = core.Access{Action: "executions.create", Resource: "executions", Scope: core.ScopeExecutionsCreate}
	cancel       = core.Access{Action: "executions.cancel", Resource: "executions", Scope: core.ScopeExecutionsCreate}
	readExec     = core.Access{Action: "executions.read", Resource: "executions", Scope: core.ScopeExecutionsRead}
	stopAgent    = core.Access{Action: "agents.stop", Resource: "agents", Scope: core.ScopeAgentsManage}
	keys         = core.Access{Action: "keys.create", Resource: "keys", Scope: core.ScopeAdmin}
	session      = core.Access{Action: "session.read", Resource: "session", Scope: core.ScopeAny}
)

// Each role allows what the interface says, and no scope gets past it.
func TestRoles(t *testing.T) {
	e := mustNew(t, policy.Config{
		RBAC: true, DefaultRole: "viewer",
		Roles: map[string][]string{"runner": {"patterns:read", "executions:create"}},
		Bindings: []policy.Binding{
			{"user", "op", "operator"}, {"user", "dev", "developer"}, {"serviceAccount", "boss", "admin"}, {"user", "run", "runner"}, {"group", "ops", "operator"},
		},
	})
	all := []core.Access{readPattern, writePattern, execute, cancel, readExec, stopAgent, keys, session}
	for who, want := range map[string][]core.Access{
		"boss": all, "op": {readPattern, writePattern, execute, cancel, readExec, stopAgent, session},
		"dev": {readPattern, writePattern, execute, cancel, readExec, session}, "viewer": {readPattern, readExec, session},
		"run": {readPattern, execute, session},
	} {
		for _, a := range all {
			r := e.Decide(t.Context(), key(who, core.ScopeAdmin), a)
			if r.Allowed != slices.Contains(want, a) || r.Reason == "" || r.Revision != e.Revision() {
				t.Errorf("%s %s: %+v", who, a.Action, r)
			}
			// Without the scope nobody may.
			if a != session && e.Decide(t.Context(), key(who, "agents:read"), a).Allowed {
				t.Errorf("%s %s: allowed without its scope", who, a.Action)
			}
		}
	}
	group := key("somebody", core.ScopeAdmin)
	group.Groups = []string{"ops"}
	if !e.Decide(t.Context(), group, stopAgent).Allowed {
		t.Error("a group has no role")
	}
	carried := key("somebody", core.ScopeAdmin)
	carried.Roles = []string{"admin"}
	if !e.Decide(t.Context(), carried, keys).Allowed {
		t.Error("the role of a credential does not count")
	}
}

func TestScopesAlone(t *testing.T) {
	e := mustNew(t, policy.Config{DefaultRole: "viewer"})
	for _, tt := range []struct {
		scope string
		want  []core.Access
	}{
		{core.ScopeAdmin, []core.Access{readPattern, writePattern, execute, cancel, readExec, stopAgent, keys}},
		{core.ScopeRead, []core.Access{readPattern, readExec}}, {core.ScopeExecute, []core.Access{execute, cancel, readExec}},
		{core.ScopePatternsWrite, []core.Access{writePattern}}, {core.ScopeAgentsManage, []core.Access{stopAgent}}, {"any", nil}, {"", nil},
	} {
		for _, a := range []core.Access{readPattern, writePattern, execute, cancel, readExec, stopAgent, keys} {
			if r := e.Decide(t.Context(), key("a", tt.scope), a); r.Allowed != slices.Contains(tt.want, a) || !r.Allowed && r.Scope != a.Scope {
				t.Errorf("%s %s: %+v", tt.scope, a.Action, r)
			}
		}
	}
}

func TestGuard(t *testing.T) {
	e := mustNew(t, policy.Config{RBAC: true, Bindings: []policy.Binding{{"user", "op", "operator"}, {"user", "ann", "viewer"}, {"user", "bob", "viewer"}}})
	guarded := readExec
	guarded.Guard = &core.Guard{Users: []string{"ann"}, Roles: []string{"operator"}}
	for who, want := range map[string]bool{"ann": true, "op": true, "bob": false} {
		if r := e.Decide(t.Context(), key(who, core.ScopeRead), guarded); r.Allowed != want {
			t.Errorf("%s: %+v", who, r)
		}
	}
	guarded.Owner = "bob"
	if r := e.Decide(t.Context(), key("bob", core.ScopeRead), guarded); !r.Allowed {
		t.Errorf("its owner: %+v", r)
	}
	guarded.Owner = "carl"
	if r := e.Decide(t.Context(), key("bob", core.ScopeRead), guarded); r.Allowed {
		t.Error("the answer for another owner was taken from the cache")
	}
}

// The built-in policy passes its own tests.
func TestBuiltInTests(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"authz.rego", "authz_test.rego"} {
		text, err := os.ReadFile(filepath.Join("rego", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	mustNew(t, policy.Config{Dir: dir})
}

// A pipe among the files is refused, and not waited for.
func TestPipe(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(dir, "a.rego"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := policy.New(t.Context(), policy.Config{Dir: dir}); err == nil || !strings.Contains(err.Error(), "it is no file") {
		t.Errorf("got %v", err)
	}
}

// A broken policy leaves the one before in force, and says where it is wrong.
func TestBrokenPolicies(t *testing.T) {
	good := policy.BuiltIn()
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"Syntax":  {map[string]string{"a.rego": "package wardroom.authz\n\nallow {"}, "a.rego"},
		"Unknown": {map[string]string{"a.rego": strings.Replace(good, "input.scope ==", "input_scope ==", 1)}, "input_scope"},
		"Network": {map[string]string{"a.rego": good + "\nx := http.send({\"url\": \"http://x\"})\n"}, "http.send"},
		"Runtime": {map[string]string{"a.rego": good + "\nx := opa.runtime()\n"}, "opa.runtime"},
		"Time":    {map[string]string{"a.rego": good + "\nx := time.now_ns()\n"}, "time.now_ns"},
		"FailedTest": {map[string]string{"a.rego": good, "a_test.rego": "package t\n\ntest_no if data.wardroom.authz.decision.allow with input as {\"scope\": \"admin\", \"action\": \"x\", \"principal\": {\"scopes\": []}}\n"},
			"test_no"},
		"LocksOut": {map[string]string{"a.rego": "package wardroom.authz\n\ndecision := {\"allow\": false}\n"}, "administrator"},
		"LetsIn":   {map[string]string{"a.rego": "package wardroom.authz\n\ndecision := {\"allow\": true}\n"}, "without scopes"},
		"NoRule":   {map[string]string{"a.rego": "package other\n\nx := 1\n"}, ""},
		"Empty":    {nil, "no *.rego"},
	} {
		t.Run(name, func(t *testing.T) {
			e := mustNew(t, policy.Config{})
			before := e.Revision()
			dir := t.TempDir()
			for file, text := range tt.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := e.Load(t.Context(), policy.Config{Dir: dir})
			if core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if e.Revision() != before || e.Loads() != 1 || !e.Decide(t.Context(), key("a", core.ScopeAdmin), keys).Allowed {
				t.Error("the policy before is not in force any more")
			}
		})
	}
}

// An operator's policy replaces the built-in one, and cached answers go with the one before.
func TestOwnPolicy(t *testing.T) {
	e := mustNew(t, policy.Config{})
	mine, other := readExec, readExec
	mine.ID, mine.Owner = "exec_1", "ann"
	other.ID, other.Owner = "exec_2", "bob"
	ann := key("ann", core.ScopeRead)
	for _, a := range []core.Access{mine, other} {
		if !e.Decide(t.Context(), ann, a).Allowed {
			t.Fatal("refused before")
		}
	}
	dir := t.TempDir()
	own := "package wardroom.authz\n\ndefault decision := {\"allow\": false, \"reason\": \"no\"}\n\n" +
		"decision := {\"allow\": true} if {\n\tinput.scope in input.principal.scopes\n\tinput.owner in {\"\", input.principal.id}\n}\n"
	if err := os.WriteFile(filepath.Join(dir, "own.rego"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	before := e.Revision()
	if err := e.Load(t.Context(), policy.Config{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if e.Revision() == before || !e.Decide(t.Context(), ann, mine).Allowed || e.Decide(t.Context(), ann, other).Allowed {
		t.Errorf("own %+v, other %+v", e.Decide(t.Context(), ann, mine), e.Decide(t.Context(), ann, other))
	}
}

// A policy that takes too long refuses, and the next question is asked anew.
func TestSlowPolicy(t *testing.T) {
	dir := t.TempDir()
	slow := policy.BuiltIn() + "\nslow if {\n\tinput.action == \"slow.read\"\n\tsome x in numbers.range(1, 100000)\n\tsome y in numbers.range(1, 100000)\n\tx + y == 0\n}\n\nscope_allows if slow\n"
	if err := os.WriteFile(filepath.Join(dir, "slow.rego"), []byte(slow), 0o600); err != nil {
		t.Fatal(err)
	}
	e := mustNew(t, policy.Config{Dir: dir})
	began := time.Now()
	r := e.Decide(t.Context(), key("a", "read"), core.Access{Action: "slow.read", Scope: "admin"})
	if r.Allowed || !strings.Contains(r.Reason, "in time") || time.Since(began) > 10*time.Second {
		t.Errorf("%+v after %s", r, time.Since(began))
	}
}

// Texts of callers cannot be mistaken for one another in the cache.
func TestCacheKeepsApart(t *testing.T) {
	e := mustNew(t, policy.Config{RBAC: true, Bindings: []policy.Binding{{"user", "a", "admin"}}})
	for _, p := range []core.Principal{
		{Kind: core.PrincipalUser, ID: "a", Name: "b\x00c", Scopes: []string{"admin"}}, {Kind: core.PrincipalUser, ID: "a\x00b", Name: "c", Scopes: []string{"admin"}},
		{Kind: core.PrincipalUser, ID: "x", Groups: []string{"admin"}, Scopes: nil}, {Kind: core.PrincipalUser, ID: "x", Roles: []string{"admin"}, Scopes: nil},
	} {
		if want := p.ID == "a"; e.Decide(t.Context(), p, keys).Allowed != want {
			t.Errorf("%+v: allowed is %v", p, !want)
		}
	}
}

// Bindings are for users by id, groups of the credential and names of API keys; the name of any other credential is not
// given by us. A policy sees all roles together, each once.
func TestHeld(t *testing.T) {
	dir := t.TempDir()
	const rules = "package wardroom.authz\n\ndecision := {\"allow\": allowed, \"reason\": concat(\",\", input.principal.held)}\n\n" +
		"default allowed := false\n\nallowed if \"admin\" in input.principal.scopes\n"
	if err := os.WriteFile(filepath.Join(dir, "a.rego"), []byte(rules), 0o600); err != nil {
		t.Fatal(err)
	}
	e := mustNew(t, policy.Config{RBAC: true, Dir: dir, Bindings: []policy.Binding{
		{"user", "ann", "viewer"}, {"user", "ann", "operator"}, {"group", "ops", "operator"}, {"serviceAccount", "ci", "admin"},
	}})
	for want, p := range map[string]core.Principal{
		"":                       {Kind: core.PrincipalUser, ID: "ops", Name: "ci"},
		"operator,viewer":        {Kind: core.PrincipalUser, ID: "ann", Name: "ci", Groups: []string{"ops", "ann"}},
		"admin":                  {Kind: core.PrincipalAPIKey, ID: "bob", Name: "ci"},
		"admin,operator,pilot,x": {Kind: core.PrincipalAPIKey, ID: "bob", Name: "ci", Groups: []string{"ops"}, Roles: []string{"x", "pilot"}},
	} {
		if got := e.Decide(t.Context(), p, readExec).Reason; got != want {
			t.Errorf("%+v holds %q, want %q", p, got, want)
		}
	}
}

// large is a configuration with 200 roles and 2,000 bindings.
func large() policy.Config {
	c := policy.Config{RBAC: true, DefaultRole: "viewer", Roles: map[string][]string{}}
	for i := range 200 {
		c.Roles[fmt.Sprint("role", i)] = []string{"patterns:read", "executions:create", "executions:read"}
	}
	for i := range 2000 {
		c.Bindings = append(c.Bindings, policy.Binding{Type: "user", Name: fmt.Sprint("user", i), Role: fmt.Sprint("role", i%200)})
	}
	return c
}

func BenchmarkCached(b *testing.B) {
	e, p := mustNew(b, large()), key("user77", "execute")
	b.ReportAllocs()
	for b.Loop() {
		if !e.Decide(b.Context(), p, execute).Allowed {
			b.Fatal("refused")
		}
	}
}

func BenchmarkUncached(b *testing.B) {
	e := mustNew(b, large())
	var took []time.Duration
	i := 0
	for b.Loop() {
		p := key(fmt.Sprint("user", i%2000), "execute")
		p.KeyID = fmt.Sprint(i) // another question each time
		i++
		began := time.Now()
		if !e.Decide(b.Context(), p, execute).Allowed {
			b.Fatal("refused")
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

// Who passes every allow-list may read everything, and no answer is true where a single thing could be refused.
func TestAllowsAll(t *testing.T) {
	dir := t.TempDir()
	own := func(text string) *policy.Engine {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "authz.rego"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return mustNew(t, policy.Config{Dir: dir})
	}
	builtIn := mustNew(t, policy.Config{})
	plain := own("package wardroom.authz\n\ndecision := {\"allow\": input.scope in input.principal.scopes, \"reason\": \"scopes\"}\n")
	ofOwner := own("package wardroom.authz\n\ndefault decision := {\"allow\": false, \"reason\": \"no\"}\n\n" +
		"decision := {\"allow\": true, \"reason\": \"theirs\"} if {\n\tinput.scope in input.principal.scopes\n\tinput.owner in [\"\", input.principal.id]\n}\n")
	byDefault := key("ann", core.ScopeAdmin)
	byDefault.ScopesByDefault = true
	for name, c := range map[string]struct {
		e       *policy.Engine
		who     core.Principal
		guarded bool
		want    bool
	}{
		"no lists":                           {builtIn, key("ann", core.ScopeRead), false, true},
		"no lists, no scope":                 {builtIn, key("ann", core.ScopePatternsRead), false, false},
		"lists":                              {builtIn, key("ann", core.ScopeRead), true, false},
		"lists, an administrator":            {builtIn, key("ann", core.ScopeAdmin), true, true},
		"lists, an administrator of default": {builtIn, byDefault, true, false},
		"a policy of scopes":                 {plain, key("ann", core.ScopeRead), false, true},
		"a policy of scopes, lists":          {plain, key("ann", core.ScopeAdmin), true, false},
		"a policy of owners":                 {ofOwner, key("ann", core.ScopeAdmin), false, false},
	} {
		if got := c.e.AllowsAll(t.Context(), c.who, readExec, c.guarded); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
