package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// The data of journal events. They are stored: fields are only ever added.

// queuedData is the data of execution.queued.
type queuedData struct{}

// startedData is the data of execution.started, as the interface's webhook table has it.
type startedData struct {
	ExecutionID string          `json:"executionId"`
	Pattern     core.PatternRef `json:"pattern"`
	Input       json.RawMessage `json:"input"`
	Metadata    map[string]any  `json:"metadata"`
}

// assignedData is the data of task.assigned: tasks of one step handed out together.
type assignedData struct {
	Step  string            `json:"step,omitempty"`
	Round int               `json:"round,omitempty"`
	Role  string            `json:"role,omitempty"` // of an org chart
	Tasks []core.Assignment `json:"tasks"`
	orderData
}

// orderData is what tasks that are handed out together ask for, as far as that does not follow from the execution.
type orderData struct {
	Input   json.RawMessage `json:"input,omitempty"`
	Context json.RawMessage `json:"context,omitempty"`
	Omitted int             `json:"omittedBytes,omitempty"` // in place of what is too long
	// Kept says of a step of a flat pattern that what is missing is that of the execution. Former versions kept nothing.
	Kept bool `json:"kept,omitempty"`
}

// maxOrder bounds the bytes of what a task asks for that are kept.
const maxOrder = 64 << 10

// orderOf returns what is kept of an input and a context; nil for what follows from the execution.
func orderOf(input, context json.RawMessage) orderData {
	if n := len(input) + len(context); n > maxOrder {
		return orderData{Omitted: n}
	}
	return orderData{Input: input, Context: context}
}

// taskData is the data of task.completed, task.failed and task.late.
type taskData struct {
	TaskID     string               `json:"taskId"`
	Step       string               `json:"step,omitempty"`
	Round      int                  `json:"round,omitempty"`
	AgentID    string               `json:"agentId"`
	AgentName  string               `json:"agentName,omitempty"`
	Attempt    int                  `json:"attempt"`
	Result     json.RawMessage      `json:"result,omitempty"`
	DurationMs int64                `json:"durationMs,omitempty"`
	Error      *core.ExecutionError `json:"error,omitempty"`
	Status     string               `json:"status,omitempty"` // of task.failed: failed, timeout, lost
	Retry      bool                 `json:"retry,omitempty"`  // of task.failed: it is handed out again
	Reason     string               `json:"reason,omitempty"` // of task.late
	Usage      *wire.Usage          `json:"usage,omitempty"`  // of the turn of a managed agent, where it tells
}

// stepData is the data of step.completed.
type stepData struct {
	Step       string          `json:"step"`
	Result     json.RawMessage `json:"result"`
	Confidence float64         `json:"confidence"`
	Fallback   bool            `json:"fallback,omitempty"`

	// Of org charts. The result of a step made of steps is null when it is long: its steps have it.
	Kind      core.StepKind `json:"kind,omitempty"`
	Round     int           `json:"round,omitempty"`
	Branch    string        `json:"branch,omitempty"` // of a condition: then, else
	StartedAt *time.Time    `json:"startedAt,omitempty"`
}

// stepStartedData is the data of step.started.
type stepStartedData struct {
	Step   string        `json:"step"`
	Type   core.StepKind `json:"type"`
	Name   string        `json:"name,omitempty"`
	Role   string        `json:"role,omitempty"`
	Round  int           `json:"round,omitempty"`
	Branch string        `json:"branch,omitempty"` // of a condition: the branch that is taken
}

// roleBoundData is the data of role.bound.
type roleBoundData struct {
	Role      string `json:"role"`
	Instance  int    `json:"instance"`
	AgentID   string `json:"agentId"`
	AgentName string `json:"agentName,omitempty"`
	AgentType string `json:"agentType,omitempty"`
	Managed   bool   `json:"managed"`
}

// roleReleasedData is the data of role.released.
type roleReleasedData struct {
	AgentID  string `json:"agentId"`
	Role     string `json:"role"`
	Instance int    `json:"instance"`
	Reason   string `json:"reason"`
	// Yielded: it did nothing and was given back until something waits for it; it is not missed before.
	Yielded bool `json:"yielded,omitempty"`
}

// endData is the data of the three terminal events; each carries the fields its webhook table row names.
type endData struct {
	ExecutionID string               `json:"executionId"`
	Pattern     core.PatternRef      `json:"pattern"`
	Result      json.RawMessage      `json:"result,omitempty"`
	Error       *core.ExecutionError `json:"error,omitempty"`
	Reason      *string              `json:"reason,omitempty"`
	Duration    int64                `json:"duration"`          // milliseconds
	Agents      []core.AgentResult   `json:"agents,omitzero"`   // empty where there were none, but for cancelled ones
	Partial     bool                 `json:"partial,omitempty"` // of an org chart: ended with what it had
}

// replay folds a journal's events, in order, into what it says of each step. Types it does not know are skipped: they
// come from a newer release or do not bear on resuming.
func replay(events []core.Event) (pastSteps, error) {
	past := pastSteps{}
	for _, ev := range events {
		var err error
		switch ev.Type {
		case core.EventTaskAssigned:
			err = past.replayAssigned(ev.Data)
		case core.EventTaskCompleted, core.EventTaskFailed:
			_, err = past.replayEnded(ev.Type, ev.Data)
		case core.EventStepCompleted:
			var d stepData
			if err = json.Unmarshal(ev.Data, &d); err == nil {
				round := 0
				if s := past[d.Step]; s != nil {
					round = s.round
				}
				past.step(d.Step, round).finished = &d
			}
		}
		if err != nil {
			return nil, fmt.Errorf("journal entry %d (%s): %w", ev.Seq, ev.Type, err)
		}
	}
	return past, nil
}
