package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (s *Server) streamRoutes() []Route {
	const tag, resource = "executions", "executions"
	last := Param{Name: "lastEventId", Type: ParamInteger, Default: "0",
		Doc: "Resume after this event id; the header Last-Event-ID wins."}
	events := Response{Status: 200, Body: "", ContentType: "text/event-stream",
		Doc: "Events started, agent_result, step_completed, agent_progress, then completed, failed or cancelled. " +
			"Of an org chart also step_started, role_bound, role_released, message_sent, message_escalated, " +
			"message_replied, message_closed, question_asked, question_answered and question_expired."}
	nothingMore := Response{Status: http.StatusNoContent,
		Doc: "The execution is over and nothing happened after the given event."}
	return []Route{
		{
			Method: http.MethodPost, Path: "/api/patterns/{name}/execute/stream", OperationID: "streamPattern",
			Summary: "Run a pattern and follow it as server-sent events.", Tag: tag, Resource: resource,
			Action: "executions.create", Scope: "executions:create",
			Query: []Param{versionParam, last},
			Body:  &Body{JSON: new(wire.ExecuteRequest), Optional: true}, Responses: []Response{events, nothingMore},
			Fails: []int{404, 409}, Creates: true, Resumes: true, Stream: s.streamPattern,
		},
		{
			Method: http.MethodGet, Path: "/api/executions/{executionId}/stream", OperationID: "streamExecution",
			Summary: "Follow an execution, running or finished, as server-sent events.", Tag: tag,
			Resource: resource, Action: "executions.read", Scope: "executions:read",
			Query: []Param{last}, Responses: []Response{events, nothingMore},
			Fails: []int{404}, Resumes: true, Stream: s.streamExecution,
		},
	}
}

// lastEventID is where a reader goes on.
func (c *call) lastEventID() (uint64, error) {
	header, one := single(c.r.Header, "Last-Event-Id")
	if header == "" && one {
		return uint64(c.query.integer("lastEventId")), nil
	}
	return c.lastEventHeader()
}

// lastEventHeader reads the header Last-Event-ID.
func (c *call) lastEventHeader() (uint64, error) {
	header, one := single(c.r.Header, "Last-Event-Id")
	after, err := strconv.ParseUint(header, 10, 64)
	if err != nil || !one {
		return 0, core.Invalid("Last-Event-ID", "must be the id of an event of this stream")
	}
	return after, nil
}

// streamPattern starts an execution and streams it. With a known Idempotency-Key it attaches to the
// execution of the first request.
func (s *Server) streamPattern(c *call) error {
	after, err := c.lastEventID()
	if err != nil {
		return err
	}
	key, err := c.idempotencyKey()
	if err != nil {
		return err
	}
	id, known, err := s.startStreamed(c, key)
	if err != nil {
		return err
	}
	if !known {
		after = 0 // no event of a new execution was seen, whatever stream the header is from
	}
	return s.follow(c, id, after)
}

// startStreamed returns the id of a new execution, or of the one that the key made, which is known.
func (s *Server) startStreamed(c *call, key string) (id string, known bool, err error) {
	req, err := c.executeRequest()
	if err != nil {
		return "", false, err
	}
	if s.streams.draining() {
		return "", false, core.Unavailable("stopping", "the service is stopping")
	}
	if key != "" {
		claim := c.claim(key)
		release, err := s.flights.enter(c.ctx, claim)
		if err != nil {
			return "", false, err
		}
		defer release()
		rec, err := c.claimed(claim)
		if err != nil {
			return "", false, err
		}
		if rec != nil {
			c.w.Header()["Idempotent-Replayed"] = replayed
			return rec.ResourceID, true, nil
		}
		c.ctx = core.WithIdempotency(c.ctx, claim)
	}
	req.RequireAgents = true // before the first byte, while the answer can still be an error
	e, err := s.opts.Executions.Start(c.detached(), req)
	if err != nil {
		return "", false, err
	}
	return e.ID, false, nil
}

func (s *Server) streamExecution(c *call) error {
	after, err := c.lastEventID()
	if err != nil {
		return err
	}
	id := c.param("executionId")
	if isHead(c.w.Header()) {
		if _, err := s.opts.Executions.FindExecution(c.ctx, id); err != nil {
			return err
		}
		streamHeaders(c.w.Header())
		c.w.WriteHeader(http.StatusOK)
		return nil
	}
	return s.follow(c, id, after)
}

// follow streams an execution from the event after `after`.
func (s *Server) follow(c *call, id string, after uint64) error {
	r, err := s.streams.enter(c.config)
	if err != nil {
		return err
	}
	defer r.leave()
	stream, err := s.opts.Executions.Stream(c.ctx, id, after)
	if err != nil {
		return err
	}
	defer stream.Close()
	if after > 0 {
		over, err := s.exhausted(c, id, stream)
		if err != nil {
			return err
		}
		if over {
			// Tells a browser's EventSource to stop coming back.
			c.w.WriteHeader(http.StatusNoContent)
			c.w.WriteHeaderNow()
			return nil
		}
		// What was looked at is read again: the journal keeps it.
		stream.Close()
		if stream, err = s.opts.Executions.Stream(c.ctx, id, after); err != nil {
			return err
		}
		defer stream.Close()
	}
	w := newFrameWriter(c)
	defer w.close()
	w.begin(c.id)
	s.pump(c, r, stream, w, s.executionFrame)
	return nil
}

// exhausted reports whether a resumed stream has nothing left: its execution is over, and so are its events.
func (s *Server) exhausted(c *call, id string, stream core.EventStream) (bool, error) {
	e, err := s.opts.Executions.FindExecution(c.ctx, id)
	if err != nil || !e.Status.Terminal() {
		return false, err
	}
	_, err = stream.Next(c.ctx)
	if errors.Is(err, io.EOF) {
		return true, nil
	}
	return false, err
}

// poller is implemented by streams that know what they have in memory: Poll returns the next event without waiting.
type poller interface{ Poll() (core.Event, bool) }

// pump writes events until the stream, the reader or the server ends. render makes the frame of an event; nil
// is an event that is not shown.
func (s *Server) pump(
	c *call, r *reader, stream core.EventStream, w *frameWriter, render func(core.Event) []byte,
) {
	ctx := r.arm(c.ctx)
	waiting, _ := stream.(poller)
	for {
		ev, err := stream.Next(ctx)
		if err == nil {
			if !w.writeEvents(ev, waiting, render) {
				s.opts.Metrics.StreamDropped("write")
				return
			}
			continue
		}
		switch cause := context.Cause(ctx); {
		case errors.Is(err, io.EOF) || c.ctx.Err() != nil:
			return
		case cause == nil:
			// The subject's own end: shutting down, or the reader was too slow.
			if !core.AsError(err).Unavailable {
				s.log.Error("stream broke off", "request", c.id, "error", err)
			}
			s.opts.Metrics.StreamDropped("source")
			w.write(commentEnd)
			return
		case errors.Is(cause, errDrained):
			s.opts.Metrics.StreamDropped("shutdown")
			w.write(commentEnd)
			return
		}
		r.take()
		if !s.opts.Clock.Now().Before(r.until) {
			s.opts.Metrics.StreamDropped("age")
			w.write(commentEnd)
			return
		}
		if !w.write(commentHeartbeat) {
			s.opts.Metrics.StreamDropped("write")
			return
		}
		ctx = r.arm(c.ctx)
	}
}
