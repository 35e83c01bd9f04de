// Package proof decides whether a round of the fault rig kept every promise of the product. It owns the form
// of the evidence (what clients were told, what agents saw, what the store says) and the rules that relate
// them. It does no input or output, starts nothing, and knows nothing of how the evidence was gathered; the
// fault rig calls it after each round, and its own tests feed it forged evidence.
package proof

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Evidence is everything known about one round. It is not changed by the rules.
type Evidence struct {
	Executions map[string]*Execution // all that the store made in the round, by id
	Journals   map[string][]Event    // by execution id, in the order the store gives
	Batches    map[string]*Batch     // those that clients were promised, by id
	Entries    []Entry               // of all agents since the round before
	Promises   []Promise
	Sightings  []Sighting
	Streams    []Stream
	// Ahead is by how much at most the clock of the product was ahead of that of agents and clients.
	Ahead  time.Duration
	Expect func(pattern string, input json.RawMessage) json.RawMessage // the result that the answers must come to
}

// Execution is an execution as the API returns it.
type Execution struct {
	ID      string `json:"executionId"`
	Pattern struct {
		Name string `json:"name"`
	} `json:"pattern"`
	Status  string          `json:"status"`
	Input   json.RawMessage `json:"input"`
	Options struct {
		Metadata struct {
			Nonce string `json:"nonce"`
		} `json:"metadata"`
	} `json:"options"`
	Result      json.RawMessage `json:"result"`
	Error       *Error          `json:"error"`
	CompletedAt string          `json:"completedAt"`
	CancelledAt string          `json:"cancelledAt"`
	Agents      []AgentResult   `json:"agents"`
	BatchID     string          `json:"batchId"`
	BatchIndex  *int            `json:"batchIndex"`
	RetryOf     string          `json:"retryOf"`
}

// Nonce names the request that made the execution.
func (e *Execution) Nonce() string { return e.Options.Metadata.Nonce }

// Error is why an execution failed.
type Error struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// AgentResult is what one agent gave to an execution.
type AgentResult = wire.AgentResult

// Event is one entry of an execution's journal.
type Event struct {
	Sequence uint64          `json:"sequence"`
	Type     string          `json:"type"`
	Data     json.RawMessage `json:"data"`
}

// Batch is a batch as the API returns it, with the inputs that were sent.
type Batch struct {
	ID        string       `json:"batchId"`
	Status    string       `json:"status"`
	Total     int          `json:"total"`
	Completed int          `json:"completed"`
	Failed    int          `json:"failed"`
	Cancelled int          `json:"cancelled"`
	Results   []BatchEntry `json:"results"`
}

// BatchEntry is the outcome of one item.
type BatchEntry struct {
	Index       int             `json:"index"`
	ExecutionID string          `json:"executionId"`
	Status      string          `json:"status"`
	Result      json.RawMessage `json:"result"`
}

// EntryKind says what an agent saw or did.
type EntryKind string

// Kinds of entries.
const (
	EntryHandout EntryKind = "handout" // a task frame arrived
	EntryAnswer  EntryKind = "answer"  // the handler came to an answer
	EntryAck     EntryKind = "ack"     // a task_ack frame arrived
)

// Entry is one line of an agent's own record.
type Entry struct {
	Kind        EntryKind       `json:"kind"`
	At          int64           `json:"at"` // nanoseconds since 1970, by the machine's clock
	Name        string          `json:"name"`
	AgentID     string          `json:"agentId"`
	TaskID      string          `json:"taskId"`
	ExecutionID string          `json:"executionId,omitempty"`
	Attempt     int             `json:"attempt,omitempty"`
	Result      json.RawMessage `json:"result,omitempty"` // of an answer; empty for an error
}

// PromiseKind says what a client was told.
type PromiseKind string

// Kinds of promises.
const (
	PromiseExecution PromiseKind = "execution" // started: 202, or 200 with Status and Result
	PromiseBatch     PromiseKind = "batch"     // started: 202
	PromiseCancel    PromiseKind = "cancel"    // cancelled: 200 with CancelledAt
	PromiseRetry     PromiseKind = "retry"     // started again: 202
)

// Promise is one acknowledgement of the product.
type Promise struct {
	Kind        PromiseKind
	ID          string            // of the execution or batch
	Key         string            // Idempotency-Key, or empty
	Input       json.RawMessage   // as sent
	Inputs      []json.RawMessage // of a batch
	Status      string            // of a sync answer
	Result      json.RawMessage   // of a sync answer
	CancelledAt string
	RetryOf     string
}

// Sighting is a state that a client read.
type Sighting struct {
	ID          string
	Sent, Got   time.Time // of the request; sightings whose requests overlap have no order
	Status      string
	CompletedAt string
	CancelledAt string
	Result      json.RawMessage
	Done        int // of a batch: completed and failed items
}

// Stream is what one reader saw of an execution's stream, over all its connections.
type Stream struct {
	ExecutionID string
	Frames      []Frame
	Resumes     int
	Ended       bool // the server ended it after the last event
}

// Frame is one event of a stream that has a place in the journal.
type Frame struct {
	Sequence uint64
	Type     string
}

// terminal reports whether an execution or batch in this state is over.
func terminal(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// Canonical returns JSON in one form for each value, so that values can be compared. Text that is no JSON
// stands for itself.
func Canonical(raw json.RawMessage) string {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return string(raw)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(data)
}
