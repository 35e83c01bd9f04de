package threads

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/sdk/wire"
)

// The data of thread events. They are stored: fields are only ever added.

type startedData struct {
	ManagedAgentID string         `json:"managedAgentId,omitempty"`
	AgentID        string         `json:"agentId,omitempty"`
	Runtime        string         `json:"runtime"`
	AgentType      string         `json:"agentType"`
	Workspace      *workspaceData `json:"workspace,omitempty"`
	Restart        int            `json:"restart,omitempty"`
}

type readyData struct{}

type blockedData struct {
	Prompt       json.RawMessage `json:"prompt"`
	AutoAnswered bool            `json:"autoAnswered"`
	Answer       string          `json:"answer,omitempty"`
	// Ruling is what answers, or says that people are to; nil: nothing but them.
	Ruling *core.PromptRuling `json:"ruling,omitempty"`
}

type toolData struct {
	Tool  string         `json:"tool"`
	Input map[string]any `json:"input"`
}

type toolDoneData struct {
	Tool       string `json:"tool"`
	Outcome    string `json:"outcome"` // toolDone, or the runtime's reason
	DurationMs int64  `json:"durationMs"`
}

const toolDone = "done"

// inputData describes a message for the agent.
type inputData struct {
	InputID   string `json:"inputId"`
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty"` // of Text
	State     string `json:"state"`
	CreatedBy string `json:"createdBy,omitempty"`
}

// States of thread_input.
const (
	inputQueued = "queued" // it waits for the agent; turns, and the words of thread_status, name it
	inputSent   = "sent"   // the agent of a role was given it at once
)

// maxInputText bounds the text of a thread_input, in bytes.
const maxInputText = 64 << 10

// inputOf describes a message, so that it can be read after the agent took it.
func inputOf(in *core.QueuedInput, state string) inputData {
	kept := clip.Text(in.Message, maxInputText)
	return inputData{InputID: in.ID, Text: kept, Truncated: len(kept) < len(in.Message), State: state, CreatedBy: in.CreatedBy}
}

type turnData struct {
	Output     *string `json:"output,omitempty"` // nil: the turn failed
	Turn       int     `json:"turn"`
	DurationMs int64   `json:"durationMs"`
	Truncated  bool    `json:"truncated,omitempty"`
	// InputID is the message whose turn it was; "" while that is not known, see statusTurnOf, and of a turn that somebody began
	// at the terminal.
	InputID string `json:"inputId,omitempty"`
	Again   bool   `json:"again,omitempty"` // the turn failed, and the message is given to the agent again
	wire.TurnOutcome
}

type outputData struct {
	Text      string `json:"text"`
	Turn      int    `json:"turn"`
	Truncated bool   `json:"truncated,omitempty"`
}

type idleData struct {
	IdleMs int64 `json:"idleMs"`
}

type summaryData struct {
	Summary string `json:"summary"`
	Turns   int    `json:"turns"`
}

type completedData struct {
	Completion *completionData `json:"completion"`
}

type failedData struct {
	Error      *core.ThreadError `json:"error"`
	Completion *completionData   `json:"completion"`
}

type stoppedData struct {
	Reason     string          `json:"reason"`
	Completion *completionData `json:"completion"`
}

type statusData struct {
	Status  string `json:"status"`
	Reason  string `json:"reason,omitempty"`
	InputID string `json:"inputId,omitempty"` // of a message that the event is about
	Turn    int    `json:"turn,omitempty"`    // with statusTurnOf
	// Ruling says with statusAnswered who answered.
	Ruling *core.PromptRuling `json:"ruling,omitempty"`
}

// Words of thread_status beside the states and reasons of threads.
const (
	statusUnblocked = "unblocked"
	statusAnswered  = "answered" // somebody answered a prompt over the API
	statusHostBack  = "host_back"
	statusRefused   = "input_refused"
	statusTurnOf    = "input_turn"     // the turn that ended last was that of the message
	statusRepeated  = "input_repeated" // a message is given to the agent again
	statusWithdrawn = "input_withdrawn"
	statusResumed   = "input_resumed" // the agent, whose session has the message, is told to go on
)

// maxSummary bounds summaries, in bytes.
const maxSummary = 4000

// prompt blocks a thread until it is answered: its agent's own prompt, a question of an org chart, or a login.
type prompt wire.Prompt

func readPrompt(raw json.RawMessage) (p prompt, ok bool) {
	ok = len(raw) > 0 && json.Unmarshal(raw, &p) == nil
	return p, ok
}

// encode returns the prompt as it is stored and answered; options are there even when there are none.
func (p prompt) encode() json.RawMessage {
	raw, err := json.Marshal(struct {
		wire.Prompt
		Options []core.QuestionOption `json:"options"`
	}{wire.Prompt(p), append([]core.QuestionOption{}, p.Options...)})
	if err != nil {
		return json.RawMessage("{}") // plain data always encodes
	}
	return raw
}
