package engine

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
)

// complete ends the execution with its result.
func (r *run) complete(c *change, output json.RawMessage) {
	r.close(c, core.ExecutionCompleted)
	r.exec.Result = output
	r.exec.Agents = r.results
	data := r.endData()
	if data.Result = rawjson.AsObject(output); output == nil {
		data.Result = json.RawMessage("null")
	}
	data.Partial = r.exec.Workflow != nil && r.exec.Workflow.Partial
	data.Agents = make([]core.AgentResult, len(r.results))
	for i, a := range r.results {
		data.Agents[i] = core.AgentResult{ID: a.ID, Step: a.Step, Result: rawjson.AsObject(a.Result)}
	}
	r.event(c, core.EventExecutionCompleted, data)
}

// fail ends the execution with an error.
func (r *run) fail(c *change, code core.Code, message string, details map[string]any) {
	r.body.recall(c, "the execution failed", statusCancelled)
	r.body.keepAll()
	r.close(c, core.ExecutionFailed)
	r.exec.Error = &core.ExecutionError{Code: code, Message: message, Details: details}
	r.exec.Agents = r.results
	data := r.endData()
	data.Error, data.Agents = r.exec.Error, make([]core.AgentResult, len(r.results))
	for i, a := range r.results {
		a.Result = rawjson.AsObject(a.Result)
		data.Agents[i] = a
	}
	r.event(c, core.EventExecutionFailed, data)
}

// failWith ends the execution with an error of a service.
func (r *run) failWith(c *change, err error) {
	e := core.AsError(err)
	if e.Code == core.CodeInternal {
		r.eng.log.Error("execution failed by an internal error", "execution", r.exec.ID, "error", err)
	}
	r.fail(c, e.Code, e.Message, e.Details)
}

// timeout implements body.
func (r *flat) timeout(c *change) {
	limit := r.exec.Deadline.Sub(r.exec.CreatedAt).Milliseconds()
	if r.exec.Status == core.ExecutionPending && r.step != nil {
		need := r.step.step.Need
		if available := r.eng.agents.CountCapable(need); available < max(r.step.step.Min, 1) {
			err := noAgents(r.step.step, available)
			r.fail(c, err.Code, fmt.Sprintf("%s until the deadline (%d ms)", err.Message, limit), err.Details)
			return
		}
	}
	r.failLate(c, limit)
}

// failLate ends the execution because its time, in milliseconds, is over.
func (r *run) failLate(c *change, limit int64) {
	r.body.recall(c, "the execution timed out", statusTimeout)
	details := map[string]any{"timeoutMs": limit, "executionId": r.exec.ID}
	r.fail(c, core.CodeTimeout, fmt.Sprintf("the execution timed out after %d ms", limit), details)
}

// noAgents says that a step lacks agents.
func noAgents(step *core.Step, available int) *core.Error {
	required := max(step.Min, 1)
	capabilities := step.Need.Capabilities
	if capabilities == nil {
		capabilities = []string{}
	}
	err := core.Errorf(core.CodeNoAgents, "too few agents with the capabilities %v: %d needed, %d connected",
		capabilities, required, available)
	err.Details = map[string]any{"required": required, "available": available, "capabilities": capabilities}
	return err
}

// cancel ends the execution on request.
func (r *run) cancel(c *change, reason string) {
	r.body.recall(c, "the execution was cancelled", statusCancelled)
	r.body.keepAll()
	r.close(c, core.ExecutionCancelled)
	at := c.now
	r.exec.CancelledAt, r.exec.CancelReason, r.exec.CancelledBy = &at, reason, c.by
	r.exec.Agents = r.results
	data := r.endData()
	data.Reason = &reason
	r.event(c, core.EventExecutionCancelled, data)
}

// close marks the execution terminal.
func (r *run) close(c *change, status core.ExecutionStatus) {
	at := c.now
	r.exec.Status, r.exec.CompletedAt, r.exec.Waiting = status, &at, nil
	c.put, c.over = true, true
	r.body.closing(c)
}

func (r *run) endData() endData {
	return endData{
		ExecutionID: r.exec.ID, Pattern: r.exec.Pattern,
		Duration: r.exec.Duration(*r.exec.CompletedAt).Milliseconds(),
	}
}

// keepAll implements body.
func (r *flat) keepAll() {
	if r.step == nil {
		return
	}
	r.keepResults()
	for _, t := range r.step.tasks {
		if t.state != attemptDone && t.agent != "" {
			status := cmp.Or(t.status, "cancelled")
			r.results = append(r.results, core.AgentResult{ID: t.agent, Name: r.eng.agents.AgentName(t.agent), Step: r.step.path, Status: status})
		}
	}
}

// start marks the execution running: its first task is handed out in this change. The event goes before all others
// of the change, since streams begin with it.
func (r *run) start(c *change) {
	at := c.now
	r.exec.Status, r.exec.StartedAt = core.ExecutionRunning, &at
	c.put = true
	metadata := r.exec.Options.Metadata
	if metadata == nil {
		metadata = map[string]any{}
	}
	c.causedBy(r.exec.CreatedBy, func() {
		r.event(c, core.EventExecutionStarted, startedData{
			ExecutionID: r.exec.ID, Pattern: r.exec.Pattern, Input: r.exec.Input, Metadata: metadata,
		})
	})
	last := len(c.events) - 1
	started := c.events[last]
	copy(c.events[1:], c.events[:last])
	c.events[0] = started
	c.begun = true
}
