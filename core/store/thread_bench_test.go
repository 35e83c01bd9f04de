package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// BenchmarkThreadEvents measures the writes of the supervisor for an event of an agent: the thread's record, with the
// memory file it began with, and one or two events. Each of eight threads is written by a goroutine of its own.
func BenchmarkThreadEvents(b *testing.B) {
	for _, size := range []int{0, 8 << 10, 64 << 10} {
		b.Run(fmt.Sprintf("contextBytes=%d", size), func(b *testing.B) {
			s := mustOpen(b, store.Options{})
			const threads = 8
			output, _ := json.Marshal(map[string]any{"text": strings.Repeat("some words of an agent ", 10), "turn": 3})
			records := make([]*core.ThreadRecord, threads)
			for i := range records {
				records[i] = thread(threadAt(start, i+1), idAt(start, 1), core.ThreadRunning)
				if size > 0 {
					records[i].Preparation.ContextFiles = []core.ContextFile{
						{Path: core.ThreadMemoryPath, Content: strings.Repeat("x", size)},
					}
				}
				putThread(b, s, records[i])
			}
			before, cpu := s.Stats(), cpuTime()
			b.ReportAllocs()
			b.ResetTimer()
			work := make(chan int, b.N)
			for i := range b.N {
				work <- i
			}
			close(work)
			var wg sync.WaitGroup
			for _, r := range records {
				wg.Go(func() {
					for i := range work {
						now := start.Add(time.Duration(i) * time.Millisecond)
						events := []core.Event{
							{Type: core.EventThreadOutput, Subject: r.ID, Group: core.ThreadGroup(r.ExecutionID), Time: now, Data: output},
						}
						next := *r
						next.LastActivityAt, next.UpdatedAt = now, now
						next.AgentSeq++
						next.Status = core.ThreadRunning
						if i%2 == 0 {
							next.EventCount++
							next.Status = core.ThreadReady
							events = append(events, core.Event{
								Type: core.EventThreadReady, Subject: r.ID, Group: core.ThreadGroup(r.ExecutionID), Time: now,
							})
						}
						r = &next
						if err := s.Update(ctx, func(tx core.Tx) error {
							if err := tx.PutThread(r); err != nil {
								return err
							}
							return tx.Append(events...)
						}); err != nil {
							b.Error(err)
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			after := s.Stats()
			b.ReportMetric(float64(after.Events-before.Events)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N)/1e3, "cpu-us/op")
			b.ReportMetric(float64(after.Updates-before.Updates)/float64(after.Commits-before.Commits), "updates/commit")
		})
	}
}

// BenchmarkFindThreads is a page of twenty of 100,000 threads.
func BenchmarkFindThreads(b *testing.B) {
	s := mustOpen(b, store.Options{})
	const rows = 100_000
	fillThreads(b, s, rows)
	for name, filter := range map[string]core.ThreadFilter{
		"all":       {},
		"execution": {ExecutionID: idAt(start, 7)},
		"status":    {Status: core.ThreadFailed},
		"active":    {Status: core.ThreadReady},
		"three":     {Status: core.ThreadCompleted, Role: "role3", AgentType: "codex"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				list, info, err := s.FindThreads(ctx, filter)
				if err != nil || len(list) != 20 || info.Total < 20 {
					b.Fatal(len(list), info, err)
				}
			}
		})
	}
	b.Run("offset", func(b *testing.B) {
		for b.Loop() {
			list, info, err := s.FindThreads(ctx, core.ThreadFilter{Page: core.Page{Offset: rows / 2}})
			if err != nil || len(list) != 20 || info.Total != rows {
				b.Fatal(len(list), info, err)
			}
		}
	})
}

// fillThreads stores threads of a hundred executions, of which two hundred are active.
func fillThreads(tb testing.TB, s *store.Store, rows int) {
	tb.Helper()
	for from := 0; from < rows; from += 100 {
		mustUpdate(tb, s, func(tx core.Tx) error {
			for i := from; i < min(from+100, rows); i++ {
				r := thread(threadAt(start.Add(time.Duration(i)*time.Millisecond), 1), idAt(start, 1+i%100), core.ThreadCompleted)
				r.Role, r.AgentType = fmt.Sprint("role", i%7), []string{"claude", "codex", "gemini"}[i%3]
				switch {
				case i%500 == 0:
					r.Status = core.ThreadReady
				case i%5 == 0:
					r.Status = core.ThreadFailed
				}
				if err := tx.PutThread(r); err != nil {
					return err
				}
			}
			return nil
		})
	}
}
