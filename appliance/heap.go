package appliance

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// A server is small on a small machine: up to heapFloor, the collector and the return of memory to the system keep all of
// it within that. The limit rises with what is in use, so that it never makes the collector run without end, which is what
// a fixed one does to a server that needs more. Above, the heap may grow to twice what is in use less heapSaved.
const (
	heapFloor = 148 << 20
	heapSaved = 60 << 20
)

// heapBound keeps the memory limit of the process above what is in use. One at a time.
type heapBound struct {
	mu      sync.Mutex // guards stopped, and the limit while it is false
	stopped bool
}

// cycle is garbage in every cycle of the collector.
type cycle struct{ bound *heapBound }

// boundHeap bounds the memory of this process, until the function it returns is called. A GOMEMLIMIT in the environment
// is left as it is.
func boundHeap() (release func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	b := &heapBound{}
	limit := debug.SetMemoryLimit(heapFloor)
	runtime.SetFinalizer(&cycle{b}, (*cycle).ended)
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.stopped = true
		debug.SetMemoryLimit(limit)
	}
}

// ended is called after each cycle.
func (c *cycle) ended() {
	c.bound.mu.Lock()
	defer c.bound.mu.Unlock()
	if c.bound.stopped {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	if live[0].Value.Kind() == metrics.KindUint64 {
		debug.SetMemoryLimit(heapLimit(live[0].Value.Uint64()))
	}
	runtime.SetFinalizer(c, (*cycle).ended)
}

// heapLimit returns the memory limit, in bytes, for what a cycle left alive.
func heapLimit(live uint64) int64 {
	return max(heapFloor, 2*int64(live)-heapSaved)
}
