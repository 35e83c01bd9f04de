package api

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
	"github.com/wardroom/wardroom/sdk/wire"
)

func (s *Server) executionRoutes() []Route {
	const tag, resource = "executions", "executions"
	reads := func(r Route) Route {
		r.Method, r.Tag, r.Resource = http.MethodGet, tag, resource
		r.Action, r.Scope = "executions.read", "executions:read"
		return r
	}
	writes := func(r Route) Route {
		r.Method, r.Tag, r.Resource, r.Scope = http.MethodPost, tag, resource, "executions:create"
		return r
	}
	return []Route{
		writes(Route{
			Path: "/api/patterns/{name}/execute", OperationID: "executePattern", Action: "executions.create",
			Summary: "Run a pattern and wait for the outcome, or with async=true return at once.",
			Description: "A client that leaves does not stop the execution. An execution that fails answers " +
				"200 with status failed and its error; one that runs over its time answers 408.",
			Query: []Param{
				versionParam,
				{Name: "async", Type: ParamBoolean, Default: "false", Doc: "Return at once with 202."},
			},
			Body: &Body{JSON: new(wire.ExecuteRequest), Optional: true},
			Responses: []Response{
				{Status: 200, Body: wire.ExecutionOutcome{}, Doc: "The execution is over."},
				{Status: 202, Body: wire.ExecutionAccepted{}, Location: true, Doc: "The execution is stored and goes on."},
			},
			Fails: []int{404, 409, 422}, Creates: true, Recover: s.recoverExecute, Handle: s.execute,
		}),
		reads(Route{
			Path: "/api/executions", OperationID: "listExecutions", Summary: "List executions, newest first.",
			Query:     append(pageParams(), executionFilterParams()...),
			Responses: []Response{{Status: 200, Body: executionList{}, Doc: "A page of executions."}},
			Handle:    s.listExecutions,
		}),
		reads(Route{
			Path: "/api/executions/histogram", OperationID: "getExecutionHistogram", Summary: "Count executions over time, by when they were made.",
			Description: "The numbers are of everything that the filters select and the caller may read. Steps in which nothing was made are left out. " +
				"Without until the range ends now; without since it is 30 days long. It is 100 years long at most.",
			Query: append(executionFilterParams(),
				Param{Name: "steps", Type: ParamInteger, Default: "60", Min: 1, Max: maxSteps, Doc: "Steps of the range, all of one length."}),
			Responses: []Response{{Status: 200, Body: wire.ExecutionHistogram{}, Doc: "The counts."}},
			Handle:    s.executionHistogram,
		}),
		reads(Route{
			Path: "/api/executions/{executionId}", OperationID: "getExecution", Summary: "Get one execution.",
			Responses: []Response{{Status: 200, Body: wire.Execution{}, Doc: "The execution."}},
			Fails:     []int{404}, Handle: s.getExecution,
		}),
		{
			Method: http.MethodDelete, Path: "/api/executions/{executionId}", OperationID: "deleteExecution", Tag: tag, Resource: resource,
			Action: "executions.delete", Scope: core.ScopeAdmin, Summary: "Delete an execution that is over.",
			Description: "Its journal, questions, decisions and threads go with it; experiences, deliveries and the public log stay. " +
				"One that is active, has an active thread, or belongs to a batch that runs is a 409.",
			Responses: []Response{{Status: http.StatusNoContent, Doc: "It is gone."}},
			Fails:     []int{404, 409}, Handle: s.deleteExecution,
		},
		writes(Route{
			Path: "/api/executions/{executionId}/cancel", OperationID: "cancelExecution",
			Action: "executions.cancel", Summary: "Cancel a pending or running execution.",
			Body:      &Body{JSON: new(wire.CancelRequest), Optional: true},
			Responses: []Response{{Status: 200, Body: wire.ExecutionCancellation{}, Doc: "It is cancelled."}},
			Fails:     []int{404, 409}, Handle: decoded(s.cancelExecution),
		}),
		writes(Route{
			Path: "/api/executions/{executionId}/retry", OperationID: "retryExecution",
			Action: "executions.create", Summary: "Run a finished execution again with the same input.",
			Body:      &Body{JSON: new(emptyRequest), Optional: true},
			Responses: []Response{{Status: 202, Body: wire.ExecutionRetried{}, Location: true, Doc: "Stored."}},
			Fails:     []int{404, 409}, Creates: true, Recover: s.recoverRetry, Handle: decoded(s.retryExecution),
		}),
		writes(Route{
			Path: "/api/executions/{executionId}/rerun", OperationID: "rerunExecution",
			Action:  "executions.create",
			Summary: "Run a finished execution again from a step, keeping the results before it.",
			Body:    &Body{JSON: new(wire.RerunRequest), Optional: true},
			Responses: []Response{
				{Status: 202, Body: wire.ExecutionRetried{}, Location: true, Doc: "Stored."},
			},
			Fails: []int{404, 409}, Creates: true, Recover: s.recoverRetry, Handle: decoded(s.rerunExecution),
		}),
		reads(Route{
			Path: "/api/executions/{executionId}/timeline", OperationID: "getExecutionTimeline",
			Summary:   "Tell what happened in an execution so far: steps, tasks, roles, messages, escalations, questions.",
			Query:     []Param{{Name: "since", Type: ParamInteger, Default: "0", Doc: "Only what changed after this sequence, such as lastSequence of the answer before; threads, roles and tasks that run always."}},
			Responses: []Response{{Status: 200, Body: wire.Timeline{}, Doc: "The timeline."}},
			Fails:     []int{404}, Handle: s.getTimeline,
		}),
		reads(Route{
			Path: "/api/executions/{executionId}/tasks/{taskId}", OperationID: "getTask",
			Summary:     "Get one task: what its agent was asked as it was sent, what it answered, and each attempt.",
			Description: "Configuration of the pattern, which may hold secrets, is not told.",
			Responses:   []Response{{Status: 200, Body: wire.Task{}, Doc: "The task."}},
			Fails:       []int{404}, Handle: s.getTask,
		}),
		reads(Route{
			Path: "/api/executions/{executionId}/steps/{path}", OperationID: "getStep",
			Summary: "Get one step of a workflow by its path in the timeline: when it ran, what came of it, and its tasks.",
			Description: "path is the id of the step's entries in the timeline, such as 2.0 or draft. It is one segment: a slash in it, " +
				"as paths of composed patterns have, is sent as %2F. For one that there is not details.near of the error has paths of steps near it. " +
				"A pattern of a single step has no steps in its timeline.",
			Responses: []Response{{Status: 200, Body: wire.ExecutionStep{}, Doc: "The step."}},
			Fails:     []int{404}, Handle: s.getStep,
		}),
		reads(Route{
			Path: "/api/executions/{executionId}/events", OperationID: "listExecutionEvents",
			Summary: "Read the journal of an execution, oldest first.",
			Query: []Param{
				{Name: "since", Type: ParamInteger, Default: "0", Doc: "Only events after this sequence."},
				{Name: "limit", Type: ParamInteger, Default: "100", Min: 1, Max: core.MaxPageLimit, Doc: "Events at most."},
			},
			Responses: []Response{{Status: 200, Body: eventList{}, Doc: "A page of events."}},
			Fails:     []int{404}, Handle: s.listEvents,
		}),
	}
}

func statusesOf(names []string) []core.ExecutionStatus {
	var list []core.ExecutionStatus
	for _, name := range names {
		list = append(list, core.ExecutionStatus(name))
	}
	return list
}

func executionPath(id string) string { return "/api/executions/" + id }

// executeRequest reads the request of execute and execute/stream.
func (c *call) executeRequest() (core.ExecuteRequest, error) {
	req := wire.ExecuteRequest{Input: emptyObject}
	if err := c.decode(&req); err != nil {
		return core.ExecuteRequest{}, err
	}
	core.WithoutOrigin(req.Options.Metadata)
	return core.ExecuteRequest{
		Pattern: c.param("name"), Version: c.query.text("version"), Input: req.Input,
		Options: req.Options,
	}, nil
}

func (s *Server) execute(c *call) (answer, error) {
	req, err := c.executeRequest()
	if err != nil {
		return answer{}, err
	}
	async := c.query.boolean("async")
	req.RequireAgents = !async
	e, err := s.opts.Executions.Start(c.detached(), req)
	if err != nil {
		return answer{}, err
	}
	if async {
		return executionAcceptedAnswer(e), nil
	}
	return s.await(c, e.ID)
}

// await waits for an execution on behalf of a client. The wait ends when the client leaves; the execution
// does not.
func (s *Server) await(c *call, id string) (answer, error) {
	e, err := s.opts.Executions.Wait(c.ctx, id)
	if err != nil {
		return answer{}, withDetail(err, "executionId", id)
	}
	if e.Status == core.ExecutionFailed && e.Error != nil && e.Error.Code == core.CodeTimeout {
		return errorAnswer(&core.Error{
			Code: core.CodeTimeout, Message: e.Error.Message,
			Details: map[string]any{"timeoutMs": timeoutOf(e), "executionId": e.ID},
		}, c.id), nil
	}
	if e.Status == core.ExecutionFailed && e.Error != nil && e.Error.Code == core.CodeNoAgents {
		details := map[string]any{"executionId": e.ID}
		maps.Copy(details, e.Error.Details)
		return errorAnswer(&core.Error{Code: core.CodeNoAgents, Message: e.Error.Message, Details: details}, c.id), nil
	}
	if missing := missingCommand(e); missing != nil {
		return errorAnswer(missing, c.id), nil
	}
	report, err := s.workflow(c.ctx, e)
	if err != nil {
		return answer{}, err
	}
	return ok(newOutcome(e, report, s.opts.Clock.Now())), nil
}

// missingCommand is the error of a request whose execution failed because the program of an agent's type is not installed,
// the one that a spawn of such an agent gets; nil for any other execution.
func missingCommand(e *core.Execution) *core.Error {
	if e.Status != core.ExecutionFailed || e.Error == nil || e.Error.Details["runtimeCode"] != runtimecode.CLINotFound {
		return nil
	}
	details := map[string]any{"executionId": e.ID}
	maps.Copy(details, e.Error.Details)
	return &core.Error{Code: core.CodeValidation, Message: e.Error.Message, Details: details}
}

// withDetail adds to the details of a passing failure what goes on, or was done, all the same, so that a client can come back to
// it, and does not do it again.
func withDetail(err error, key string, value any) error {
	e := core.AsError(err)
	if e == nil || !e.Unavailable {
		return err
	}
	own := *e
	own.Details = map[string]any{key: value}
	maps.Copy(own.Details, e.Details)
	return &own
}

// timeoutOf is the time an execution was given, in milliseconds.
func timeoutOf(e *core.Execution) int64 {
	if e.Options.TimeoutMs > 0 {
		return e.Options.TimeoutMs
	}
	return e.Deadline.Sub(e.CreatedAt).Milliseconds()
}

func executionAcceptedAnswer(e *core.Execution) answer {
	path := executionPath(e.ID)
	return accepted(path, wire.ExecutionAccepted{ID: e.ID, ExecutionID: e.ID, Status: core.ExecutionPending, StatusURL: path, Sanitized: e.Sanitized})
}

func (s *Server) recoverExecute(c *call, id string) (answer, error) {
	if c.query.boolean("async") {
		e, err := s.opts.Executions.FindExecution(c.ctx, id)
		if err != nil {
			return answer{}, err
		}
		return executionAcceptedAnswer(e), nil
	}
	return s.await(c, id)
}

func (s *Server) getExecution(c *call) (answer, error) {
	e, err := s.opts.Executions.FindExecution(c.ctx, c.param("executionId"))
	if err != nil {
		return answer{}, err
	}
	report, err := s.workflow(c.ctx, e)
	if err != nil {
		return answer{}, err
	}
	if e.Status == core.ExecutionRunning && len(e.Agents) == 0 {
		if e.Agents, err = s.answered(c.ctx, e.ID); err != nil {
			return answer{}, err
		}
	}
	body := newExecution(e, report, s.opts.Clock.Now())
	if e.AdHoc {
		t, err := s.opts.Timelines.Timeline(c.ctx, e.ID)
		if err != nil {
			return answer{}, err
		}
		body.Metrics = adHocMetrics(t, body.Duration)
	}
	return ok(body), nil
}

// answered returns the agents that have answered a running execution so far; the record has them once it is over. Like a
// page, it ends early once the results have core.MaxPageBytes.
func (s *Server) answered(ctx context.Context, id string) ([]core.AgentResult, error) {
	var list []core.AgentResult
	after, size := uint64(0), 0
	for {
		events, more, err := s.opts.Journal.Events(ctx, id, after, core.MaxPageLimit)
		if err != nil {
			return nil, err
		}
		for _, ev := range events {
			if after = ev.Seq; ev.Type != core.EventTaskCompleted {
				continue
			}
			var d eventData
			if json.Unmarshal(ev.Data, &d) != nil {
				continue // it is in the journal, and shown with what is known
			}
			list = append(list, core.AgentResult{ID: d.AgentID, Name: d.AgentName, Step: d.Step, Status: "completed", Result: d.Result})
			size += len(d.Result)
		}
		if !more || size >= core.MaxPageBytes {
			return list, nil
		}
	}
}

func (s *Server) listExecutions(c *call) (answer, error) {
	page, err := c.page()
	if err != nil {
		return answer{}, err
	}
	found, info, err := s.executions(c, c.executionFilter()).page(page)
	if err != nil {
		return answer{}, err
	}
	return ok(newExecutionList(found, pageOf(page, info), s.opts.Clock.Now())), nil
}

// executions are those that a filter selects and the caller may read.
func (s *Server) executions(c *call, filter core.ExecutionFilter) *rows[*core.Execution] {
	return listOf(c, func(e *core.Execution) string { return e.ID }, func(page core.Page) ([]*core.Execution, core.PageInfo, error) {
		filter.Page = page
		return s.opts.Executions.FindExecutions(c.ctx, filter)
	})
}

func (s *Server) deleteExecution(c *call) (answer, error) {
	if err := s.opts.Executions.Delete(c.detached(), c.param("executionId")); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusNoContent}, nil
}

func (s *Server) cancelExecution(c *call, req wire.CancelRequest) (answer, error) {
	e, err := s.opts.Executions.Cancel(c.ctx, c.param("executionId"), req.Reason)
	if err != nil {
		return answer{}, err
	}
	return ok(wire.ExecutionCancellation{ExecutionID: e.ID, Status: e.Status, CancelledAt: e.CancelledAt}), nil
}

func (s *Server) retryExecution(c *call, _ emptyRequest) (answer, error) {
	e, err := s.opts.Executions.Retry(c.detached(), c.param("executionId"))
	if err != nil {
		return answer{}, err
	}
	return retriedAnswer(c.param("executionId"), e.ID), nil
}

func (s *Server) rerunExecution(c *call, req wire.RerunRequest) (answer, error) {
	e, err := s.opts.Executions.Rerun(c.detached(), c.param("executionId"), req.FromStep)
	if err != nil {
		return answer{}, err
	}
	return retriedAnswer(c.param("executionId"), e.ID), nil
}

func retriedAnswer(original, id string) answer {
	path := executionPath(id)
	return accepted(path, wire.ExecutionRetried{
		OriginalExecutionID: original, NewExecutionID: id, Status: core.ExecutionPending, StatusURL: path,
	})
}

func (s *Server) recoverRetry(c *call, id string) (answer, error) {
	return retriedAnswer(c.param("executionId"), id), nil
}

func (s *Server) listEvents(c *call) (answer, error) {
	id := c.param("executionId")
	if _, err := s.opts.Executions.FindExecution(c.ctx, id); err != nil {
		return answer{}, err
	}
	limit := int(c.query.integer("limit"))
	since := uint64(c.query.integer("since"))
	found, more, err := s.opts.Journal.Events(c.ctx, id, since, limit)
	if err != nil {
		return answer{}, err
	}
	return ok(newEventList(id, found, wire.EventPage{Limit: limit, HasMore: more, NextSince: since})), nil
}
