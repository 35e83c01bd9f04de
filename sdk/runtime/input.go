package runtime

import (
	"fmt"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Duration is a time.Duration that JSON writes as milliseconds.
type Duration time.Duration

// Input is what Send gives: exactly one of Message, Raw, Keys and Interrupt.
type Input struct {
	Message string   `json:"message,omitempty"` // typed and submitted when the agent is idle, or the code of its login
	Raw     string   `json:"raw,omitempty"`     // bytes to the terminal, now
	Keys    []string `json:"keys,omitempty"`    // key names, now: see the list in sdk/vt
	// Interrupt stops the turn that runs, as a person at the terminal would; NOT_RUNNING if none does.
	Interrupt bool `json:"interrupt,omitempty"`
	// ExpectResponse makes a message wait for the end of its turn.
	ExpectResponse bool `json:"expectResponse,omitempty"`
	// Timeout bounds the wait for the agent to take the message and, with ExpectResponse, the turn. 0: 120 s.
	Timeout time.Duration `json:"-"`
	// ID, if given, makes a repeated call with the same id return the first result. One of wire.ResendKey is that of a
	// message whose delivery is unknown under the ids before.
	ID string `json:"id,omitempty"`
}

// SendResult is the outcome of Send.
type SendResult struct {
	Sent     bool      `json:"sent"`
	Response *Response `json:"response,omitempty"` // with ExpectResponse
}

type (
	// Response is the answer of a turn.
	Response = wire.TurnResponse
	// TurnOutcome is how a turn ended, beside its text.
	TurnOutcome = wire.TurnOutcome
	// TurnError is why a turn failed.
	TurnError = wire.TurnError
	// Usage counts what a turn used.
	Usage = wire.Usage
)

// Answer answers a prompt: one of its options by Choice, or Text for a question that takes free text. Without a PromptID
// it is for whatever prompt is open.
type Answer = wire.ManagedAgentAnswer

// StopOptions say how to stop.
type StopOptions struct {
	Grace time.Duration // to end by itself; 0: 5 s
	Force bool          // kill at once
}

// RestartOptions say how to restart.
type RestartOptions struct {
	Fresh bool // begin a new session instead of resuming the last one
}

// ListFilter selects agents. Empty values select all.
type ListFilter struct {
	Installation string
	Labels       map[string]string
}

// AttachOptions open a terminal.
type AttachOptions struct {
	ReadOnly bool
	// From resumes at the byte offset that a viewer saw last; nil begins with a repaint of the screen.
	From *uint64
	// Tail is how many lines of scrollback come before the first screen; 0 none. A viewer that lost output may get them
	// again, in a repaint.
	Tail int
	Cols int // size this viewer would like; 0: no wish
	Rows int
}

// Frame is one piece of a terminal's life.
type Frame struct {
	// Data is output: cut only at the border of UTF-8 characters, and not necessarily valid UTF-8.
	Data []byte
	// Offset is that of the byte after Data in the agent's whole output. A repaint stands for everything up to it.
	Offset  uint64
	Repaint bool   // Data redraws the whole screen; with Lost, other than in the first frame, it brings no scrollback
	Lost    uint64 // bytes before Data that this viewer cannot have any more
	Cols    int    // the terminal's real size, in the first frame and when it changed; else 0
	Rows    int
	Exit    *Exit // the agent ended; the last frame
}

// Exit is how a process ended.
type Exit struct {
	Code   int    `json:"code"` // 128+n after signal n
	Reason string `json:"reason,omitempty"`
}

// LogOptions select log lines.
type LogOptions struct {
	Tail   int       // only so many last lines; 0 all that is kept
	Since  time.Time // exclusive; zero: all
	Follow bool
}

// Streams of log lines.
const (
	StreamTerminal = "terminal" // lines that left the screen, as plain text
	StreamInput    = "input"    // messages that were sent
	StreamOutput   = "output"   // what the agent answered
	StreamEvent    = "event"    // what happened
)

// LogLine is one line.
type LogLine = wire.LogLine

// Metrics measure a running agent, everything that it started included.
type Metrics = wire.ManagedAgentMetrics

// Capabilities tell what a runtime can do.
type Capabilities struct {
	Name      string   `json:"name"`  // local, docker, kubernetes or a third party's
	Types     []string `json:"types"` // agent types that it knows by itself
	Attach    bool     `json:"attach"`
	Resize    bool     `json:"resize"`
	Recover   bool     `json:"recover"` // agents outlive the runtime's process
	Limits    bool     `json:"limits"`
	Images    bool     `json:"images"`
	MaxAgents int      `json:"maxAgents"` // 0: no limit

	Isolation *Isolation `json:"isolation,omitempty"` // nil: it does not say
	// MissingTypes are those of Types whose command is not found where agents run, at the moment of the call, sorted. Nil: it
	// does not say; empty: every command is there.
	MissingTypes []string `json:"missingTypes,omitzero"`
}

// Isolation is what keeps agents from the machine that they run on, and from one another.
type Isolation = wire.RuntimeIsolation

// Recovered is what became of a handle.
type Recovered struct {
	Handle Handle `json:"handle"`
	Agent  *Agent `json:"agent,omitempty"` // running, or stopped meanwhile
	Error  *Error `json:"error,omitempty"` // NOT_FOUND: gone without a trace; INVALID_HANDLE
}

// PruneOptions say what to remove.
type PruneOptions struct {
	Installation string
	Keep         []string // agent ids
	Grace        time.Duration
	DryRun       bool
}

// PruneReport says what was, or would be, removed.
type PruneReport struct {
	Removed []string `json:"removed"`
	Stopped []string `json:"stopped"` // orphans that were running
	Left    []string `json:"left"`    // orphans younger than the grace time
}

// MarshalJSON writes milliseconds.
func (d Duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, time.Duration(d).Milliseconds(), 10), nil
}

// UnmarshalJSON reads milliseconds.
func (d *Duration) UnmarshalJSON(b []byte) error {
	ms, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || ms < 0 || ms > int64(24*time.Hour/time.Millisecond)*365 {
		return fmt.Errorf("%s is not a number of milliseconds", b)
	}
	*d = Duration(time.Duration(ms) * time.Millisecond)
	return nil
}
