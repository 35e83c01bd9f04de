package appliance

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// The limit follows what is in use, up and down, and is what it was at the end.
func TestBoundHeap(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "")
	before := debug.SetMemoryLimit(-1)
	release := boundHeap()
	held := make([]byte, 2*heapFloor)
	await(t, "the limit rises", func(limit int64) bool { return limit > int64(len(held)) })
	runtime.KeepAlive(held)
	held = nil
	await(t, "the limit falls", func(limit int64) bool { return limit == heapFloor })
	release()
	runtime.GC()
	runtime.GC()
	if limit := debug.SetMemoryLimit(-1); limit != before {
		t.Fatalf("the limit is %d after all, and was %d", limit, before)
	}
}

func await(t *testing.T, what string, ok func(limit int64) bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(debug.SetMemoryLimit(-1)); runtime.GC() {
		if time.Now().After(end) {
			t.Fatalf("%s: it is %d", what, debug.SetMemoryLimit(-1))
		}
	}
}

func TestHeapBoundLeavesTheEnvironmentAlone(t *testing.T) {
	t.Setenv("GOMEMLIMIT", "300MiB")
	limit := debug.SetMemoryLimit(-1)
	release := boundHeap()
	if got := debug.SetMemoryLimit(-1); got != limit {
		t.Errorf("the limit is %d, and was %d", got, limit)
	}
	release()
}
