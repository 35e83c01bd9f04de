package store_test

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

const benchHooks = 100

// BenchmarkDeliveries is the life of a delivery: fanned out with its event to a hundred endpoints, then its outcome,
// as many to a transaction as the dispatcher has at hand.
func BenchmarkDeliveries(b *testing.B) {
	for _, size := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("perUpdate=%d", size), func(b *testing.B) {
			s := mustOpen(b, store.Options{})
			hooks := benchWebhooks(b, s)
			ids := core.NewIDs(core.SystemClock{})
			before, cpu := s.Stats(), cpuTime()
			var fanOut time.Duration
			var batch []*core.Delivery
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += len(batch) {
				at := time.Now()
				next := at
				batch = batch[:0]
				for i := range min(size, b.N-n) {
					batch = append(batch, &core.Delivery{
						ID: ids.New(core.PrefixDelivery), WebhookID: hooks[i%benchHooks], EventID: "evt_01ARZ3NDEKTSV4RRFFQ69G5FAV",
						Event: core.EventExecutionCompleted, Seq: uint64(1 + n/benchHooks), Subject: "exec_01ARZ3NDEKTSV4RRFFQ69G5FAV",
						Status: core.DeliveryPending, CreatedAt: at, NextAt: &next,
					})
				}
				putDeliveries(b, s, batch...)
				fanOut += time.Since(at)
				mustUpdate(b, s, func(tx core.Tx) error {
					for _, d := range batch {
						now, err := tx.FindDelivery(d.ID)
						if err != nil {
							return err
						}
						now.Status, now.NextAt, now.FirstAt, now.Timestamp = core.DeliverySucceeded, nil, &at, &at
						now.Attempts, now.StatusCode, now.DurationMs, now.ResponseBody = 1, 200, 12, "ok"
						if err := tx.PutDelivery(now); err != nil {
							return err
						}
					}
					return nil
				})
			}
			b.StopTimer()
			after := s.Stats()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
			b.ReportMetric(float64(b.N)/fanOut.Seconds(), "fanned-out/s")
			b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N)/1e3, "cpu-us/op")
			b.ReportMetric(float64(after.Keys-before.Keys)/float64(b.N), "keys/op")
		})
	}
}

// BenchmarkBacklog measures what a million pending deliveries cost: memory, the first ones that are due after an open,
// pages of lists, and the events that they need. With -short they are fewer, which shows that it runs.
func BenchmarkBacklog(b *testing.B) {
	rows := 1_000_000
	if testing.Short() {
		rows = 100_000
	}
	dir := b.TempDir()
	s, err := store.Open(ctx, store.Options{Path: dir})
	if err != nil {
		b.Fatal(err)
	}
	hooks := benchWebhooks(b, s)
	for from := 0; from < rows; from += 2000 {
		var list []*core.Delivery
		for i := from; i < from+2000; i++ {
			list = append(list, delivery(i, hooks[i%benchHooks]))
		}
		putDeliveries(b, s, list...)
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	idle := liveHeap()
	began := time.Now()
	s = mustOpen(b, store.Options{Path: dir})
	opened := time.Since(began)
	b.Run("due", func(b *testing.B) {
		i := 0
		for b.Loop() {
			list, err := s.DueDeliveries(ctx, hooks[i%benchHooks], time.Time{}, "", 256)
			if err != nil || len(list) != 256 {
				b.Fatal(len(list), err)
			}
			i++
		}
		b.ReportMetric(float64(opened.Milliseconds()), "open-ms")
		b.ReportMetric(float64(liveHeap()-idle)/(1<<20), "heap-MiB")
	})
	for name, f := range map[string]core.DeliveryFilter{
		"list":       {WebhookID: hooks[3]},
		"listStatus": {WebhookID: hooks[3], Status: core.DeliveryPending},
		"listOffset": {WebhookID: hooks[3], Page: core.Page{Offset: rows / 200}},
		"listAll":    {},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if list, _, err := s.FindDeliveries(ctx, f); err != nil || len(list) != 20 {
					b.Fatal(len(list), err)
				}
			}
		})
	}
	b.Run("retain", func(b *testing.B) {
		for b.Loop() {
			if _, err := s.Retain(ctx, store.Policy{Events: time.Hour, DeliveriesPerWebhook: 100}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func benchWebhooks(b *testing.B, s *store.Store) []string {
	b.Helper()
	var hooks []string
	for i := range benchHooks {
		hooks = append(hooks, webhookAt(start, i+1))
		putWebhook(b, s, webhook(hooks[i]))
	}
	slices.Sort(hooks)
	return hooks
}

// liveHeap returns the size of the heap after a collection.
func liveHeap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkDrained reads what is due of an endpoint that has a long queue behind it.
func BenchmarkDrained(b *testing.B) {
	s := mustOpen(b, store.Options{})
	w := webhook(webhookAt(start, 1))
	putWebhook(b, s, w)
	const rows, step = 200_000, 2000
	for _, next := range []func(d *core.Delivery) *core.Delivery{
		func(d *core.Delivery) *core.Delivery { return d },
		func(d *core.Delivery) *core.Delivery {
			if d.Seq >= rows-step {
				return d
			}
			return ended(d, core.DeliverySucceeded)
		},
	} {
		for from := 0; from < rows; from += step {
			var list []*core.Delivery
			for i := from; i < from+step; i++ {
				list = append(list, next(delivery(i, w.ID)))
			}
			putDeliveries(b, s, list...)
		}
	}
	b.ResetTimer()
	for b.Loop() {
		if list, err := s.DueDeliveries(ctx, w.ID, time.Time{}, "", 10); err != nil || len(list) != 10 {
			b.Fatal(len(list), err)
		}
	}
}
