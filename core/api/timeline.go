package api

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (s *Server) getTimeline(c *call) (answer, error) {
	t, err := s.opts.Executions.Timeline(c.ctx, c.param("executionId"))
	if err != nil {
		return answer{}, err
	}
	s.tellLost(c.ctx, t)
	return ok(timelineBody{t}), nil
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

// timelineBody is a timeline on the wire. It encodes itself, since workflows may have ten thousand steps.
type timelineBody struct{ t *core.Timeline }

// timelineSchema is what timelineBody encodes to.
type timelineSchema struct {
	ExecutionID  string               `json:"executionId"`
	Pattern      patternRef           `json:"pattern"`
	Status       core.ExecutionStatus `json:"status" enum:"pending,running,completed,failed,cancelled"`
	StartedAt    *timestamp           `json:"startedAt,omitempty"`
	CompletedAt  *timestamp           `json:"completedAt,omitempty"`
	Duration     int64                `json:"duration" doc:"Milliseconds."`
	Entries      []timelineEntry      `json:"entries" doc:"In the order in which they began."`
	LastSequence uint64               `json:"lastSequence" doc:"A stream that resumes after this event id misses nothing."`
}

type timelineEntry struct {
	Kind      core.TimelineKind `json:"kind" enum:"step,task,role,message,escalation,question,thread"`
	ID        string            `json:"id" doc:"Path of a step; id of a task (the same for each attempt), message, question or thread; agent of a role."`
	Step      string            `json:"step,omitempty" doc:"Step that it belongs to; of a step the one around it."`
	Type      string            `json:"type,omitempty" doc:"Kind of the step, type of the message, or agent type."`
	Name      string            `json:"name,omitempty" doc:"Of the step, the agent or the thread."`
	Role      string            `json:"role,omitempty" doc:"That does the task, or sends the message."`
	To        string            `json:"to,omitempty" doc:"Role that gets the message, or user."`
	AgentID   string            `json:"agentId,omitempty"`
	ThreadID  string            `json:"threadId,omitempty" doc:"Of a role: the managed thread that its agent is."`
	Attempt   int               `json:"attempt,omitempty" doc:"Of a task from 1, of a step that is run again from 2; depth of an escalation."`
	Status    string            `json:"status" doc:"running, completed, failed, timeout, lost, cancelled, skipped, open, answered or expired; of a thread its own status."`
	Detail    string            `json:"detail,omitempty" doc:"Error, topic, branch taken, reason, or feedback of a verdict. While an agent is lost, how long it is waited for."`
	Verdict   string            `json:"verdict,omitempty" enum:"approve,revise,reject" doc:"Of a review or approve step that is over."`
	StartedAt timestamp         `json:"startedAt"`
	EndedAt   *timestamp        `json:"endedAt,omitempty"`
	Duration  int64             `json:"duration" doc:"Milliseconds; up to now while it goes on."`
	Usage     *wire.Usage       `json:"usage,omitempty" doc:"Of a task of a managed agent, where it tells."`
}

func (timelineBody) JSONSchema() any { return timelineSchema{} }

func (b timelineBody) appendJSON(out []byte) []byte {
	t := b.t
	out = append(out, `{"executionId":`...)
	out = rawjson.AppendString(out, t.ExecutionID)
	out = append(out, `,"pattern":{"name":`...)
	out = rawjson.AppendString(out, t.Pattern.Name)
	out = append(out, `,"version":`...)
	out = rawjson.AppendString(out, t.Pattern.Version)
	out = append(out, `},"status":`...)
	out = rawjson.AppendString(out, string(t.Status))
	if t.StartedAt != nil {
		out = timestamp(*t.StartedAt).append(append(out, `,"startedAt":`...))
	}
	if t.CompletedAt != nil {
		out = timestamp(*t.CompletedAt).append(append(out, `,"completedAt":`...))
	}
	out = append(out, `,"duration":`...)
	out = strconv.AppendInt(out, t.DurationMs, 10)
	out = append(out, `,"entries":[`...)
	for i := range t.Entries {
		if i > 0 {
			out = append(out, ',')
		}
		out = appendTimelineEntry(out, &t.Entries[i])
	}
	out = append(out, `],"lastSequence":`...)
	return append(strconv.AppendUint(out, t.LastSeq, 10), '}')
}

func appendTimelineEntry(out []byte, e *core.TimelineEntry) []byte {
	text := func(key, value string) {
		if value != "" {
			out = append(out, `,"`...)
			out = append(out, key...)
			out = append(out, `":`...)
			out = rawjson.AppendString(out, value)
		}
	}
	out = append(out, `{"kind":`...)
	out = rawjson.AppendString(out, string(e.Kind))
	out = append(out, `,"id":`...)
	out = rawjson.AppendString(out, e.ID)
	text("step", e.Step)
	text("type", e.Type)
	text("name", e.Name)
	text("role", e.Role)
	text("to", e.To)
	text("agentId", e.AgentID)
	text("threadId", e.ThreadID)
	if e.Attempt != 0 {
		out = append(out, `,"attempt":`...)
		out = strconv.AppendInt(out, int64(e.Attempt), 10)
	}
	out = append(out, `,"status":`...)
	out = rawjson.AppendString(out, e.Status)
	text("detail", e.Detail)
	text("verdict", e.Verdict)
	out = timestamp(e.StartedAt).append(append(out, `,"startedAt":`...))
	if e.EndedAt != nil {
		out = timestamp(*e.EndedAt).append(append(out, `,"endedAt":`...))
	}
	out = append(out, `,"duration":`...)
	return append(appendUsage(strconv.AppendInt(out, e.DurationMs, 10), e.Usage), '}')
}
