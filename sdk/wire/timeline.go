package wire

import "time"

// Timeline is what happened in an execution, for people: steps, the tasks in them, messages between roles, escalations
// and questions.
type Timeline struct {
	ExecutionID  string          `json:"executionId"`
	Pattern      PatternRef      `json:"pattern"`
	Status       ExecutionStatus `json:"status" enum:"pending,running,completed,failed,cancelled"`
	StartedAt    *time.Time      `json:"startedAt,omitempty"`
	CompletedAt  *time.Time      `json:"completedAt,omitempty"`
	Duration     Millis          `json:"duration" doc:"Milliseconds."`
	Entries      []TimelineEntry `json:"entries" doc:"In the order in which they began."`
	LastSequence uint64          `json:"lastSequence" doc:"A stream that resumes after this event id misses nothing."`
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
	TimelineThread     TimelineKind = "thread"     // a managed thread that serves no role
	TimelineApproval   TimelineKind = "approval"   // a prompt of a thread that a rule or somebody answered
)

// TimelineEntry is one thing with a beginning and, once it is over, an end.
type TimelineEntry struct {
	Kind      TimelineKind  `json:"kind" enum:"step,task,role,message,escalation,question,thread,approval"`
	ID        string        `json:"id" doc:"Path of a step; id of a task (the same for each attempt), message, question, thread or prompt; agent of a role."`
	Step      string        `json:"step,omitempty" doc:"Step that it belongs to; of a step the one around it."`
	Type      string        `json:"type,omitempty" doc:"Kind of the step, type of the message, agent type, or the tool that an approval is about."`
	Name      string        `json:"name,omitempty" doc:"Of the step, the agent or the thread."`
	Role      string        `json:"role,omitempty" doc:"That does the task, or sends the message."`
	To        string        `json:"to,omitempty" doc:"Role that gets the message, or user."`
	AgentID   string        `json:"agentId,omitempty"`
	ThreadID  string        `json:"threadId,omitempty" doc:"Of a role: the managed thread that its agent is. Of an approval: the thread that asked."`
	Attempt   int           `json:"attempt,omitempty" doc:"Of a task from 1, of a step that is run again from 2; depth of an escalation."`
	Status    string        `json:"status" doc:"running, completed, failed, timeout, lost, cancelled, skipped, open, answered or expired; of a thread its own status."`
	Detail    string        `json:"detail,omitempty" doc:"Error, topic, branch taken, reason, or feedback of a verdict. While an agent is lost, how long it is waited for."`
	Verdict   string        `json:"verdict,omitempty" enum:"approve,revise,reject" doc:"Of a review or approve step that is over."`
	Ruling    *PromptRuling `json:"ruling,omitempty" doc:"Of an approval: which rule, or who, answers."`
	By        string        `json:"by,omitempty" doc:"Who answered a question."`
	StartedAt time.Time     `json:"startedAt"`
	EndedAt   *time.Time    `json:"endedAt,omitempty"`
	Duration  Millis        `json:"duration" doc:"Milliseconds; up to now while it goes on."`
	Usage     *Usage        `json:"usage,omitempty" doc:"Of a task of a managed agent, where it tells."`

	FirstSequence uint64 `json:"firstSequence,omitempty" doc:"Of the event in the journal that it began with. Absent of threads, which have journals of their own."`
	Sequence      uint64 `json:"sequence,omitempty" doc:"Of the event that changed it last."`
}
