package limits_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/limits"
)

// One principal has as many open as it may, whoever else has more, and may have another when one is over.
func TestHold(t *testing.T) {
	refused := 0
	rules := limits.Rules{Limited: true, Holds: limits.Holds{Streams: 2, Sockets: 1}}
	g := limits.NewGate(rules, coretest.NewClock(), func(string) { refused++ })
	take := func(client string, kind core.HoldKind, want bool) func() {
		t.Helper()
		release, limit, ok := g.Hold(client, kind)
		if ok != want || !ok && limit == 0 {
			t.Fatalf("%s %v: %v, limit %d", client, kind, ok, limit)
		}
		return release
	}
	take("ann", core.HoldStream, true)
	second := take("ann", core.HoldStream, true)
	take("ann", core.HoldStream, false)
	take("bob", core.HoldStream, true)
	take("ann", core.HoldSocket, true)
	take("ann", core.HoldSocket, false)
	second()
	take("ann", core.HoldStream, true)
	if refused != 2 {
		t.Errorf("%d were counted", refused)
	}
	rules.Holds = limits.Holds{}
	g.Change(rules)
	take("ann", core.HoldStream, true)
}

func TestHoldConcurrently(t *testing.T) {
	g := limits.NewGate(limits.Rules{Limited: true, Holds: limits.Holds{Streams: 3}}, coretest.NewClock(), func(string) {})
	var open, most atomic.Int64
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 200 {
				release, _, ok := g.Hold("ann", core.HoldStream)
				if !ok {
					continue
				}
				n := open.Add(1)
				for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
				}
				open.Add(-1)
				release()
			}
		})
	}
	wg.Wait()
	if most.Load() > 3 {
		t.Errorf("%d at once", most.Load())
	}
}
