package core

import (
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Timeline is what happened in an execution, for people: steps, the tasks in them, messages between roles,
// escalations and questions. Entries stand in the order in which they began.
type Timeline struct {
	ExecutionID string          `json:"executionId"`
	Pattern     PatternRef      `json:"pattern"`
	Status      ExecutionStatus `json:"status"`
	StartedAt   *time.Time      `json:"startedAt,omitempty"`
	CompletedAt *time.Time      `json:"completedAt,omitempty"`
	DurationMs  int64           `json:"duration"`
	Entries     []TimelineEntry `json:"entries"`
	// LastSeq is the sequence of the last event that it tells of: a stream that goes on after it misses nothing.
	LastSeq uint64 `json:"lastSeq"`
}

// TimelineKind says what an entry is.
type TimelineKind string

// Kinds of entries.
const (
	TimelineStep       TimelineKind = "step"
	TimelineTask       TimelineKind = "task"       // one attempt at one agent
	TimelineRole       TimelineKind = "role"       // an agent serves a role
	TimelineMessage    TimelineKind = "message"    // from a role to a role
	TimelineEscalation TimelineKind = "escalation" // a message that climbs
	TimelineQuestion   TimelineKind = "question"   // to people
	TimelineThread     TimelineKind = "thread"     // a managed thread of an ad-hoc execution
)

// TimelineEntry is one thing with a beginning and, once it is over, an end.
type TimelineEntry struct {
	Kind       TimelineKind `json:"kind"`
	ID         string       `json:"id"`             // path of a step, id of a task (the same for each attempt), message, question or thread; agent of a role
	Step       string       `json:"step,omitempty"` // path or id of the step that it belongs to; of a step: the step around it
	Type       string       `json:"type,omitempty"` // kind of the step, message type, or agent type
	Name       string       `json:"name,omitempty"` // of the step, the agent or the thread
	Role       string       `json:"role,omitempty"` // that does the task, or sends the message
	To         string       `json:"to,omitempty"`   // role that gets the message, or user
	AgentID    string       `json:"agentId,omitempty"`
	ThreadID   string       `json:"threadId,omitempty"` // of a role: the thread that its agent is
	Attempt    int          `json:"attempt,omitempty"`  // of a task from 1, of a step that is run again from 2, depth of an escalation
	Status     string       `json:"status"`             // running, completed, failed, timeout, lost, cancelled, skipped, open, answered, expired; of a thread its own
	Detail     string       `json:"detail,omitempty"`   // error, topic, branch taken, reason, feedback of a verdict
	Verdict    string       `json:"verdict,omitempty"`  // of a review or approve step that is over: approve, revise, reject
	StartedAt  time.Time    `json:"startedAt"`
	EndedAt    *time.Time   `json:"endedAt,omitempty"`
	DurationMs int64        `json:"duration"`        // to now while it runs
	Usage      *wire.Usage  `json:"usage,omitempty"` // of the turns of managed agents that told: a task, a message to a role, a thread
}
