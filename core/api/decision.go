package api

import (
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// decisionRoutes are there when the service has threads with a memory.
func (s *Server) decisionRoutes() []Route {
	if s.opts.Threads == nil || s.opts.Memory == nil {
		return nil
	}
	const tag, ofThread = "memory", threadsPath + "/{threadId}/shared-decisions"
	list := func(r Route) Route {
		r.Method, r.Tag, r.Scope, r.Fails = http.MethodGet, tag, "executions:read", []int{404}
		r.Query = append(pageParams(), Param{Name: "category", Type: ParamString, Doc: "Category."}, creatorParam)
		r.Responses = []Response{{Status: 200, Body: decisionList{}, Doc: "A page of decisions."}}
		return r
	}
	return []Route{
		list(Route{
			Path: ofThread, OperationID: "listThreadDecisions", Resource: "threads", Action: "threads.read",
			Summary: "List the shared decisions of one thread, newest first.", Handle: s.listThreadDecisions,
		}),
		{
			Method: http.MethodPost, Path: ofThread, OperationID: "addThreadDecision", Tag: tag, Resource: "threads",
			Action: "threads.decide", Scope: "executions:create",
			Summary:     "Record a shared decision. All threads of the execution that begin later are told of it.",
			Description: "What says the same as an earlier decision of the execution is counted there, and that one is answered.",
			Body:        &Body{JSON: new(wire.NewDecision)},
			Responses:   []Response{{Status: 201, Body: wire.Decision{}, Location: true, Doc: "It is stored."}},
			Fails:       []int{404, 409}, Creates: true, Recover: s.recoverDecision, Handle: decoded(s.addDecision),
		},
		list(Route{
			Path: threadsPath + "/executions/{executionId}/shared-decisions", OperationID: "listExecutionDecisions",
			Resource: "executions", Action: "executions.read",
			Summary: "List the shared decisions of one execution, newest first.", Handle: s.listExecutionDecisions,
		}),
	}
}

type decisionList struct {
	Decisions []wire.Decision `json:"decisions"`
	wire.PageInfo
}

func (s *Server) listThreadDecisions(c *call) (answer, error) {
	return s.decisions(c, core.DecisionFilter{ThreadID: c.param("threadId")})
}

func (s *Server) listExecutionDecisions(c *call) (answer, error) {
	return s.decisions(c, core.DecisionFilter{ExecutionID: c.param("executionId")})
}

func (s *Server) decisions(c *call, filter core.DecisionFilter) (answer, error) {
	filter.Category, filter.CreatedBy = c.query.text("category"), c.query.text("createdBy")
	return listed(c, func(page core.Page) ([]*core.Decision, core.PageInfo, error) {
		filter.Page = page
		return s.opts.Memory.FindDecisions(c.ctx, filter)
	}, func(d *core.Decision) wire.Decision { return d.Decision },
		func(rows []wire.Decision, info wire.PageInfo) any { return decisionList{rows, info} })
}

func (s *Server) addDecision(c *call, req wire.NewDecision) (answer, error) {
	t, err := s.opts.Threads.FindThread(c.ctx, c.param("threadId"))
	if err != nil {
		return answer{}, err
	}
	d, err := s.opts.Memory.AddDecision(c.detached(), core.Decision{
		Decision: wire.Decision{
			ExecutionID: t.ExecutionID, ThreadID: t.ID, Category: req.Category, Summary: req.Summary, Details: req.Details,
			CreatedBy: c.principal.ID,
		},
	})
	if err != nil {
		return answer{}, err
	}
	return decisionCreated(t.ID, d), nil
}

// decisionCreated answers with a decision. It is found in the list of its thread's: the fragment names it there.
func decisionCreated(threadID string, d *core.Decision) answer {
	return created(threadPath(threadID)+"/shared-decisions#"+d.ID, d.Decision)
}

// recoverDecision answers a repeated request whose first answer was never given.
func (s *Server) recoverDecision(c *call, id string) (answer, error) {
	t, err := s.opts.Threads.FindThread(c.ctx, c.param("threadId"))
	if err != nil {
		return answer{}, err
	}
	// One that said the same before belongs to another thread perhaps, but always to the execution.
	filter := core.DecisionFilter{ExecutionID: t.ExecutionID, Page: core.Page{Limit: core.MaxPageLimit}}
	for {
		found, info, err := s.opts.Memory.FindDecisions(c.ctx, filter)
		if err != nil {
			return answer{}, err
		}
		for _, d := range found {
			if d.ID == id {
				return decisionCreated(t.ID, d), nil
			}
		}
		if info.NextCursor == "" {
			return answer{}, core.Conflict("decision", id, "", "the decision that this Idempotency-Key was for is gone; use a new key")
		}
		filter.Cursor = info.NextCursor
	}
}
