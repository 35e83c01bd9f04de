package core

import (
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// ThreadTurn is how a turn of a thread ended.
type ThreadTurn = wire.ThreadTurn

// ThreadWork is the message that the agent of a thread works on, from before it is handed over until its turn is over.
// Its text stays in the queue as long. One that is to be handed over again comes before all others.
type ThreadWork struct {
	InputID string `json:"inputId"`
	Number  uint64 `json:"number,omitempty"` // of the input; 0: a word to go on, which is in no queue
	By      string `json:"by,omitempty"`     // principal who sent the input
	// Attempt is how often it was handed over before; the agent knows each attempt by another key.
	Attempt int `json:"attempt,omitempty"`
	// Failures is how many turns of it failed in a row.
	Failures int `json:"failures,omitempty"`
	// Refusals is how often in a row its host did not take it.
	Refusals int `json:"refusals,omitempty"`
	// Held reports whether it is being handed over, or was; else it waits to be handed over again.
	Held  bool `json:"held,omitempty"`
	Taken bool `json:"taken,omitempty"` // the agent has it
	// Refused reports whether the agent said that it did not take it, until it is handed over anew.
	Refused bool `json:"refused,omitempty"`
	// Begun reports whether its turn was seen to begin.
	Begun bool `json:"begun,omitempty"`
	// Ended is how its turn ended, until it is sure that the turn was its own, and that no login cut it off.
	Ended *wire.TurnOutcome `json:"ended,omitempty"`
	// Resume has the agent go on instead of being given the text again: the session SessionID has it.
	Resume    bool   `json:"resume,omitempty"`
	SessionID string `json:"sessionId,omitempty"`
	// Reason is why it is handed over again.
	Reason string `json:"reason,omitempty"`
}

// ThreadSpeech holds what the agent of a thread said in the turn that runs.
type ThreadSpeech struct {
	Pieces   []string  `json:"pieces,omitempty"`   // as they came, the last ones, bounded
	Pending  string    `json:"pending,omitempty"`  // of them: not told yet
	Cut      bool      `json:"cut,omitempty"`      // of Pending
	ToldAt   time.Time `json:"toldAt,omitzero"`    // when the last piece was reported
	Reported bool      `json:"reported,omitempty"` // a report stood in one of them
}

// ThreadNotice is the data of a public event of a thread.
type ThreadNotice struct {
	ThreadID       string          `json:"threadId"`
	ExecutionID    string          `json:"executionId"`
	Name           string          `json:"name"`
	Role           string          `json:"role,omitempty"`
	AgentType      string          `json:"agentType"`
	ManagedAgentID string          `json:"managedAgentId,omitempty"`
	AgentID        string          `json:"agentId,omitempty"`  // connected agent that hosts it
	Reason         string          `json:"reason,omitempty"`   // kind of the prompt; or why it failed
	Prompt         json.RawMessage `json:"prompt,omitempty"`   // that it waits for an answer to
	LoginURL       string          `json:"loginUrl,omitempty"` // where to log in
	Error          *ThreadError    `json:"error,omitempty"`
	State          CompletionState `json:"state,omitempty"` // of its completion, likewise the summary
	Summary        string          `json:"summary,omitempty"`
	Usage          *wire.Usage     `json:"usage,omitempty"`
	DurationMs     int64           `json:"duration,omitempty"` // of its life
}
