package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// Task is one piece of work. The fields are those of the wire; a handler must not change them. Methods are
// safe for concurrent use.
type Task struct {
	protocol.Task

	agent *Agent
	entry entry
}

// Bind decodes the task's input into v. The error says which task and what is wrong, and is not retryable.
func (t *Task) Bind(v any) error {
	if err := json.Unmarshal(t.Input, v); err != nil {
		return &Error{Code: CodeAgentError, Message: fmt.Sprintf("input of task %s: %v", t.TaskID, err), cause: err}
	}
	return nil
}

// BindConfig decodes the pattern's config into v, and leaves v alone when the task has none.
func (t *Task) BindConfig(v any) error {
	if len(t.Config) == 0 {
		return nil
	}
	if err := json.Unmarshal(t.Config, v); err != nil {
		return &Error{Code: CodeAgentError, Message: fmt.Sprintf("config of task %s: %v", t.TaskID, err), cause: err}
	}
	return nil
}

// Progress reports progress in words. It never blocks; it is dropped while there is no connection, when much
// is waiting to be sent, when the agent reports more than 40 times a second, when it is larger than a frame may
// be, when it is empty, and when the task is over.
func (t *Task) Progress(text string) {
	if text == "" { // the server takes a frame that shows nothing for a bad one
		return
	}
	t.agent.progress(t, protocol.TaskProgress{TaskID: t.TaskID, Text: text})
}

// ProgressData reports progress as JSON. It returns an error only when v cannot be encoded; otherwise it is
// as Progress.
func (t *Task) ProgressData(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("agent: progress: %w", err)
	}
	t.agent.progress(t, protocol.TaskProgress{TaskID: t.TaskID, Data: data})
	return nil
}

// Deadline returns when the task's time is over, counted from its arrival without the time in which it waited for
// replies, and false if it has no limit. A handler's context ends then.
func (t *Task) Deadline() (time.Time, bool) { return t.entry.clock.deadline() }

// entryState is where a task stands on this side.
type entryState uint8

const (
	stateQueued   entryState = iota // waits for a free slot
	stateRunning                    // its handler runs
	stateAnswered                   // its answer waits for the acknowledgement
)

// entry is the ledger's record of a task. Guarded by ledger.mu, but for clock, which is set once.
type entry struct {
	clock   *taskClock // from the task's arrival
	state   entryState
	frameID string // id of the task frame, repeated by the answer
	attempt int    // the highest attempt seen: the fencing token of the answer
	dropped bool   // cancelled or reassigned: whatever the handler returns is not sent
	cancel  context.CancelCauseFunc
	answer  answer

	questions int // that wait for a reply
}

// answer is the result of a handler.
type answer struct {
	taskID      string
	executionID string
	result      json.RawMessage // set for a result
	err         *Error          // set for an error
	duration    time.Duration
}

// size is a fair estimate of the memory the answer holds.
func (a *answer) size() int {
	n := len(a.taskID) + len(a.executionID) + len(a.result) + 128
	if a.err != nil {
		n += len(taskErrorPayload(a, 0))
	}
	return n
}
