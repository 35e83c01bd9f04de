package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/agent"
	api "github.com/wardroom/wardroom/sdk/client"
)

// appendText is the text of each event.
var appendText = strings.Repeat("word ", 30)

// threadAppend measures how many events of threads become durable in a second: threads of connected agents that tell
// as fast as the core takes it. Every event is a transaction of its thread's own.
func (b *bench) threadAppend(ctx context.Context) error {
	for _, c := range []struct {
		agents, threads, events int
		target                  float64
	}{
		{4, 12, 2000, 0}, // a team
		{8, 256, 300, 5000},
	} {
		if b.quick {
			c.events /= 5
		}
		bare, err := b.bareAppends(ctx, c.threads, c.events)
		if err != nil {
			return fmt.Errorf("baseline: %w", err)
		}
		if err := b.hostedAppends(ctx, c.agents, c.threads, c.events, c.target, bare); err != nil {
			return fmt.Errorf("%d threads: %w", c.threads, err)
		}
	}
	return nil
}

// hostedAppends measures one number of threads.
func (b *bench) hostedAppends(ctx context.Context, agents, threads, events int, target, bare float64) error {
	h, err := b.serveHosted(ctx, agents, threads)
	if err != nil {
		return err
	}
	defer h.close()
	execution, all, err := h.threads(ctx, threads)
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	failed := make(chan error, threads)
	core, start := testbed.CPUTime(h.PID()), time.Now()
	for _, t := range all {
		wg.Go(func() {
			if err := turn(ctx, t, events); err != nil {
				failed <- err
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failed:
		return err
	default:
	}
	// That an agent waits again is stored behind all that was said in its turn.
	err = testbed.Until(ctx, 3*time.Minute, "all turns are stored", func(ctx context.Context) (bool, error) {
		list, err := h.Client.ListThreads(ctx, api.ThreadFilter{ExecutionID: execution, Status: api.ThreadRunning, Page: api.Page{Limit: 1}})
		return err == nil && list.Total == 0, err
	})
	if err != nil {
		return err
	}
	took, core := time.Since(start), testbed.CPUTime(h.PID())-core
	n := threads * (events + 3)
	rate := float64(n) / took.Seconds()
	name := fmt.Sprintf("%d threads tell of %d events each", threads, events)
	b.add("append", name+", durable", rate, "%.0f/s", target, false, fmt.Sprintf("%.2f of a bare store with as many writers (%.0f/s)", rate/bare, bare))
	b.add("append", name+", CPU of the core each", perStep(core, n), "%.3f ms", 0, true, "")
	odd, err := h.oddEvents(ctx, all, events)
	if err != nil {
		return err
	}
	b.zero("append", name+": stored twice, not at all, or out of order", odd, "")
	return nil
}

// turn reports a whole turn.
func turn(ctx context.Context, t *agent.Thread, events int) error {
	if err := t.Busy(ctx, agent.ThreadMessage{}); err != nil {
		return err
	}
	for i := range events {
		if err := t.Say(ctx, fmt.Sprintf("%s%d", appendText, i)); err != nil {
			return err
		}
	}
	if err := t.TurnComplete(ctx, 1, fmt.Sprintf("%s%d", appendText, events-1)); err != nil {
		return err
	}
	return t.Ready(ctx)
}

// oddEvents reads back what the threads said and counts what is not as it was said. One event may hold several
// sayings, a line each.
func (h *hosting) oddEvents(ctx context.Context, all []*agent.Thread, events int) (odd int, err error) {
	for _, t := range all {
		next := 0
		for filter := (api.ThreadEventFilter{Types: []string{api.EventThreadOutput}, Limit: 100}); ; {
			list, err := h.Client.ListThreadEvents(ctx, t.Spec.ThreadID, filter)
			if err != nil {
				return 0, err
			}
			for i := range list.Events {
				data, err := list.Events[i].Decode()
				if err != nil {
					return 0, err
				}
				for line := range strings.Lines(data.Text) {
					if strings.TrimSuffix(line, "\n") != fmt.Sprintf("%s%d", appendText, next) {
						odd++
					}
					next++
				}
			}
			if !list.HasMore {
				break
			}
			filter.Since = list.NextSince
		}
		odd += max(events-next, next-events)
	}
	return odd, nil
}

// bareAppends measures the baseline: as many writers append an event each time to a store that nothing else uses.
func (b *bench) bareAppends(ctx context.Context, writers, events int) (float64, error) {
	s, err := store.Open(ctx, store.Options{Path: filepath.Join(b.dir, fmt.Sprintf("appends-%d", writers)), MinFreeBytes: 64 << 20})
	if err != nil {
		return 0, err
	}
	var wg sync.WaitGroup
	failed := make(chan error, writers)
	data := fmt.Appendf(nil, `{"text":%q,"turn":1}`, appendText)
	start := time.Now()
	for i := range writers {
		wg.Go(func() {
			for range events {
				err := s.Update(ctx, func(tx core.Tx) error {
					return tx.Append(core.Event{
						Type: core.EventThreadOutput, Subject: fmt.Sprint("thread_", i), Group: core.ThreadGroup("exec_1"),
						Time: time.Now(), Data: data,
					})
				})
				if err != nil {
					failed <- err
					return
				}
			}
		})
	}
	wg.Wait()
	rate := float64(writers*events) / time.Since(start).Seconds()
	select {
	case err := <-failed:
		return 0, err
	default:
	}
	return rate, s.Close()
}
