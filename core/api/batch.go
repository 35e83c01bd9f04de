package api

import (
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/rawjson"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (s *Server) batchRoutes() []Route {
	const tag, resource = "batch", "executions"
	return []Route{
		{
			Method: http.MethodPost, Path: "/api/batch/execute", OperationID: "executeBatch",
			Summary: "Run one pattern over many inputs.", Tag: tag, Resource: resource,
			Action: "executions.create", Scope: "executions:create", Body: &Body{JSON: new(wire.BatchRequest)},
			Responses: []Response{{Status: 202, Body: wire.Batch{}, Location: true, Doc: "Stored with all its inputs."}},
			Fails:     []int{404, 409}, Creates: true, Recover: s.recoverBatch, Handle: decoded(s.executeBatch),
		},
		{
			Method: http.MethodGet, Path: "/api/batches", OperationID: "listBatches", Summary: "List batches, newest first.",
			Tag: tag, Resource: resource, Action: "executions.read", Scope: "executions:read",
			Query: append(pageParams(),
				Param{Name: "status", Type: ParamString, Enum: words(core.BatchStatuses), Doc: "Status."},
				Param{Name: "pattern", Type: ParamString, Selects: []string{"pattern", "pattern.name"}, Doc: "Name of the pattern."},
				creatorParam),
			Responses: []Response{{Status: 200, Body: batchList{}, Doc: "A page of batches, without their results."}},
			Handle:    s.listBatches,
		},
		{
			Method: http.MethodGet, Path: "/api/batch/{batchId}", OperationID: "getBatch",
			Summary: "Get a batch with a page of its results.", Tag: tag, Resource: resource,
			Description: "Every item has a result, by index. A page may end before its limit where results are large.",
			Action:      "executions.read", Scope: "executions:read", Query: largePageParams(),
			Responses: []Response{{Status: 200, Body: wire.BatchDetail{}, Doc: "The batch."}},
			Fails:     []int{404}, Handle: s.getBatch,
		},
		{
			Method: http.MethodPost, Path: "/api/batch/{batchId}/cancel", OperationID: "cancelBatch",
			Summary: "Cancel a running batch: its running items, and those that did not begin.",
			Tag:     tag, Resource: resource, Action: "executions.cancel", Scope: "executions:create",
			Body:      &Body{JSON: new(emptyRequest), Optional: true},
			Responses: []Response{{Status: 200, Body: wire.Batch{}, Doc: "It is cancelled."}},
			Fails:     []int{404, 409}, Handle: decoded(s.cancelBatch),
		},
	}
}

func batchPath(id string) string { return "/api/batch/" + id }

func newBatchBody(b *core.Batch) wire.Batch {
	return wire.Batch{
		ID: b.ID, BatchID: b.ID, Pattern: b.Pattern, Status: b.Status,
		Total: b.Total, Completed: b.Completed, Failed: b.Failed, Cancelled: b.Cancelled, StatusURL: batchPath(b.ID),
	}
}

type batchList struct {
	Batches []wire.BatchRow `json:"batches"`
	wire.PageInfo
}

func (s *Server) listBatches(c *call) (answer, error) {
	filter := core.BatchFilter{Status: core.BatchStatus(c.query.text("status")), Pattern: c.query.text("pattern"), CreatedBy: c.query.text("createdBy")}
	return listed(c, s.batches(c, filter).page, func(b *core.Batch) wire.BatchRow {
		return wire.BatchRow{Batch: newBatchBody(b), CreatedAt: b.CreatedAt, CompletedAt: b.CompletedAt, CreatedBy: b.CreatedBy}
	}, func(rows []wire.BatchRow, info wire.PageInfo) any { return batchList{rows, info} })
}

// batches are those that a filter selects and the caller may read.
func (s *Server) batches(c *call, filter core.BatchFilter) *rows[*core.Batch] {
	return listOf(c, func(b *core.Batch) string { return b.ID }, func(page core.Page) ([]*core.Batch, core.PageInfo, error) {
		filter.Page = page
		return s.opts.Batches.FindBatches(c.ctx, filter)
	})
}

func (s *Server) executeBatch(c *call, req wire.BatchRequest) (answer, error) {
	if most := c.config.MaxBatchInputs; len(req.Inputs) > most {
		return answer{}, core.Invalid("inputs", "must be at most %d items, not %d", most, len(req.Inputs))
	}
	o := req.Options
	core.WithoutOrigin(o.Metadata)
	b, err := s.opts.Batches.StartBatch(c.detached(), core.BatchRequest{
		Pattern: req.Pattern, Version: req.Version, Inputs: req.Inputs,
		Concurrency: o.Concurrency, StopOnError: o.StopOnError,
		Options: o.ExecuteOptions,
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
	for i := range results {
		results[i].Result = rawjson.AsObject(results[i].Result)
	}
	return ok(wire.BatchDetail{
		Batch: newBatchBody(b), CreatedAt: b.CreatedAt, CompletedAt: b.CompletedAt, CreatedBy: b.CreatedBy, Results: results,
		Limit: fields.Limit, Offset: fields.Offset, HasMore: fields.HasMore, NextCursor: fields.NextCursor,
	}), nil
}

func (s *Server) cancelBatch(c *call, _ emptyRequest) (answer, error) {
	b, err := s.opts.Batches.CancelBatch(c.ctx, c.param("batchId"))
	if err != nil {
		return answer{}, err
	}
	return ok(newBatchBody(b)), nil
}
