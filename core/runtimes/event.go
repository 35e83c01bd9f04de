package runtimes

import (
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// eventTypes maps the events of a runtime to ours.
var eventTypes = map[runtime.EventType]core.EventType{
	runtime.EventStarted:       core.EventManagedStarted,
	runtime.EventReady:         core.EventManagedReady,
	runtime.EventBusy:          core.EventManagedBusy,
	runtime.EventBlocked:       core.EventManagedBlocked,
	runtime.EventQuestion:      core.EventManagedQuestion,
	runtime.EventUnblocked:     core.EventManagedUnblocked,
	runtime.EventLoginRequired: core.EventManagedLogin,
	runtime.EventToolRunning:   core.EventManagedTool,
	runtime.EventToolDone:      core.EventManagedToolDone,
	runtime.EventTurnComplete:  core.EventManagedTurnComplete,
	runtime.EventMessage:       core.EventManagedMessage,
	runtime.EventStuck:         core.EventManagedStuck,
	runtime.EventError:         core.EventManagedError,
	runtime.EventStopped:       core.EventManagedStopped,
}

// eventData is the stored form of what happened to an agent.
type eventData struct {
	AgentID    string                  `json:"agentId"`
	Status     core.ManagedAgentStatus `json:"status"`
	Source     string                  `json:"source,omitempty"` // hook, osc, exit, screen, host
	Prompt     *runtime.Prompt         `json:"prompt,omitempty"`
	Answered   string                  `json:"answered,omitempty"`
	Ruling     *core.PromptRuling      `json:"ruling,omitempty"` // what the policy says of the prompt
	Tool       *runtime.ToolCall       `json:"tool,omitempty"`
	Text       string                  `json:"text,omitempty"`
	Truncated  bool                    `json:"truncated,omitempty"` // of Text
	Turn       int                     `json:"turn,omitempty"`
	DurationMs int64                   `json:"durationMs,omitempty"`
	wire.TurnOutcome
	LoginURL   string    `json:"loginUrl,omitempty"`
	Reason     string    `json:"reason,omitempty"`
	ExitCode   *int      `json:"exitCode,omitempty"`
	OccurredAt time.Time `json:"occurredAt"` // at the runtime
}

// stored makes our event of a runtime's. ok is false for a type that we do not know: a newer runtime's.
func stored(e *runtime.Event, status core.ManagedAgentStatus, ruling *core.PromptRuling) (event core.Event, ok bool) {
	kind, ok := eventTypes[e.Type]
	if !ok {
		return core.Event{}, false
	}
	text, cut := bounded(e.Text)
	data := eventData{
		AgentID: e.AgentID, Status: status, Source: e.Source, Prompt: boundPrompt(e.Prompt), Answered: e.Answered, Tool: boundTool(e.Tool),
		Text: text, Truncated: cut, Turn: e.Turn, DurationMs: e.DurationMs, TurnOutcome: e.TurnOutcome,
		LoginURL: e.LoginURL, Reason: e.Reason, Ruling: ruling, OccurredAt: e.Time,
	}
	if e.Exit != nil {
		data.ExitCode = &e.Exit.Code
	}
	return core.Event{Type: kind, Time: e.Time, Subject: e.AgentID, Data: encode(data)}, true
}

// causeOf returns the principal of an event of an agent: who had it started, or stopped. "" leaves it to the transaction.
func causeOf(r *core.ManagedAgentRecord, kind core.EventType) string {
	if r.Wanted == (kind == core.EventManagedStarted) && (r.Wanted || kind == core.EventManagedStopped) {
		return r.WantedBy
	}
	return ""
}

// bounded cuts text that an agent made to what one event may hold.
func bounded(text string) (string, bool) {
	kept := clip.Text(text, maxEventText)
	return kept, len(kept) < len(text)
}
