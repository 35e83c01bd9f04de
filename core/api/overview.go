package api

import (
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// overviewRoutes are what people look at first.
func (s *Server) overviewRoutes() []Route {
	if s.opts.Overview == nil {
		return nil
	}
	const tag = "overview"
	return []Route{
		{
			Method: http.MethodGet, Path: "/api/inbox", OperationID: "listInbox", Tag: tag, Resource: "inbox",
			Action: "inbox.read", Scope: core.ScopeAny,
			Summary: "List everything that waits for a person, newest first.",
			Description: "Questions of executions, and prompts and logins of managed threads and agents that are not theirs. Each item is shown to " +
				"those who may read what it is of; the total counts the others as well.",
			Query: []Param{
				pageParams()[0],
				{Name: "cursor", Type: ParamString, Doc: "nextCursor of the page before."},
				{Name: "source", Type: ParamList, Enum: inboxSources(), Doc: "Comma-separated, any of them: execution, thread, managed_agent."},
				{Name: "createdBy", Type: ParamString, Doc: "Only what waits for executions, threads and agents of this caller."},
			},
			Responses: []Response{{Status: 200, Body: inboxList{}, Doc: "A page of the inbox."}},
			Handle:    s.listInbox,
		},
		{
			Method: http.MethodGet, Path: "/api/overview", OperationID: "getOverview", Tag: tag, Resource: "executions",
			Action: "executions.read", Scope: core.ScopeExecutionsRead,
			Summary:     "Count what there is by state, and what happened to executions per minute and per hour.",
			Description: "The numbers are of everything, whoever asks. They go on where they were after a restart.",
			Responses:   []Response{{Status: 200, Body: wire.Overview{}, Doc: "The numbers."}},
			Handle:      s.getOverview,
		},
	}
}

type inboxList struct {
	Items []*wire.InboxItem `json:"items"`
	wire.PageInfo
}

func inboxSources() []string {
	names := make([]string, len(core.InboxSources))
	for i, source := range core.InboxSources {
		names[i] = string(source)
	}
	return names
}

// readThreads is what a reader of a thread needs.
var readThreads = Access{Action: "threads.read", Resource: "threads", Scope: core.ScopeExecutionsRead}

func (s *Server) listInbox(c *call) (answer, error) {
	page := core.Page{Limit: int(c.query.integer("limit")), Cursor: c.query.text("cursor")}
	filter := core.InboxFilter{CreatedBy: c.query.text("createdBy"), Page: page}
	for _, source := range c.query.list("source") {
		filter.Sources = append(filter.Sources, core.InboxSource(source))
	}
	found, info, err := s.opts.Overview.FindInbox(c.ctx, filter)
	if err != nil {
		return answer{}, err
	}
	list := inboxList{Items: []*wire.InboxItem{}, PageInfo: pageOf(page, info)}
	for _, item := range found {
		need := readExecutions
		switch item.Source {
		case core.InboxThread:
			need = readThreads
		case core.InboxManagedAgent:
			need = readAgents
		}
		need.ID = item.ID
		if s.opts.Authorize == nil || s.opts.Authorize(c.ctx, c.principal, need) == nil {
			list.Items = append(list.Items, item)
		}
	}
	return ok(list), nil
}

func (s *Server) getOverview(c *call) (answer, error) {
	v, err := s.opts.Overview.Overview(c.ctx)
	if err != nil {
		return answer{}, err
	}
	return ok(v), nil
}
