package engine_test

import (
	"fmt"
	"runtime"
	"syscall"
	"testing"
	stdtime "time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

func cpu(tb testing.TB) stdtime.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return stdtime.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkChartStep is one step of a workflow at one agent, the rig's share included.
func BenchmarkChartStep(b *testing.B) {
	r := newRig(b).open()
	r.chart("long", crew("a"), many(b.N, "a")...)
	r.agents.add("x", 1)
	r.autoChart()
	b.ReportAllocs()
	b.ResetTimer()
	began := cpu(b)
	if got := r.wait(r.start("long").ID); got.Status != core.ExecutionCompleted {
		b.Fatal(got.Error)
	}
	b.ReportMetric(float64((cpu(b)-began).Microseconds())/float64(b.N), "cpu-µs/step")
}

// BenchmarkChartWide is one of many steps that wait in line at a role with few instances.
func BenchmarkChartWide(b *testing.B) {
	r := newRig(b).open()
	r.chart("wide", crew("a"), parallel(many(b.N, "a")...))
	r.agents.add("x", 8)
	r.autoChart()
	b.ReportAllocs()
	b.ResetTimer()
	began := cpu(b)
	if got := r.wait(r.start("wide").ID); got.Status != core.ExecutionCompleted {
		b.Fatal(got.Error)
	}
	b.ReportMetric(float64((cpu(b)-began).Microseconds())/float64(b.N), "cpu-µs/step")
}

// BenchmarkChartsInFlight tells how much memory executions of 20 steps take that are at work.
func BenchmarkChartsInFlight(b *testing.B) {
	const n = 500
	for range b.N {
		r := newRig(b).open()
		r.chart("p", crew("a", "b", "c"), many(20, "a")...)
		for i := range 3 * n {
			r.agents.add(fmt.Sprint("x", i), 1)
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for range n {
			r.start("p")
		}
		coretest.WaitFor(b, "tasks", func() bool { return len(r.agents.held()) == n })
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n/1024, "KiB/execution")
		r.Close()
	}
}
