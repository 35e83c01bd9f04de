package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/policy"
)

// However long the ids are that a policy is asked about, its answers are kept in a few megabytes.
func TestCacheOfLongQuestions(t *testing.T) {
	const count, length = 1000, 60 << 10 // as long as a path may be
	dir := t.TempDir()
	own := strings.Replace(policy.BuiltIn(), "\nscope_allows if input.scope in", "\nscope_allows if startswith(input.id, \"open_\")\n\nscope_allows if input.scope in", 1)
	if err := os.WriteFile(filepath.Join(dir, "own.rego"), []byte(own), 0o600); err != nil {
		t.Fatal(err)
	}
	e := mustNew(t, policy.Config{Dir: dir})
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	for i := range count {
		a := core.Access{Action: "executions.read", Resource: "executions", Scope: core.ScopeExecutionsRead, ID: fmt.Sprintf("open_%0*d", length, i)}
		for range 2 {
			if r := e.Decide(t.Context(), key("ann", core.ScopeAgentsRead), a); !r.Allowed {
				t.Fatalf("%+v", r)
			}
		}
	}
	if grown := int64(held()) - int64(before); grown > 20<<20 {
		t.Errorf("%d MiB are held", grown>>20)
	}
	runtime.KeepAlive(e)
}
