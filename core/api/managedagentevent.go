package api

import (
	"bytes"
	"mime"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// wantsStream reports whether the client asks for server-sent events.
func (c *call) wantsStream() bool {
	for _, value := range c.r.Header["Accept"] {
		for part := range strings.SplitSeq(value, ",") {
			media, params, err := mime.ParseMediaType(part)
			if err == nil && media == "text/event-stream" && params["q"] != "0" {
				return true
			}
		}
	}
	return false
}

// managedAgentEvents answers with a page of events, or follows them.
func (s *Server) managedAgentEvents(c *call) error {
	if !c.wantsStream() {
		return s.listManagedEvents(c)
	}
	after := uint64(c.query.integer("since"))
	if _, given := c.r.Header["Last-Event-Id"]; given {
		last, err := c.lastEventHeader()
		if err != nil {
			return err
		}
		after = last
	}
	if isHead(c.w.Header()) {
		return s.headOfStream(c)
	}
	r, err := s.streams.enter(c.config)
	if err != nil {
		return err
	}
	defer r.leave()
	events, err := s.opts.ManagedAgents.ManagedAgentEvents(c.ctx, c.param("agentId"), after)
	if err != nil {
		return err
	}
	defer events.Close()
	w := newFrameWriter(c)
	defer w.close()
	w.begin(c.id)
	s.pump(c, r, events, w, func(ev core.Event) []byte { return s.agentFrames.frame(ev, managedEventFrame) })
	return nil
}

func (s *Server) listManagedEvents(c *call) error {
	id := c.param("agentId")
	if _, err := s.opts.ManagedAgents.FindManagedAgent(c.ctx, id); err != nil {
		return err
	}
	since, limit := uint64(c.query.integer("since")), int(c.query.integer("limit"))
	if c.query.given("before") {
		if c.query.given("since") {
			return core.Invalid("before", "cannot be combined with since")
		}
		return s.managedEventsBefore(c, id, limit)
	}
	found, more, err := s.opts.Journal.Events(c.ctx, id, since, limit)
	if err != nil {
		return err
	}
	list := managedEventList{EventPage: wire.EventPage{Limit: limit, HasMore: more, NextSince: since}}
	list.Events = make([]wire.ManagedAgentEvent, len(found))
	for i, ev := range found {
		list.Events[i] = newManagedEvent(ev)
		list.NextSince = ev.Seq
	}
	c.respond(ok(list))
	return nil
}

// managedEventsBefore answers with the newest events before a sequence, in their order.
func (s *Server) managedEventsBefore(c *call, id string, limit int) error {
	before := uint64(c.query.integer("before"))
	if before == 0 {
		before = s.opts.Journal.LastSeq() + 1
	}
	found, more, err := s.opts.Journal.EventsBefore(c.ctx, id, before, limit)
	if err != nil {
		return err
	}
	list := managedEventList{EventPage: wire.EventPage{Limit: limit, HasMore: more, NextSince: before - 1}, NextBefore: before}
	list.Events = make([]wire.ManagedAgentEvent, len(found))
	for i, ev := range found {
		list.Events[len(found)-1-i] = newManagedEvent(ev)
		list.NextBefore = ev.Seq
	}
	c.respond(ok(list))
	return nil
}

// managedEventFrame renders an event of an agent.
func managedEventFrame(ev core.Event) []byte {
	buf := buffers.Get().(*bytes.Buffer)
	defer putBuffer(buf)
	encodeBody(buf, newManagedEvent(ev))
	return frameOf(string(ev.Type), ev.Seq, buf.Bytes())
}
