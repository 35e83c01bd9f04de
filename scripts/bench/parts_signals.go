package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/wardroom/wardroom/scripts/fakemodel"
	api "github.com/wardroom/wardroom/sdk/client"
)

// signals measures how soon the API tells what a command line agent knows: that its turn ended, and that it waits
// for an answer.
func (b *bench) signals(ctx context.Context) error {
	turns, approvals := 60, 25
	if b.quick {
		turns, approvals = 10, 5
	}
	return b.eachCLI(ctx, "signals", func(a *cliAgent) error {
		w, err := a.watch(ctx)
		if err != nil {
			return err
		}
		defer w.stop()
		var ends, blocks seen
		for i := range turns {
			if err := w.turn(ctx, fmt.Sprintf("turn %d", i), &ends); err != nil {
				return fmt.Errorf("turn %d: %w", i, err)
			}
		}
		for i := range approvals {
			if err := w.approval(ctx, i, &blocks); err != nil {
				return fmt.Errorf("approval %d: %w", i, err)
			}
		}
		report := func(what string, l load, limit float64, note string) {
			l = l.sorted()
			b.add("signals", a.Type+": "+what+", p50", l.quantile(.5), "%.1f ms", 0, true, note)
			b.add("signals", a.Type+": "+what+", p99", l.quantile(.99), "%.1f ms", limit, true, note)
		}
		report(fmt.Sprintf("turn end on the API after the model's last byte, %d", turns), ends.answer, 100, "the agent's own work included")
		report("turn end on the API after the runtime heard of it", ends.runtime, 0, "")
		report(fmt.Sprintf("blocked on the API after its first sign, %d", approvals), blocks.sign, 100, "terminal or hook, what came first")
		report("blocked on the API after the model's last byte", blocks.answer, 0, "the agent's own work included")
		report("blocked on the API after the runtime heard of it", blocks.runtime, 0, "")
		return nil
	})
}

// seen is how long after some moments events came over the API.
type seen struct {
	answer  load // after the model's last byte: what the agent itself needs is part of it
	sign    load // after the first sign of it outside of the agent
	runtime load // after the runtime heard of it
}

func (l load) sorted() load {
	slices.Sort(l.latencies)
	return l
}

// eventSeen is an event with the moment at which it was read.
type eventSeen struct {
	api.ManagedAgentEvent
	at time.Time
}

// watcher follows the events of an agent.
type watcher struct {
	*cliAgent
	stream *api.Stream
	signs  *signs
	events chan eventSeen
	done   chan error
}

func (a *cliAgent) watch(ctx context.Context) (*watcher, error) {
	stream, err := a.Client.WatchManagedAgent(ctx, a.ID, "")
	if err != nil {
		return nil, err
	}
	signs, err := watchSigns(ctx, a.Client, a.ID, blockedSigns[a.Type])
	if err != nil {
		stream.Close()
		return nil, err
	}
	w := &watcher{cliAgent: a, stream: stream, signs: signs, events: make(chan eventSeen, 1024), done: make(chan error, 1)}
	go func() {
		for {
			e, err := stream.Next()
			if err != nil {
				w.done <- err
				return
			}
			seen := eventSeen{at: time.Now()}
			if err := json.Unmarshal(e.Data, &seen.ManagedAgentEvent); err != nil {
				w.done <- err
				return
			}
			w.events <- seen
		}
	}()
	return w, nil
}

func (w *watcher) stop() {
	w.signs.stop()
	w.stream.Close()
	for {
		select {
		case <-w.events:
		case <-w.done:
			return
		}
	}
}

// await returns the next event of a type; those before it are dropped.
func (w *watcher) await(ctx context.Context, kind string) (eventSeen, error) {
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	for {
		select {
		case e := <-w.events:
			if e.Type == kind {
				return e, nil
			}
		case err := <-w.done:
			w.done <- err // for stop
			return eventSeen{}, err
		case <-limit.C:
			return eventSeen{}, fmt.Errorf("no event %s came within a minute", kind)
		case <-ctx.Done():
			return eventSeen{}, ctx.Err()
		}
	}
}

// turn sends a message and measures the event at the end of its turn.
func (w *watcher) turn(ctx context.Context, text string, s *seen) error {
	if err := w.send(ctx, text); err != nil {
		return err
	}
	e, err := w.await(ctx, "managed_agent.turn_complete")
	if err != nil {
		return err
	}
	return w.measure(ctx, e, text, "text", s)
}

// approval makes the agent ask, measures that, and lets it go on.
func (w *watcher) approval(ctx context.Context, i int, s *seen) error {
	text := fmt.Sprintf("ESCALATE USE_TOOL[touch approved-%d] please", i)
	w.signs.reset()
	if err := w.send(ctx, text); err != nil {
		return err
	}
	e, err := w.await(ctx, "managed_agent.blocked")
	if err != nil {
		return err
	}
	if err := w.measure(ctx, e, text, "tool", s); err != nil {
		return err
	}
	if _, err := w.Client.AnswerManagedAgent(ctx, w.ID, api.ManagedAgentAnswer{Choice: "allow"}); err != nil {
		return err
	}
	_, err = w.await(ctx, "managed_agent.turn_complete")
	return err
}

func (w *watcher) send(ctx context.Context, text string) error {
	_, err := w.Client.SendManagedAgent(ctx, w.ID, api.ManagedAgentInput{Message: text})
	return err
}

// measure adds one event. The model wrote the answer that led to it; the runtime noted when it heard of it.
func (w *watcher) measure(ctx context.Context, e eventSeen, text, kind string, s *seen) error {
	q, err := w.model.Await(ctx, func(q fakemodel.Request) bool { return q.Kind == kind && q.User == text && q.LastNs > 0 })
	if err != nil {
		return err
	}
	s.answer.latencies = append(s.answer.latencies, e.at.Sub(time.Unix(0, q.LastNs)))
	var data struct {
		OccurredAt time.Time `json:"occurredAt"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return err
	}
	s.sign.latencies = append(s.sign.latencies, w.signs.since(e.at, data.OccurredAt))
	s.runtime.latencies = append(s.runtime.latencies, e.at.Sub(data.OccurredAt))
	return nil
}
