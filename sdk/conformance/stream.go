package conformance

import (
	"context"
	"fmt"
	goruntime "runtime"

	"github.com/wardroom/wardroom/sdk/runtime"
)

var streamChecks = []check[*suite]{
	{"streams/cancel", "the end of a context ends its streams and leaves no goroutine", false, withAgent(streamsCancel)},
	{"streams/close", "closing a terminal twice is safe, and ends it", false, withView(streamsClose)},
}

// streamsCancel opens streams, ends their context while they wait, and counts goroutines. Idle connections may
// stay, so the count is compared with a margin that is far below one goroutine a stream.
func streamsCancel(ctx context.Context, s *suite, id string) error {
	const each, margin = 20, 15
	before := goruntime.NumGoroutine()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	ends := make(chan string, 3*each)
	for range each {
		terminal, err := s.rt().Attach(inner, id, runtime.AttachOptions{})
		if err != nil {
			return fmt.Errorf("Attach: %w", err)
		}
		go until(ends, "a terminal", func() error { _, err := terminal.Recv(); return err }, terminal.Close)
		events, err := s.rt().Events(inner, runtime.EventOptions{AgentID: id})
		if err != nil {
			return fmt.Errorf("Events: %w", err)
		}
		go until(ends, "a stream of events", func() error { _, err := events.Next(); return err }, events.Close)
		logs, err := s.rt().Logs(inner, id, runtime.LogOptions{Follow: true})
		if err != nil {
			return fmt.Errorf("Logs: %w", err)
		}
		go until(ends, "a log", func() error { _, err := logs.Next(); return err }, logs.Close)
	}
	cancel()
	open := map[string]int{"a terminal": each, "a stream of events": each, "a log": each}
	for range 3 * each {
		select {
		case name := <-ends:
			open[name]--
		case <-ctx.Done():
			return fmt.Errorf("after the end of their context these did not end: %v", open)
		}
	}
	return eventually(ctx, func() error {
		if now := goruntime.NumGoroutine(); now > before+margin {
			buf := make([]byte, 1<<20)
			return fmt.Errorf("%d goroutines were left by %d streams:\n%s", now-before, 3*each, buf[:goruntime.Stack(buf, true)])
		}
		return nil
	})
}

// until reads a stream to its end.
func until(ends chan<- string, name string, next, closer func() error) {
	for next() == nil { // what comes does not matter
	}
	_ = closer()
	ends <- name
}

func streamsClose(ctx context.Context, _ *suite, _ string, v *view) error {
	for range 2 {
		if err := v.terminal.Close(); err != nil {
			return fmt.Errorf("Close: %w", err)
		}
	}
	return eventually(ctx, v.ended)
}
