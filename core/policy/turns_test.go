package policy_test

import (
	"context"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/policy"
)

// big is a rule that builds values of some megabytes for big.read, and has them for as long as a decision may take.
const big = `scope_allows if {
	input.action == "big.read"
	some x in numbers.range(1, 100000)
	some y in numbers.range(1, 100000)
	x + y == 0
}
`

// A caller has a few decisions made at once, whatever others do, and nothing is kept of callers who are through. Who waits and does not
// ask any more waits no longer.
func TestTurns(t *testing.T) {
	e := mustNew(t, policy.Config{Dir: withRules(t, big)})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for _, caller := range []string{"ann", "bob"} {
		for range 10 * policy.TurnsOfOne {
			all.Go(func() {
				if r := e.Decide(ctx, key(caller, "read"), core.Access{Action: "big.read", Resource: "patterns", Scope: "other"}); r.Allowed {
					t.Errorf("%+v", r)
				}
			})
		}
	}
	coretest.WaitFor(t, "both to have all turns of one caller", func() bool { return e.Turns() == 2*policy.TurnsOfOne && e.Callers() == 2 })
	if r := e.Decide(t.Context(), key("carl", "patterns:read"), readPattern); !r.Allowed {
		t.Errorf("meanwhile: %+v", r)
	}
	cancel()
	all.Wait()
	if e.Turns() != 0 || e.Callers() != 0 {
		t.Errorf("%d turns are taken, and %d callers known", e.Turns(), e.Callers())
	}
}
