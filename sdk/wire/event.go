package wire

import (
	"encoding/json"
	"time"
)

// EventPage comes with a page of events. They have no total: there may be very many.
type EventPage struct {
	Limit     int    `json:"limit"`
	HasMore   bool   `json:"hasMore" doc:"There are more; a page ends before its limit where events are large."`
	NextSince uint64 `json:"nextSince" doc:"since of the next page."`
}

// Event is something that happened to an execution, as its journal has it.
type Event struct {
	ExecutionID string          `json:"executionId"`
	Sequence    uint64          `json:"sequence" doc:"Rises over all executions; the id of the event in streams."`
	Type        string          `json:"type" example:"task.completed"`
	Timestamp   time.Time       `json:"timestamp"`
	Data        json.RawMessage `json:"data" doc:"Depends on the type."`
	Principal   string          `json:"principal,omitempty" doc:"Who caused it: a principal, or system where the server did by itself; absent of events of earlier versions."`
}

// ManagedAgentEvent is something that happened to a managed agent.
type ManagedAgentEvent struct {
	AgentID   string          `json:"agentId"`
	Sequence  uint64          `json:"sequence" doc:"Rises over all agents; the id of the event in the stream."`
	Type      string          `json:"type" example:"managed_agent.turn_complete"`
	Timestamp time.Time       `json:"timestamp"`
	Data      json.RawMessage `json:"data" doc:"Depends on the type; status is the one that it led to."`
	Principal string          `json:"principal,omitempty" doc:"Who caused it: a principal, or system where the server did by itself; absent of events of earlier versions."`
}

// ThreadEvent is something that happened to a thread.
type ThreadEvent struct {
	ID          string          `json:"id"`
	ThreadID    string          `json:"threadId"`
	ExecutionID string          `json:"executionId"`
	Sequence    uint64          `json:"sequence" doc:"Rises over all threads; the id of the event in streams."`
	Type        string          `json:"type" example:"thread_turn_complete"`
	Timestamp   time.Time       `json:"timestamp"`
	Data        json.RawMessage `json:"data" doc:"Depends on the type: see docs/threads.md."`
	Principal   string          `json:"principal,omitempty" doc:"Who caused it: a principal, or system where the server did by itself; absent of events of earlier versions."`
}

// FeedSkipped tells a reader of the stream of all events who asked for a rate what it did not get.
type FeedSkipped struct {
	Topics []string `json:"topics"` // that they belong to
	Count  int      `json:"count"`
	To     uint64   `json:"to"` // sequence of the newest of them
}

// FeedNotice tells of a change that is not stored as an event, as the stream of all events has it. It has no place in their order,
// and is not repeated: of one subject the newest stands for those before it.
type FeedNotice struct {
	Type      string          `json:"type"`
	Subject   string          `json:"subject"` // id of the batch or webhook, or name of the plugin, that it is about
	Timestamp time.Time       `json:"timestamp"`
	Topics    []string        `json:"topics"` // that it belongs to
	Data      json.RawMessage `json:"data"`
}

// FeedEvent is one thing that happened anywhere, as the stream of all events has it.
type FeedEvent struct {
	Sequence  uint64          `json:"sequence"` // rises over all subjects; events that the reader did not ask for are left out
	Type      string          `json:"type"`
	Subject   string          `json:"subject,omitempty"` // id of the execution, thread, agent or batch that it is about
	Timestamp time.Time       `json:"timestamp"`
	Topics    []string        `json:"topics"` // that it belongs to
	Data      json.RawMessage `json:"data"`
	Principal string          `json:"principal,omitempty" doc:"Who caused it: a principal, or system where the server did by itself; absent of events of earlier versions."`
}
