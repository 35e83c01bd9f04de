package limits_test

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/limits"
)

func TestStandard(t *testing.T) {
	clock := coretest.NewClock()
	l := limits.New(limits.Standard, clock)
	for kind, want := range map[core.RequestKind]int{core.RequestRead: 1000, core.RequestChange: 200, core.RequestExecute: 100} {
		for n := range want {
			if v := l.Take("alice", kind, ""); !v.Allowed || v.Limit != want || v.Remaining != want-n-1 {
				t.Fatalf("request %d of kind %d: %+v", n+1, kind, v)
			}
		}
		v := l.Take("alice", kind, "")
		if v.Allowed || v.By != "client" || v.Remaining != 0 || v.Retry <= 0 || v.Retry > time.Minute/time.Duration(want)+time.Millisecond {
			t.Fatalf("request %d of kind %d: %+v", want+1, kind, v)
		}
		if got := v.Reset.Sub(clock.Now()); math.Abs(float64(got-time.Minute)) > float64(time.Second) {
			t.Fatalf("kind %d: all are there again in %v, want a minute", kind, got)
		}
		if v := l.Take("bob", kind, ""); !v.Allowed {
			t.Fatalf("another client: %+v", v)
		}
		clock.Advance(v.Retry)
		if v := l.Take("alice", kind, ""); !v.Allowed {
			t.Fatalf("after the time that was said: %+v", v)
		}
	}
}

// TestExact lets a client send all it can for ten minutes.
func TestExact(t *testing.T) {
	clock := coretest.NewClock()
	l := limits.New(limits.Options{PerClient: limits.Rate{PerSecond: 50, Burst: 20}}, clock)
	var allowed int
	for range 600_000 {
		if l.Take("alice", core.RequestRead, "").Allowed {
			allowed++
		}
		clock.Advance(time.Millisecond)
	}
	if want := 50*600 + 20; math.Abs(float64(allowed-want)) > float64(want)/100 {
		t.Fatalf("%d requests in ten minutes, want %d", allowed, want)
	}
}

// TestRefusedUsesNothing: who is refused by one limit keeps what the others have.
func TestRefusedUsesNothing(t *testing.T) {
	clock := coretest.NewClock()
	l := limits.New(limits.Options{PerClient: limits.Rate{PerSecond: 1, Burst: 10}, PerPattern: limits.PerMinute(1)}, clock)
	if v := l.Take("alice", core.RequestExecute, "review"); !v.Allowed {
		t.Fatalf("%+v", v)
	}
	for range 100 {
		if v := l.Take("bob", core.RequestExecute, "review"); v.Allowed || v.By != "pattern" || v.Limit != 1 {
			t.Fatalf("%+v", v)
		}
	}
	if v := l.Take("bob", core.RequestExecute, "other"); !v.Allowed || v.Remaining != 0 {
		t.Fatalf("another pattern: %+v", v)
	}
	if v := l.Take("bob", core.RequestRead, ""); !v.Allowed || v.Remaining != 8 {
		t.Fatalf("bob has used two of ten: %+v", v)
	}
}

func TestGlobal(t *testing.T) {
	l := limits.New(limits.Options{Global: limits.Rate{PerSecond: 1, Burst: 3}}, coretest.NewClock())
	for n := range 3 {
		if v := l.Take(fmt.Sprint(n), core.RequestRead, ""); !v.Allowed {
			t.Fatalf("%+v", v)
		}
	}
	if v := l.Take("another", core.RequestRead, ""); v.Allowed || v.By != "global" {
		t.Fatalf("%+v", v)
	}
}

func TestNoLimit(t *testing.T) {
	l := limits.New(limits.Options{}, coretest.NewClock())
	for range 100 {
		if v := l.Take("alice", core.RequestExecute, "p"); !v.Allowed || v.Limit != 0 || !v.Reset.IsZero() {
			t.Fatalf("%+v", v)
		}
	}
}

// TestManyClients: a flood of addresses is not remembered without end, and does not take away from who was there.
func TestManyClients(t *testing.T) {
	clock := coretest.NewClock()
	l := limits.New(limits.Options{PerClient: limits.Rate{PerSecond: 1, Burst: 5}, MaxClients: 100}, clock)
	l.Take("alice", core.RequestRead, "")
	var allowed int
	for n := range 10_000 {
		if l.Take(fmt.Sprint("flood", n), core.RequestRead, "").Allowed {
			allowed++
		}
	}
	if allowed > 99+5 {
		t.Errorf("%d requests of clients beyond the bound are allowed, want those of 99 clients and 5 of the others", allowed)
	}
	if v := l.Take("alice", core.RequestRead, ""); !v.Allowed || v.Remaining != 3 {
		t.Errorf("who was there before: %+v", v)
	}
	clock.Advance(10 * time.Second)
	if v := l.Take("late", core.RequestRead, ""); !v.Allowed || v.Remaining != 4 {
		t.Errorf("after the flood: %+v", v)
	}
}

func TestClockSteps(t *testing.T) {
	clock := coretest.NewStepClock()
	l := limits.New(limits.Options{PerClient: limits.Rate{PerSecond: 1, Burst: 1}}, clock)
	l.Take("alice", core.RequestRead, "")
	clock.Step(time.Hour)
	if v := l.Take("alice", core.RequestRead, ""); v.Allowed {
		t.Error("a wall clock that was set forward gives requests away")
	}
	clock.Step(-2 * time.Hour)
	clock.Advance(time.Second)
	if v := l.Take("alice", core.RequestRead, ""); !v.Allowed {
		t.Error("a wall clock that was set back holds requests up")
	}
}

func TestConcurrentTakes(t *testing.T) {
	l := limits.New(limits.Options{PerClient: limits.Rate{PerSecond: 0.001, Burst: 500}}, coretest.NewClock())
	var mu sync.Mutex
	var allowed int
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				if l.Take("alice", core.RequestRead, "").Allowed {
					mu.Lock()
					allowed++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	if allowed != 500 {
		t.Fatalf("%d requests, want 500", allowed)
	}
}

func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("100,000 clients")
	}
	l := limits.New(limits.Standard, core.SystemClock{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for n := range 100_000 {
		l.Take(fmt.Sprintf("10.%d.%d.%d", n>>16, n>>8&255, n&255), core.RequestRead, "")
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if got := int64(after.HeapAlloc) - int64(before.HeapAlloc); got > 20<<20 {
		t.Errorf("100,000 clients take %d KiB, want at most 20 MiB", got>>10)
	}
	runtime.KeepAlive(l)
}

func BenchmarkTake(b *testing.B) {
	l := limits.New(limits.Options{
		Global: limits.Rate{PerSecond: 1e9, Burst: 1e6}, PerClient: limits.Rate{PerSecond: 1e9, Burst: 1e6},
		PerPattern: limits.Rate{PerSecond: 1e9, Burst: 1e6},
	}, core.SystemClock{})
	b.ReportAllocs()
	for b.Loop() {
		l.Take("alice", core.RequestExecute, "review")
	}
}
