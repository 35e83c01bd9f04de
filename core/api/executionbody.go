package api

import (
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/wire"
)

var emptyObject = json.RawMessage("{}")

type emptyRequest struct{}

// shownResults returns results of agents as answers have them: each is an object.
func shownResults(list []core.AgentResult) []core.AgentResult {
	shown := make([]core.AgentResult, len(list))
	for i, a := range list {
		a.Result = rawjson.AsObject(a.Result)
		shown[i] = a
	}
	return shown
}

// newOutcome returns the answer to a synchronous execute; report is nil unless it ran an org chart.
func newOutcome(e *core.Execution, report *core.WorkflowReport, now time.Time) *wire.ExecutionOutcome {
	o := &wire.ExecutionOutcome{
		ID: e.ID, ExecutionID: e.ID, Pattern: e.Pattern, Status: e.Status, Result: rawjson.AsObject(e.Result), Error: e.Error,
		Duration: wire.MillisOf(e.Duration(now)), Agents: shownResults(e.Agents), Sanitized: e.Sanitized,
	}
	o.WorkflowOutcome = workflowOutcome(e, report, o.Duration)
	return o
}

// newExecution returns an execution as it is read.
func newExecution(e *core.Execution, report *core.WorkflowReport, now time.Time) *wire.Execution {
	body := &wire.Execution{
		ID: e.ID, ExecutionID: e.ID, Pattern: e.Pattern, Status: e.Status, Input: rawOr(e.Input, "{}"), Options: e.Options,
		Result: rawjson.AsObject(e.Result), Error: e.Error, CreatedAt: e.CreatedAt, StartedAt: e.StartedAt, CompletedAt: e.CompletedAt,
		CancelledAt: e.CancelledAt, CancelReason: e.CancelReason, CancelledBy: e.CancelledBy, Deadline: e.Deadline, Waiting: e.Waiting,
		Duration: wire.MillisOf(e.Duration(now)), Agents: shownResults(e.Agents), CreatedBy: e.CreatedBy,
		BatchID: e.BatchID, RetryOf: e.RetryOf, RerunFrom: e.RerunFrom, Sanitized: e.Sanitized,
	}
	if e.BatchID != "" {
		body.BatchIndex = &e.BatchIndex
	}
	body.WorkflowOutcome = workflowOutcome(e, report, body.Duration)
	return body
}

type executionList struct {
	Executions []wire.ExecutionRow `json:"executions"`
	wire.PageInfo
}

func newExecutionList(found []*core.Execution, p wire.PageInfo, now time.Time) executionList {
	list := executionList{Executions: make([]wire.ExecutionRow, len(found)), PageInfo: p}
	for i, e := range found {
		list.Executions[i] = wire.ExecutionRow{
			ID: e.ID, ExecutionID: e.ID, Pattern: e.Pattern.Name, Version: e.Pattern.Version, Status: e.Status,
			CreatedAt: e.CreatedAt, StartedAt: e.StartedAt, CompletedAt: e.CompletedAt,
			Duration: wire.MillisOf(e.Duration(now)), Waiting: e.Waiting,
			Priority: e.Options.Priority, BatchID: e.BatchID, CreatedBy: e.CreatedBy, OpenQuestions: e.OpenQuestions,
			AgentNames: e.Team.Names, AgentCount: e.Team.Count,
		}
		row := &list.Executions[i]
		if e.Error != nil {
			row.ErrorCode = e.Error.Code
		}
		for _, pair := range core.IndexedMetadata(e.Options.Metadata) {
			if row.Metadata == nil {
				row.Metadata = map[string]string{}
			}
			row.Metadata[pair.Key] = pair.Value
		}
	}
	return list
}
