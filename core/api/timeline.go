package api

import (
	"context"
	"fmt"
	"math"

	"github.com/wardroom/wardroom/core"
)

func (s *Server) getTimeline(c *call) (answer, error) {
	t, err := s.opts.Executions.Timeline(c.ctx, c.param("executionId"))
	if err != nil {
		return answer{}, err
	}
	s.tellLost(c.ctx, t)
	return ok(t), nil
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
