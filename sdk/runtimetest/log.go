package runtimetest

import (
	"context"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// journal is the log of an agent.
type journal struct {
	mu      sync.Mutex // guards all below
	lines   []runtime.LogLine
	closed  bool          // the agent has stopped: nothing follows
	changed chan struct{} // closed at the next change
}

func (j *journal) add(stream, text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.SplitSeq(strings.TrimRight(text, "\r\n"), "\n") {
		j.lines = append(j.lines, runtime.LogLine{Timestamp: time.Now(), Stream: stream, Line: strings.TrimRight(line, "\r")})
	}
	j.wake()
}

func (j *journal) end(ended bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closed = ended
	j.wake()
}

func (j *journal) wake() {
	if j.changed != nil {
		close(j.changed)
		j.changed = nil
	}
}

// logStream implements runtime.LogStream.
type logStream struct {
	ctx     context.Context // of the call that opened the stream
	stop    context.CancelFunc
	alive   context.Context // of the runtime
	journal *journal
	next    int
	until   int // -1: follows
}

func (j *journal) open(ctx, alive context.Context, stop context.CancelFunc, opts runtime.LogOptions) *logStream {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := &logStream{ctx: ctx, stop: stop, alive: alive, journal: j, until: len(j.lines)}
	for s.next < len(j.lines) && !opts.Since.IsZero() && !j.lines[s.next].Timestamp.After(opts.Since) {
		s.next++
	}
	if opts.Tail > 0 {
		s.next = max(s.next, len(j.lines)-opts.Tail)
	}
	if opts.Follow {
		s.until = -1
	}
	return s
}

// Next implements runtime.LogStream.
func (s *logStream) Next() (runtime.LogLine, error) {
	for {
		if err := ended(s.ctx, s.alive); err != nil {
			return runtime.LogLine{}, err
		}
		s.journal.mu.Lock()
		if s.next == s.until || s.until < 0 && s.next == len(s.journal.lines) && s.journal.closed {
			s.journal.mu.Unlock()
			return runtime.LogLine{}, io.EOF
		}
		if s.next < len(s.journal.lines) {
			line := s.journal.lines[s.next]
			s.next++
			s.journal.mu.Unlock()
			return line, nil
		}
		if s.journal.changed == nil {
			s.journal.changed = make(chan struct{})
		}
		wait := s.journal.changed
		s.journal.mu.Unlock()
		select {
		case <-wait:
		case <-s.ctx.Done():
		case <-s.alive.Done():
		}
	}
}

// Close implements runtime.LogStream.
func (s *logStream) Close() error {
	s.stop()
	return nil
}
