package client

import (
	"context"
	"net/http"
	"time"
)

// Kinds of timeline entries.
const (
	TimelineStep       = "step"
	TimelineTask       = "task"       // one attempt at one agent
	TimelineRole       = "role"       // an agent serves a role
	TimelineMessage    = "message"    // from a role to a role
	TimelineEscalation = "escalation" // a message that climbs
	TimelineQuestion   = "question"   // to people
	TimelineThread     = "thread"     // a managed thread that serves no role
)

// Timeline is what happened in an execution so far.
type Timeline struct {
	Meta
	ExecutionID string          `json:"executionId"`
	Pattern     PatternRef      `json:"pattern"`
	Status      string          `json:"status"`
	StartedAt   *time.Time      `json:"startedAt,omitempty"`
	CompletedAt *time.Time      `json:"completedAt,omitempty"`
	Duration    Millis          `json:"duration"`
	Entries     []TimelineEntry `json:"entries"` // in the order in which they began
	// LastSequence, as the `after` of WatchExecution, makes a stream that misses nothing after this timeline.
	LastSequence uint64 `json:"lastSequence"`
}

// TimelineEntry is one thing with a beginning and, once it is over, an end.
type TimelineEntry struct {
	Kind      string     `json:"kind"`
	ID        string     `json:"id"`             // path of a step; id of a task, message, question or thread; agent of a role
	Step      string     `json:"step,omitempty"` // that it belongs to; of a step: the one around it
	Type      string     `json:"type,omitempty"` // kind of the step, type of the message, or agent type
	Name      string     `json:"name,omitempty"`
	Role      string     `json:"role,omitempty"` // that does the task, or sends the message
	To        string     `json:"to,omitempty"`   // role that gets the message, or user
	AgentID   string     `json:"agentId,omitempty"`
	ThreadID  string     `json:"threadId,omitempty"` // of a role: the managed thread that its agent is
	Attempt   int        `json:"attempt,omitempty"`  // of a task from 1, of a step run again from 2; depth of an escalation
	Status    string     `json:"status"`             // running, completed, failed, open, answered and so on
	Detail    string     `json:"detail,omitempty"`   // error, topic, branch taken, reason, or feedback of a verdict
	Verdict   string     `json:"verdict,omitempty"`  // of a review or approve step that is over: approve, revise or reject
	StartedAt time.Time  `json:"startedAt"`
	EndedAt   *time.Time `json:"endedAt,omitempty"`
	Duration  Millis     `json:"duration"` // up to now while it goes on
}

// GetTimeline tells what happened in an execution so far.
func (c *Client) GetTimeline(ctx context.Context, id string) (*Timeline, error) {
	out := new(Timeline)
	return result(out, c.do(ctx, request{method: http.MethodGet, path: executionPath(id) + "/timeline"}, out))
}
