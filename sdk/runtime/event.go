package runtime

import (
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// EventType names what happened to an agent.
type EventType string

// Event types.
const (
	EventStarted       EventType = "started"        // its process runs
	EventReady         EventType = "ready"          // it waits for a message
	EventBusy          EventType = "busy"           // a turn began
	EventBlocked       EventType = "blocked"        // it waits for an approval: Prompt
	EventQuestion      EventType = "question"       // it asks something: Prompt
	EventUnblocked     EventType = "unblocked"      // the prompt was answered, by key or by Answer: Answered
	EventLoginRequired EventType = "login_required" // LoginURL
	EventToolRunning   EventType = "tool_running"   // Tool
	EventToolDone      EventType = "tool_done"      // Tool without its input, DurationMs; Reason is ToolFailed of one that failed
	EventTurnComplete  EventType = "turn_complete"  // Turn, Text, DurationMs, TurnOutcome
	EventMessage       EventType = "message"        // the agent said something: Text
	EventStuck         EventType = "stuck"          // a turn shows no sign of life; report only
	EventError         EventType = "error"          // Reason, Text
	EventStopped       EventType = "stopped"        // Reason, Exit
)

// ToolFailed is the reason of a tool_done whose tool failed, or was not let run.
const ToolFailed = "failed"

// Sources of an event, most trusted first.
const (
	SourceHook   = "hook"   // the CLI told through a hook or a structured protocol
	SourceOSC    = "osc"    // the CLI told through its terminal
	SourceExit   = "exit"   // the process ended
	SourceScreen = "screen" // read from a start-up screen
	SourceHost   = "host"   // the runtime did it
)

// MaxLog bounds the id of a log, in bytes.
const MaxLog = 64

// Event is one thing that happened. Seq rises over all agents of a runtime, and restarts of it.
type Event struct {
	Seq uint64 `json:"seq"`
	// Log is the id of the log that Seq is a number of, at most MaxLog bytes: the same until the runtime lost its state and begins
	// another. Empty: the runtime does not say.
	Log     string    `json:"log,omitempty"`
	AgentID string    `json:"agentId"`
	Type    EventType `json:"type"`
	Time    time.Time `json:"time"`
	Source  string    `json:"source"`
	// Agent is the agent after the event.
	Agent       Agent     `json:"agent"`
	Prompt      *Prompt   `json:"prompt,omitempty"`
	Answered    string    `json:"answered,omitempty"` // choice of an unblocked prompt, if it is known
	Tool        *ToolCall `json:"tool,omitempty"`
	Text        string    `json:"text,omitempty"`
	Turn        int       `json:"turn,omitempty"`
	DurationMs  int64     `json:"durationMs,omitempty"`
	LoginURL    string    `json:"loginUrl,omitempty"`
	Reason      string    `json:"reason,omitempty"`
	TurnOutcome           // of turn_complete
	Exit        *Exit     `json:"exit,omitempty"`
}

// ToolCall is a tool that an agent runs.
type ToolCall struct {
	Name  string         `json:"name"`
	Input wire.ToolInput `json:"input,omitempty"`
}

// EventOptions select events.
type EventOptions struct {
	AgentID string // empty: all
	// After is the Seq seen last; 0: from the oldest that is kept. One that the log has not reached belongs to
	// another log (the runtime's state was removed): the stream then begins with the oldest.
	After uint64
	// Log is the Log of the event with that Seq. Where it is not that of the runtime's log, After is a number of another log,
	// and the stream begins with the oldest as well. Empty: not known.
	Log  string
	Live bool // skip what is kept: only what happens from now on
}
