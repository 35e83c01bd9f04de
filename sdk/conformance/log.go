package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/sdk/runtime"
)

var logChecks = []check[*suite]{
	{"logs/select", "the log has inputs and answers in order of time, and tail and since select", false, withAgent(logsSelect)},
	{"logs/follow", "a log that is followed shows what happens next", false, withAgent(logsFollow)},
}

// log returns the lines of one stream, or of all with stream "".
func (s *suite) log(ctx context.Context, id string, opts runtime.LogOptions, stream string) ([]string, error) {
	entries, err := s.entries(ctx, id, opts)
	var lines []string
	for _, entry := range entries {
		if stream == "" || entry.Stream == stream {
			lines = append(lines, entry.Line)
		}
	}
	return lines, err
}

func (s *suite) entries(ctx context.Context, id string, opts runtime.LogOptions) ([]runtime.LogLine, error) {
	logs, err := s.rt().Logs(ctx, id, opts)
	if err != nil {
		return nil, fmt.Errorf("Logs: %w", err)
	}
	defer func() { _ = logs.Close() }()
	var entries []runtime.LogLine
	for {
		line, err := logs.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return nil, fmt.Errorf("Next of a log: %w", err)
		}
		entries = append(entries, line)
	}
}

func logsSelect(ctx context.Context, s *suite, id string) error {
	for n := range 2 {
		if _, err := s.ask(ctx, id, fmt.Sprintf("echo logged-$((30+%d))", n)); err != nil {
			return err
		}
	}
	if err := s.rt().Stop(ctx, id, runtime.StopOptions{Force: true}); err != nil {
		return fmt.Errorf("Stop: %w", err)
	}
	all, err := s.entries(ctx, id, runtime.LogOptions{})
	if err != nil {
		return err
	}
	for i, line := range all {
		if line.Timestamp.IsZero() || i > 0 && line.Timestamp.Before(all[i-1].Timestamp) {
			return fmt.Errorf("line %d of the log is older than the one before it", i)
		}
	}
	for _, want := range []runtime.LogLine{
		{Stream: runtime.StreamInput, Line: "echo logged-$((30+0))"}, {Stream: runtime.StreamOutput, Line: "logged-30"},
		{Stream: runtime.StreamInput, Line: "echo logged-$((30+1))"}, {Stream: runtime.StreamOutput, Line: "logged-31"},
	} {
		if !slices.ContainsFunc(all, func(l runtime.LogLine) bool { return l.Stream == want.Stream && strings.TrimSpace(l.Line) == want.Line }) {
			return fmt.Errorf("the log has no %s line %q", want.Stream, want.Line)
		}
	}
	tail, err := s.entries(ctx, id, runtime.LogOptions{Tail: 2})
	if err != nil {
		return err
	}
	if len(tail) != 2 || tail[1].Line != all[len(all)-1].Line {
		return fmt.Errorf("the last 2 of %d lines are %+v", len(all), tail)
	}
	// Lines of one time are not told apart: what matters is that none of them, nor an older one, comes again.
	middle := all[len(all)/2].Timestamp
	since, err := s.entries(ctx, id, runtime.LogOptions{Since: middle})
	if err != nil {
		return err
	}
	for _, line := range since {
		if !line.Timestamp.After(middle) {
			return fmt.Errorf("since %v, which is exclusive, has a line of %v", middle, line.Timestamp)
		}
	}
	return nil
}

func logsFollow(ctx context.Context, s *suite, id string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	logs, err := s.rt().Logs(ctx, id, runtime.LogOptions{Follow: true})
	if err != nil {
		return fmt.Errorf("Logs: %w", err)
	}
	defer func() { _ = logs.Close() }()
	if _, err := s.ask(ctx, id, "echo followed-$((6))"); err != nil {
		return err
	}
	for {
		line, err := logs.Next()
		if err != nil {
			return fmt.Errorf("Next: %w", err)
		}
		if line.Stream == runtime.StreamOutput && strings.Contains(line.Line, "followed-6") {
			return nil
		}
	}
}
