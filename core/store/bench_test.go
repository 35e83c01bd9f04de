package store_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/core/storetest"
)

// BenchmarkUpdate is the start of an execution: its record, three index entries, and two events of which
// one is public; seven keys.
func BenchmarkUpdate(b *testing.B) { inClearAndEncrypted(b, benchmarkUpdate) }

// inClearAndEncrypted runs a benchmark on a store in clear, then on an encrypted one.
func inClearAndEncrypted(b *testing.B, fn func(b *testing.B, opts store.Options)) {
	b.Run("clear", func(b *testing.B) { fn(b, store.Options{}) })
	b.Run("encrypted", func(b *testing.B) { fn(b, store.Options{Encryption: storetest.Encryption(b)}) })
}

func benchmarkUpdate(b *testing.B, opts store.Options) {
	for _, goroutines := range []int{1, 16, 64} {
		b.Run(fmt.Sprintf("goroutines=%d", goroutines), func(b *testing.B) {
			s := mustOpen(b, opts)
			ids := core.NewIDs(core.SystemClock{})
			before, cpu := s.Stats(), cpuTime()
			b.ReportAllocs()
			b.ResetTimer()
			var wg sync.WaitGroup
			work := make(chan struct{}, b.N)
			for range b.N {
				work <- struct{}{}
			}
			close(work)
			for range goroutines {
				wg.Go(func() {
					for range work {
						e := execution(ids.New(core.PrefixExecution), "vote", core.ExecutionRunning)
						err := s.Update(ctx, func(tx core.Tx) error {
							if err := tx.PutExecution(e); err != nil {
								return err
							}
							return tx.Append(
								core.Event{Type: core.EventExecutionStarted, ID: "evt_1", Subject: e.ID, Time: e.CreatedAt, Data: e.Input},
								core.Event{Type: core.EventTaskAssigned, Subject: e.ID, Time: e.CreatedAt, Data: e.Input})
						})
						if err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			after := s.Stats()
			b.ReportMetric(float64(after.Keys-before.Keys)/b.Elapsed().Seconds(), "keys/s")
			b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N)/1e3, "cpu-us/op")
			b.ReportMetric(float64(after.Updates-before.Updates)/float64(after.Commits-before.Commits), "updates/commit")
		})
	}
}

// BenchmarkFindExecutions is a page of twenty by pattern and status.
func BenchmarkFindExecutions(b *testing.B) { inClearAndEncrypted(b, benchmarkFindExecutions) }

func benchmarkFindExecutions(b *testing.B, opts store.Options) {
	for _, rows := range []int{1000, 50_000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			s := mustOpen(b, opts)
			fill(b, s, rows)
			b.ResetTimer()
			cpu := cpuTime()
			defer func() { b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N)/1e3, "cpu-us/op") }()
			for b.Loop() {
				list, _, err := s.FindExecutions(ctx, core.ExecutionFilter{Pattern: "p1", Statuses: []core.ExecutionStatus{core.ExecutionCompleted}})
				if err != nil || len(list) != 20 {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}

// cpuTime returns the CPU time of the process so far, in user and system mode.
func cpuTime() time.Duration {
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		return 0
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
