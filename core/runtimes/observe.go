package runtimes

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// ManagedAgentMetrics implements core.ManagedAgentService.
func (s *Service) ManagedAgentMetrics(ctx context.Context, id string) (core.ManagedAgentMetrics, error) {
	r, rt, err := s.runtimeOf(id)
	if err != nil {
		return core.ManagedAgentMetrics{}, err
	}
	if r.Gone() {
		return core.ManagedAgentMetrics{}, gone(r)
	}
	m, err := rt.Metrics(ctx, id)
	if err != nil {
		return core.ManagedAgentMetrics{}, s.failed(err, id)
	}
	return m, nil
}

// ManagedAgentLogs implements core.ManagedAgentService.
func (s *Service) ManagedAgentLogs(ctx context.Context, id string, opts core.LogOptions) (core.LogStream, error) {
	r, rt, err := s.runtimeOf(id)
	if err != nil {
		return nil, err
	}
	stream, err := rt.Logs(ctx, id, runtime.LogOptions{Tail: opts.Tail, Since: opts.Since, Follow: opts.Follow})
	if err != nil {
		return nil, translate(err, r)
	}
	return logStream{stream, r}, nil
}

// logStream is a runtime's log in our terms.
type logStream struct {
	stream runtime.LogStream
	record *core.ManagedAgentRecord
}

// Next implements core.LogStream.
func (l logStream) Next() (core.LogLine, error) {
	line, err := l.stream.Next()
	if _, ok := err.(*runtime.Error); ok { //nolint:errorlint // io.EOF and ctx errors pass as they are
		return core.LogLine{}, translate(err, l.record)
	}
	return core.LogLine(line), err
}

// Close implements core.LogStream.
func (l logStream) Close() error { return l.stream.Close() }

// ManagedAgentEvents implements core.ManagedAgentService. A stream has no end of its own: an agent may be
// restarted.
func (s *Service) ManagedAgentEvents(ctx context.Context, id string, after uint64) (core.EventStream, error) {
	if _, err := s.record(id); err != nil {
		return nil, err
	}
	return s.opts.Streams.Stream(ctx, id, after, func(core.Event) bool { return false })
}
