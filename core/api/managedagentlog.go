package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
)

// Lines of one answer.
const (
	defaultLogTail = 1000
	maxLogTail     = 100_000
)

// logPlace is where a follower is: after the nth of the lines that have one time, since many may. Its text is
// the id of that line's event.
type logPlace struct {
	at  time.Time // zero: at the beginning
	nth uint64    // from 1
}

func (p logPlace) append(b []byte) []byte {
	b = p.at.UTC().AppendFormat(b, time.RFC3339Nano)
	if p.nth > 1 {
		b = strconv.AppendUint(append(b, '/'), p.nth, 10)
	}
	return b
}

func parseLogPlace(text string) (p logPlace, ok bool) {
	at, nth, several := strings.Cut(text, "/")
	p.nth = 1
	var err error
	if several {
		if p.nth, err = strconv.ParseUint(nth, 10, 64); err != nil {
			return logPlace{}, false
		}
	}
	p.at, err = time.Parse(time.RFC3339Nano, at)
	return p, err == nil && !p.at.IsZero()
}

// logOptions reads the query. A follower that comes back goes on after the line it saw last.
func (c *call) logOptions() (opts core.LogOptions, after logPlace, err error) {
	opts = core.LogOptions{
		Tail: int(c.query.integer("tail")), Since: c.query.time("since"), Follow: c.query.boolean("follow"),
	}
	if opts.Tail == 0 {
		opts.Tail = defaultLogTail
		if !opts.Since.IsZero() {
			opts.Tail = maxLogTail
		}
	}
	if !opts.Follow {
		return opts, after, nil
	}
	header, one := single(c.r.Header, "Last-Event-Id")
	if header == "" && one {
		return opts, after, nil
	}
	after, ok := parseLogPlace(header)
	if !ok || !one {
		return opts, after, core.Invalid("Last-Event-ID", "must be the id of an event of this stream")
	}
	// Since leaves out its own time, of which there may be more lines than the follower saw.
	opts.Since, opts.Tail = after.at.Add(-time.Nanosecond), maxLogTail
	return opts, after, nil
}

// managedAgentLogs answers with lines, or follows them.
func (s *Server) managedAgentLogs(c *call) error {
	opts, after, err := c.logOptions()
	if err != nil {
		return err
	}
	if opts.Follow && isHead(c.w.Header()) {
		return s.headOfStream(c)
	}
	if opts.Follow {
		return s.followLogs(c, opts, after)
	}
	lines, err := s.opts.ManagedAgents.ManagedAgentLogs(c.ctx, c.param("agentId"), opts)
	if err != nil {
		return err
	}
	defer func() { _ = lines.Close() }()
	list := logList{Logs: []core.LogLine{}, Tail: opts.Tail}
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		list.Logs = append(list.Logs, line)
	}
	c.respond(ok(list))
	return nil
}

// headOfStream answers HEAD on an event stream of an agent.
func (s *Server) headOfStream(c *call) error {
	if _, err := s.opts.ManagedAgents.FindManagedAgent(c.ctx, c.param("agentId")); err != nil {
		return err
	}
	streamHeaders(c.w.Header())
	c.w.WriteHeader(http.StatusOK)
	return nil
}

// followLogs streams lines as they come.
func (s *Server) followLogs(c *call, opts core.LogOptions, after logPlace) error {
	r, err := s.streams.enter(c.config)
	if err != nil {
		return err
	}
	defer r.leave()
	ctx, cancel := context.WithCancel(c.ctx)
	lines, err := s.opts.ManagedAgents.ManagedAgentLogs(ctx, c.param("agentId"), opts)
	if err != nil {
		cancel()
		return err
	}
	events := newLogEvents(ctx, lines, after)
	defer func() {
		cancel()
		events.close()
	}()
	if !after.at.IsZero() && events.over() {
		c.w.WriteHeader(http.StatusNoContent) // tells a browser's EventSource to stop coming back
		c.w.WriteHeaderNow()
		return nil
	}
	w := newFrameWriter(c)
	defer w.close()
	w.begin(c.id)
	s.pump(c, r, events, w, logFrame)
	return nil
}
