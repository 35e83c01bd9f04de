package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/policy"
)

// loop is the body of a rule that never ends.
const loop = " if {\n\tsome x in numbers.range(1, 100000)\n\tsome y in numbers.range(1, 100000)\n\tx + y == 0\n}\n"

// withRules returns a directory with the built-in policy and more rules.
func withRules(t *testing.T, rules string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "own.rego"), []byte(policy.BuiltIn()+"\n"+rules), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Tests that do not end keep a start or a reload no longer than the first of them, which the error names.
func TestTestThatLoops(t *testing.T) {
	dir := withRules(t, "test_first"+loop+"test_second"+loop+"test_third"+loop)
	_, err := policy.New(t.Context(), policy.Config{Dir: dir})
	if err == nil || !strings.Contains(err.Error(), "test_first: it took longer than 5s") || strings.Contains(err.Error(), "test_second") {
		t.Errorf("%v", err)
	}
}

// A shift by any number would take all memory, and with it the process.
func TestNoShift(t *testing.T) {
	_, err := policy.New(t.Context(), policy.Config{Dir: withRules(t, "shifts if bits.lsh(1, 100000000000) > 1\n")})
	if err == nil || !strings.Contains(err.Error(), "bits.lsh") {
		t.Errorf("%v", err)
	}
}

// Why a policy fails is in the log, of many failures once a minute.
func TestFailuresAreLogged(t *testing.T) {
	e := mustNew(t, policy.Config{Dir: withRules(t, "scope_allows if {\n\tinput.action == \"broken.read\"\n\t1 / count(input.principal.groups) > 0\n}\n")})
	var out strings.Builder
	clock := coretest.NewClock()
	e.LogTo(hclog.New(&hclog.LoggerOptions{Output: &out}), clock)
	ask := func() {
		t.Helper()
		r := e.Decide(t.Context(), key("ann", "read"), core.Access{Action: "broken.read", Resource: "patterns", Scope: "admin"})
		if r.Allowed || r.Reason != "the policy failed to decide" {
			t.Errorf("%+v", r)
		}
	}
	for range 5 {
		ask()
	}
	clock.Advance(time.Minute)
	ask()
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "eval_builtin_error in div at ") || !strings.Contains(lines[0], "own.rego:") || !strings.Contains(lines[0], "broken.read") || !strings.Contains(lines[1], "more=4") {
		t.Errorf("%q", lines)
	}
}
