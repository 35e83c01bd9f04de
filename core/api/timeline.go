package api

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/wardroom/wardroom/core"
)

func (s *Server) getTimeline(c *call) (answer, error) {
	t, err := s.opts.Timelines.Timeline(c.ctx, c.param("executionId"))
	if err != nil {
		return answer{}, err
	}
	if since := uint64(c.query.integer("since")); since > 0 {
		t.Entries = slices.DeleteFunc(t.Entries, func(e core.TimelineEntry) bool { return e.Sequence <= since && !changesAlone(&e) })
	}
	s.tellLost(c.ctx, t)
	return ok(t), nil
}

// changesAlone reports whether an entry may change without an event of its execution: threads have journals of their own, a
// role gets the thread that its agent is, and what runs at an agent that is lost says so while it is.
func changesAlone(e *core.TimelineEntry) bool {
	return e.Kind == core.TimelineThread || e.Kind == core.TimelineRole || e.Kind == core.TimelineTask && e.EndedAt == nil
}

func (s *Server) getTask(c *call) (answer, error) {
	return shown(s.opts.Timelines.FindTask(c.ctx, c.param("executionId"), c.param("taskId")))
}

func (s *Server) getStep(c *call) (answer, error) {
	return shown(s.opts.Timelines.FindStep(c.ctx, c.param("executionId"), c.param("path")))
}

// maxLostLooks bounds the agents that a timeline is completed with.
const maxLostLooks = 200

// tellLost says of what runs at an agent whose connection is lost how long it is waited for.
func (s *Server) tellLost(ctx context.Context, t *core.Timeline) {
	told := map[string]string{}
	for i := range t.Entries {
		e := &t.Entries[i]
		if e.EndedAt != nil || e.AgentID == "" || e.Kind != core.TimelineTask && e.Kind != core.TimelineRole {
			continue
		}
		text, known := told[e.AgentID]
		if !known && len(told) < maxLostLooks {
			if a, err := s.opts.Agents.FindAgent(ctx, e.AgentID); err == nil && a.HeldUntil != nil {
				text = fmt.Sprintf("agent lost, waits %d s", max(1, int64(math.Ceil(a.HeldUntil.Sub(s.opts.Clock.Now()).Seconds()))))
			}
			told[e.AgentID] = text
		}
		if text != "" {
			e.Detail = text
		}
	}
}
