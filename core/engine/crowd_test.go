package engine_test

import (
	"encoding/json"
	"runtime"
	"sync"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// Thousands that wait for agents that never come cost little each, and nothing once their deadline passed.
func TestCrowdThatWaitsInVain(t *testing.T) {
	const n, most = 5000, 12 << 10 // bytes for each, with its goroutine and what the test's store keeps
	r := newRig(t)
	r.pattern("p", core.Step{Need: core.TaskNeed{Capabilities: []string{"missing"}}})
	r.open()
	used := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before := used()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range n / 8 {
				if _, err := r.Start(t.Context(), core.ExecuteRequest{Pattern: "p", Input: json.RawMessage(`{"text":"hello"}`)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	coretest.WaitFor(t, "all to stand in line", func() bool { return r.Stats().Waiting == n })
	each := int(used()-before) / n
	t.Logf("%d bytes for each that waits", each)
	if each > most {
		t.Errorf("each that waits costs %d bytes, want at most %d", each, most)
	}
	r.clock.Advance(r.config.DefaultTimeout + stdtime.Second)
	coretest.WaitFor(t, "the end of all", func() bool {
		s := r.Stats()
		return s.Active == 0 && s.Waiting == 0 && s.Running == 0 && r.clock.Pending() == 0
	})
	if s := r.Stats(); s.Finished != n {
		t.Errorf("%d finished, want %d", s.Finished, n)
	}
}
