package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/scripts/testbed"
)

// hookBacklog has a million deliveries wait at receivers that do not answer, and drain after a restart.
func (b *bench) hookBacklog(ctx context.Context) error {
	events := 10_000
	if b.quick {
		events = 1000
	}
	want := events * hookEndpoints
	f, err := b.receivers(ctx)
	if err != nil {
		return err
	}
	defer stop(f.Process)
	s, err := b.serve(ctx, "")
	if err != nil {
		return err
	}
	defer s.stop()
	if _, err := s.subscribe(ctx, f, "/r/%", hookEndpoints); err != nil {
		return err
	}
	if err := s.Stop(testbed.ReadyLimit); err != nil {
		return err
	}
	if err := seedEvents(ctx, s.Dir, events); err != nil {
		return err
	}
	if _, err := f.get(ctx, "/hold"); err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	start := time.Now()
	if err := s.awaitSeries(ctx, "service_webhook_deliveries_pending", func(n float64) bool { return n >= float64(want) }); err != nil {
		return err
	}
	made := time.Since(start)
	held := anonymous(s.PID())
	if err := s.Stop(testbed.ReadyLimit); err != nil {
		return err
	}
	if _, err := f.get(ctx, "/release"); err != nil {
		return err
	}
	if _, err := f.stats(ctx); err != nil {
		return err
	}
	if err := s.Start(ctx); err != nil {
		return err
	}
	start = time.Now()
	var used []float64
	err = s.awaitSeries(ctx, "service_webhook_deliveries_pending", func(n float64) bool {
		used = append(used, anonymous(s.PID()))
		return n == 0
	})
	if err != nil {
		return err
	}
	drained := time.Since(start)
	got, err := f.stats(ctx)
	if err != nil {
		return err
	}
	if got.Count < want {
		return fmt.Errorf("%d deliveries of %d arrived", got.Count, want)
	}
	b.add("webhooks", fmt.Sprintf("fan-out of %d events to %d deliveries", events, want), float64(want)/made.Seconds(), "%.0f/s", 0, false, "")
	b.add("webhooks", fmt.Sprintf("memory with %d deliveries that wait", want), held, "%.0f MiB", 150, true, "")
	slices.Sort(used)
	b.add("webhooks", "memory while they drain after a restart", used[len(used)/2], "%.0f MiB", 150, true,
		fmt.Sprintf("median of %d looks; the highest %.0f MiB", len(used), used[len(used)-1]))
	b.add("webhooks", "they drain at", float64(want)/drained.Seconds(), "%.0f/s", 0, false, fmt.Sprintf("%d arrived more than once", got.Count-want))
	return nil
}

// seedEvents writes public events into the log of a server that does not run.
func seedEvents(ctx context.Context, data string, n int) error {
	s, err := store.Open(ctx, store.Options{Path: storePath(data), MinFreeBytes: 64 << 20})
	if err != nil {
		return err
	}
	ids := core.NewIDs(core.SystemClock{})
	const piece = 500
	for from := 0; from < n; from += piece {
		err := s.Update(ctx, func(tx core.Tx) error {
			for range min(piece, n-from) {
				id := ids.New(core.PrefixExecution)
				text, err := json.Marshal(map[string]any{
					"executionId": id, "pattern": core.PatternRef{Name: "bench-echo", Version: "1.0.0"}, "duration": 4,
					"result": map[string]any{"label": "pangram", "confidence": 1}, "agents": []core.AgentResult{{ID: "agent_01", Result: json.RawMessage(`{}`)}},
				})
				if err != nil {
					return err
				}
				e := core.Event{ID: ids.New(core.PrefixEvent), Type: core.EventExecutionCompleted, Time: time.Now(), Subject: id, Data: text}
				if err := tx.Append(e); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.Close()
}

// awaitSeries waits until a series without labels has a value.
func (s *server) awaitSeries(ctx context.Context, name string, ok func(float64) bool) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	for {
		text, err := s.metrics(ctx)
		if err != nil {
			return err
		}
		for line := range strings.SplitSeq(text, "\n") {
			if value, found := strings.CutPrefix(line, name+" "); found {
				n, err := strconv.ParseFloat(value, 64)
				if err != nil {
					return err
				}
				if ok(n) {
					return nil
				}
			}
		}
		if err := testbed.Pause(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
}

func (s *server) metrics(ctx context.Context) (string, error) {
	text, err := get(ctx, s.URL+"/api/metrics")
	return string(text), err
}
