package api

import (
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

func (s *Server) threadStreamRoute() Route {
	return Route{
		Method: http.MethodGet, Path: "/api/executions/{executionId}/threads/stream", OperationID: "streamThreads",
		Summary: "Follow the threads of an execution as server-sent events.", Tag: "managed threads",
		Description: "Without Last-Event-ID (or lastEventId) what happens from now on; with it first what was stored after " +
			"that event, 0 being the beginning. The stream has no end of its own. Where stored events are gone, an event " +
			"gap {from, to, reason} says so. Threads that become ready, idle or stopped, or get a new summary, travel as " +
			"thread_status.",
		Resource: "executions", Action: "executions.read", Scope: "executions:read",
		Query: []Param{
			{Name: "threadIds", Type: ParamList, Doc: "Only these threads, comma-separated. Default: all of the execution."},
			{Name: "lastEventId", Type: ParamInteger, Doc: "Resume after this event id; the header Last-Event-ID wins."},
		},
		Responses: []Response{{Status: 200, Body: "", ContentType: "text/event-stream",
			Doc: "Events connected, thread_output, thread_blocked, thread_started, thread_completed, thread_failed, " +
				"thread_turn_complete, thread_status, thread_tool_running, and gap."}},
		Fails: []int{404}, Resumes: true, Stream: s.streamThreads,
	}
}

// streamThreads follows the threads of an execution.
func (s *Server) streamThreads(c *call) error {
	id := c.param("executionId")
	threadIDs, err := c.threadIDs()
	if err != nil {
		return err
	}
	if !c.acceptsStream() {
		return core.Invalid("Accept", "must allow text/event-stream")
	}
	at, gap, err := s.threadPosition(c, id)
	if err != nil {
		return err
	}
	if isHead(c.w.Header()) {
		return s.headOfThreads(c, id)
	}
	r, err := s.streams.enter(c.config)
	if err != nil {
		return err
	}
	defer r.leave()
	events, err := s.opts.Threads.FollowThreads(c.ctx, id, at, false)
	if err != nil {
		return err
	}
	defer events.Close()
	w := newFrameWriter(c)
	defer w.close()
	w.headers()
	first := connectedFrame(id, threadIDs, at, c.id)
	if gap != nil {
		first = append(first, gap.frame()...)
	}
	if !w.write(first) {
		s.opts.Metrics.StreamDropped("write")
		return nil
	}
	encode := func(ev core.Event) []byte { return encodeThreadFrame(id, ev) }
	s.pump(c, r, events, w, func(ev core.Event) []byte {
		if len(threadIDs) > 0 && !slices.Contains(threadIDs, ev.Subject) {
			return nil
		}
		return s.threadFrames.frame(ev, encode)
	})
	return nil
}

func (s *Server) headOfThreads(c *call, executionID string) error {
	events, err := s.opts.Threads.FollowThreads(c.ctx, executionID, 0, true)
	if err != nil {
		return err
	}
	events.Close()
	streamHeaders(c.w.Header())
	c.w.WriteHeader(http.StatusOK)
	return nil
}

// threadIDs reads the filter; an empty list is no filter.
func (c *call) threadIDs() ([]string, error) {
	ids := c.query.list("threadIds")
	for i, id := range ids {
		if !core.ValidID(core.PrefixThread, id) {
			return nil, core.Invalid("threadIds", "must be ids of threads, not %q", schema.Clip(id))
		}
		if slices.Contains(ids[:i], id) {
			return nil, core.Invalid("threadIds", "names %s twice", id)
		}
	}
	return ids, nil
}

// acceptsStream reports whether the client takes server-sent events: it says so, or says nothing.
func (c *call) acceptsStream() bool {
	values := c.r.Header["Accept"]
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			media, params, err := mime.ParseMediaType(part)
			if err != nil || media != "text/event-stream" && media != "text/*" && media != "*/*" {
				continue
			}
			if q, err := strconv.ParseFloat(params["q"], 64); err != nil || q > 0 {
				return true
			}
		}
	}
	return len(values) == 0
}

// Reasons of a gap.
const (
	gapTrimmed = "trimmed" // retention removed events
	gapFuture  = "future"  // the position is of another history, such as before a restore
)

// threadPosition is where a reader of the threads of an execution goes on, and what it cannot get any more.
func (s *Server) threadPosition(c *call, executionID string) (at uint64, gap *streamGap, err error) {
	now := s.opts.Journal.LastSeq()
	if header, one := single(c.r.Header, "Last-Event-Id"); header == "" && one && !c.query.given("lastEventId") {
		return now, nil, nil
	}
	if at, err = c.lastEventID(); err != nil {
		return 0, nil, err
	}
	if at > now {
		return now, &streamGap{from: at, to: now, reason: gapFuture}, nil
	}
	first, _, err := s.opts.Journal.Events(c.ctx, core.ThreadGroup(executionID), 0, 1)
	if err != nil || len(first) == 0 {
		return at, nil, err
	}
	// A group begins with the first message or state of its first thread. What begins otherwise has lost its beginning.
	begins := slices.Contains([]core.EventType{core.EventThreadInput, core.EventThreadStatus, core.EventThreadStarted}, first[0].Type)
	if first[0].Seq > at+1 && !begins {
		return at, &streamGap{from: at, to: first[0].Seq - 1, reason: gapTrimmed}, nil
	}
	return at, nil, nil
}
