package api

import (
	"encoding/json"
	"net/http"

	"github.com/wardroom/wardroom/core"
)

func (s *Server) batchRoutes() []Route {
	const tag, resource = "batch", "executions"
	return []Route{
		{
			Method: http.MethodPost, Path: "/api/batch/execute", OperationID: "executeBatch",
			Summary: "Run one pattern over many inputs.", Tag: tag, Resource: resource,
			Action: "executions.create", Scope: "executions:create", Body: &Body{JSON: new(batchRequest)},
			Responses: []Response{{Status: 202, Body: batchBody{}, Location: true, Doc: "Stored with all its inputs."}},
			Fails:     []int{404, 409}, Creates: true, Recover: s.recoverBatch, Handle: s.executeBatch,
		},
		{
			Method: http.MethodGet, Path: "/api/batch/{batchId}", OperationID: "getBatch",
			Summary: "Get a batch with a page of its results.", Tag: tag, Resource: resource,
			Description: "Every item has a result, by index. A page may end before its limit where results are large.",
			Action:      "executions.read", Scope: "executions:read", Query: largePageParams(),
			Responses: []Response{{Status: 200, Body: batchDetail{}, Doc: "The batch."}},
			Fails:     []int{404}, Handle: s.getBatch,
		},
		{
			Method: http.MethodPost, Path: "/api/batch/{batchId}/cancel", OperationID: "cancelBatch",
			Summary: "Cancel a running batch: its running items, and those that did not begin.",
			Tag:     tag, Resource: resource, Action: "executions.cancel", Scope: "executions:create",
			Body:      &Body{JSON: new(emptyRequest), Optional: true},
			Responses: []Response{{Status: 200, Body: batchBody{}, Doc: "It is cancelled."}},
			Fails:     []int{404, 409}, Handle: s.cancelBatch,
		},
	}
}

type batchRequest struct {
	Pattern string            `json:"pattern" check:"required,min=1,max=256"`
	Version string            `json:"version" check:"max=256" doc:"Exact version or a range. Default: the latest."`
	Inputs  []json.RawMessage `json:"inputs" check:"required,min=1" doc:"One item each. An input the pattern refuses fails alone."`
	Options batchOptions      `json:"options"`
}

type batchOptions struct {
	Concurrency int            `json:"concurrency" check:"min=1,max=50" doc:"Items at once. Default: 5."`
	StopOnError bool           `json:"stopOnError" doc:"The first failed item ends the batch."`
	Timeout     int64          `json:"timeout" check:"min=1" doc:"Of each item, in milliseconds."`
	Priority    core.Priority  `json:"priority" enum:"low,normal,high,critical"`
	Metadata    map[string]any `json:"metadata" doc:"Kept with each execution."`
}

type batchBody struct {
	BatchID   string           `json:"batchId"`
	Pattern   patternRef       `json:"pattern"`
	Status    core.BatchStatus `json:"status" enum:"running,completed,failed,cancelled"`
	Total     int              `json:"total"`
	Completed int              `json:"completed"`
	Failed    int              `json:"failed" doc:"Items that failed."`
	Cancelled int              `json:"cancelled" doc:"Items that were cancelled, and those that never began in a batch that is over."`
	StatusURL string           `json:"statusUrl"`
}

type batchDetail struct {
	BatchID     string           `json:"batchId"`
	Pattern     patternRef       `json:"pattern"`
	Status      core.BatchStatus `json:"status" enum:"running,completed,failed,cancelled"`
	Total       int              `json:"total"`
	Completed   int              `json:"completed"`
	Failed      int              `json:"failed" doc:"Items that failed."`
	Cancelled   int              `json:"cancelled" doc:"Items that were cancelled, and those that never began in a batch that is over."`
	StatusURL   string           `json:"statusUrl"`
	CreatedAt   timestamp        `json:"createdAt"`
	CompletedAt *timestamp       `json:"completedAt,omitempty"`
	CreatedBy   string           `json:"createdBy,omitempty"`
	Results     []batchResult    `json:"results" doc:"By index. An item that did not begin is pending."`
	Limit       int              `json:"limit"`
	Offset      int              `json:"offset"`
	HasMore     bool             `json:"hasMore" doc:"There are more results; go on from nextCursor."`
	NextCursor  string           `json:"nextCursor,omitempty"`
}

type batchResult struct {
	Index       int                  `json:"index"`
	ExecutionID string               `json:"executionId,omitempty" doc:"Absent for an item that never became an execution."`
	Status      core.ExecutionStatus `json:"status" enum:"pending,running,completed,failed,cancelled"`
	Result      json.RawMessage      `json:"result,omitempty" check:"nullable"`
	Error       *executionError      `json:"error,omitempty"`
}

func batchPath(id string) string { return "/api/batch/" + id }

func newBatchBody(b *core.Batch) batchBody {
	return batchBody{
		BatchID: b.ID, Pattern: patternRef(b.Pattern), Status: b.Status,
		Total: b.Total, Completed: b.Completed, Failed: b.Failed, Cancelled: b.Cancelled, StatusURL: batchPath(b.ID),
	}
}

func (s *Server) executeBatch(c *call) (answer, error) {
	var req batchRequest
	if err := c.decode(&req); err != nil {
		return answer{}, err
	}
	if most := c.config.MaxBatchInputs; len(req.Inputs) > most {
		return answer{}, core.Invalid("inputs", "must be at most %d items, not %d", most, len(req.Inputs))
	}
	o := req.Options
	b, err := s.opts.Batches.StartBatch(c.detached(), core.BatchRequest{
		Pattern: req.Pattern, Version: req.Version, Inputs: req.Inputs,
		Concurrency: o.Concurrency, StopOnError: o.StopOnError,
		Options: core.ExecuteOptions{TimeoutMs: o.Timeout, Priority: o.Priority, Metadata: o.Metadata},
	})
	if err != nil {
		return answer{}, err
	}
	return accepted(batchPath(b.ID), newBatchBody(b)), nil
}

func (s *Server) recoverBatch(c *call, id string) (answer, error) {
	b, err := s.opts.Batches.FindBatch(c.ctx, id)
	if err != nil {
		return answer{}, err
	}
	return accepted(batchPath(id), newBatchBody(b)), nil
}

func (s *Server) getBatch(c *call) (answer, error) {
	page, err := c.page()
	if err != nil {
		return answer{}, err
	}
	b, results, info, err := s.opts.Batches.FindBatchResults(c.ctx, c.param("batchId"), page)
	if err != nil {
		return answer{}, err
	}
	fields := pageOf(page, info)
	body := batchDetail{
		BatchID: b.ID, Pattern: patternRef(b.Pattern), Status: b.Status,
		Total: b.Total, Completed: b.Completed, Failed: b.Failed, Cancelled: b.Cancelled, StatusURL: batchPath(b.ID),
		CreatedAt: timestamp(b.CreatedAt), CompletedAt: stamp(b.CompletedAt), CreatedBy: b.CreatedBy,
		Results: make([]batchResult, len(results)),
		Limit:   fields.Limit, Offset: fields.Offset, HasMore: fields.HasMore, NextCursor: fields.NextCursor,
	}
	for i, r := range results {
		body.Results[i] = batchResult{
			Index: r.Index, ExecutionID: r.ExecutionID, Status: r.Status, Result: r.Result,
			Error: newExecutionError(r.Error),
		}
	}
	return ok(body), nil
}

func (s *Server) cancelBatch(c *call) (answer, error) {
	if err := c.decode(new(emptyRequest)); err != nil {
		return answer{}, err
	}
	b, err := s.opts.Batches.CancelBatch(c.ctx, c.param("batchId"))
	if err != nil {
		return answer{}, err
	}
	return ok(newBatchBody(b)), nil
}
