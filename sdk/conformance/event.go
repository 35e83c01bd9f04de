package conformance

import (
	"context"
	"fmt"

	"github.com/wardroom/wardroom/sdk/runtime"
)

var eventChecks = []check[*suite]{
	{"events/order", "events come in order of Seq: started, ready, ..., stopped", false, eventsOrder},
	{"events/resume", "a reader that comes back with After gets exactly what it missed", false, eventsResume},
	{"events/log", "a number of another log than the runtime's is none: a reader that comes with it gets all events", false, eventsLog},
	{"events/live", "Live skips what happened before", false, withAgent(eventsLive)},
}

// eventsUntil reads events of an agent until one of a type.
func (s *suite) eventsUntil(ctx context.Context, opts runtime.EventOptions, last runtime.EventType) ([]runtime.Event, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.rt().Events(ctx, opts)
	if err != nil {
		return nil, fmt.Errorf("Events: %w", err)
	}
	defer func() { _ = stream.Close() }()
	var events []runtime.Event
	seq, log := opts.After, opts.Log
	for {
		event, err := stream.Next()
		if err != nil {
			return events, fmt.Errorf("Next before an event %q: %w", last, err)
		}
		if log != event.Log { // which is another than the reader's at most once
			if len(events) > 0 {
				return events, fmt.Errorf("event %d is of log %q, and the one before of %q", event.Seq, event.Log, log)
			}
			if log = event.Log; opts.Log != "" {
				seq = 0
			}
		}
		if event.Seq <= seq {
			return events, fmt.Errorf("event %d came after event %d", event.Seq, seq)
		}
		if opts.AgentID != "" && event.AgentID != opts.AgentID {
			return events, fmt.Errorf("an event of agent %s came among those of agent %s", event.AgentID, opts.AgentID)
		}
		if event.Agent.ID != event.AgentID || event.Time.IsZero() || event.Source == "" {
			return events, fmt.Errorf("the event %+v lacks its agent, time or source", event)
		}
		seq = event.Seq
		events = append(events, event)
		if event.Type == last {
			return events, nil
		}
	}
}

// lived returns the events of an agent that started, ran a line and stopped.
func (s *suite) lived(ctx context.Context) ([]runtime.Event, error) {
	agent, err := s.agent(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := s.ask(ctx, agent.ID, "echo lived"); err != nil {
		return nil, err
	}
	if err := s.rt().Stop(ctx, agent.ID, runtime.StopOptions{}); err != nil {
		return nil, fmt.Errorf("Stop: %w", err)
	}
	return s.eventsUntil(ctx, runtime.EventOptions{AgentID: agent.ID}, runtime.EventStopped)
}

func eventsOrder(ctx context.Context, s *suite) error {
	events, err := s.lived(ctx)
	if err != nil {
		return err
	}
	want := []runtime.EventType{runtime.EventStarted, runtime.EventReady, runtime.EventTurnComplete, runtime.EventStopped}
	for _, event := range events {
		if len(want) > 0 && event.Type == want[0] {
			want = want[1:]
		}
		if event.Type == runtime.EventTurnComplete && event.Turn != 1 {
			return fmt.Errorf("the first turn has number %d", event.Turn)
		}
		if event.Type == runtime.EventStopped && (event.Reason == "" || event.Agent.Status != runtime.StatusStopped) {
			return fmt.Errorf("the event %+v does not tell why the agent stopped, or not that it did", event)
		}
	}
	if len(want) > 0 {
		return fmt.Errorf("no event %q in its place among %v", want[0], eventTypes(events))
	}
	return nil
}

func eventTypes(events []runtime.Event) []runtime.EventType {
	list := make([]runtime.EventType, 0, len(events))
	for _, event := range events {
		list = append(list, event.Type)
	}
	return list
}

func eventsResume(ctx context.Context, s *suite) error {
	events, err := s.lived(ctx)
	if err != nil {
		return err
	}
	for i := range events[:len(events)-1] {
		rest, err := s.eventsUntil(ctx, runtime.EventOptions{AgentID: events[i].AgentID, After: events[i].Seq}, runtime.EventStopped)
		if err != nil {
			return err
		}
		if len(rest) != len(events)-i-1 || rest[0].Seq != events[i+1].Seq {
			return fmt.Errorf("after event %d of %d, %d events followed, the first with seq %d instead of %d", i+1, len(events), len(rest), rest[0].Seq, events[i+1].Seq)
		}
	}
	return nil
}

func eventsLog(ctx context.Context, s *suite) error {
	events, err := s.lived(ctx)
	if err != nil {
		return err
	}
	if events[0].Log == "" {
		return skip("the runtime does not say which log its events are of")
	}
	if len(events[0].Log) > runtime.MaxLog {
		return fmt.Errorf("the id of the log has %d bytes and may have %d", len(events[0].Log), runtime.MaxLog)
	}
	opts := runtime.EventOptions{AgentID: events[0].AgentID, After: events[0].Seq, Log: "another-log"}
	all, err := s.eventsUntil(ctx, opts, runtime.EventStopped)
	if err != nil {
		return err
	}
	if all[0].Seq != events[0].Seq {
		return fmt.Errorf("a reader with a number of another log gets events from %d on, and the first is %d", all[0].Seq, events[0].Seq)
	}
	opts.Log = events[0].Log
	rest, err := s.eventsUntil(ctx, opts, runtime.EventStopped)
	if err != nil {
		return err
	}
	if rest[0].Seq != events[1].Seq {
		return fmt.Errorf("after event %d of the log itself, events begin with %d instead of %d", events[0].Seq, rest[0].Seq, events[1].Seq)
	}
	return nil
}

func eventsLive(ctx context.Context, s *suite, id string) error {
	// A state is seen before the event that tells of it, so the agent's being ready does not say that this was sent.
	if _, err := s.eventsUntil(ctx, runtime.EventOptions{AgentID: id}, runtime.EventReady); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.rt().Events(ctx, runtime.EventOptions{AgentID: id, Live: true})
	if err != nil {
		return fmt.Errorf("Events: %w", err)
	}
	defer func() { _ = stream.Close() }()
	if err := s.rt().Stop(ctx, id, runtime.StopOptions{Force: true}); err != nil {
		return fmt.Errorf("Stop: %w", err)
	}
	for {
		event, err := stream.Next()
		if err != nil {
			return fmt.Errorf("Next: %w", err)
		}
		switch event.Type {
		case runtime.EventStarted, runtime.EventReady:
			return fmt.Errorf("a live stream begins with %q, which happened before", event.Type)
		case runtime.EventStopped:
			return nil
		default:
		}
	}
}
