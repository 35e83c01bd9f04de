package api

import (
	"maps"
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
				"those who may read what it is of, and counted for them alone.",
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
			Summary: "Count what there is by state, and what happened to executions per minute and per hour.",
			Description: "They go on where they were after a restart. From whom something is hidden gets the numbers of the rest (partial), without " +
				"deliveries and without what happened per minute and hour.",
			Responses: []Response{{Status: 200, Body: wire.Overview{}, Doc: "The numbers."}},
			Handle:    s.getOverview,
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

// readThreads is the access that reading a thread needs.
var readThreads = Access{Action: "threads.read", Resource: "threads", Scope: core.ScopeExecutionsRead}

func (s *Server) listInbox(c *call) (answer, error) {
	page := core.Page{Limit: int(c.query.integer("limit")), Cursor: c.query.text("cursor")}
	filter := core.InboxFilter{CreatedBy: c.query.text("createdBy")}
	for _, source := range c.query.list("source") {
		filter.Sources = append(filter.Sources, core.InboxSource(source))
	}
	found, info, err := s.inbox(c, filter).page(page)
	if err != nil {
		return answer{}, err
	}
	return ok(inboxList{Items: found, PageInfo: pageOf(page, info)}), nil
}

// inbox is what waits and the caller may read.
func (s *Server) inbox(c *call, filter core.InboxFilter) *rows[*core.InboxItem] {
	return &rows[*core.InboxItem]{
		all: c.readsAll(readExecutions) && c.readsAll(readThreads) && c.readsAll(readAgents),
		id:  func(i *core.InboxItem) string { return i.ID },
		find: func(page core.Page) ([]*core.InboxItem, core.PageInfo, error) {
			filter.Page = page
			return s.opts.Overview.FindInbox(c.ctx, filter)
		},
		may: func(i *core.InboxItem) (may, slow bool) {
			need := readExecutions
			switch i.Source {
			case core.InboxThread:
				need = readThreads
			case core.InboxManagedAgent:
				need = readAgents
			}
			need.ID = i.ID
			return c.may(need)
		},
	}
}

func (s *Server) getOverview(c *call) (answer, error) {
	v, err := s.opts.Overview.Overview(c.ctx)
	if err != nil {
		return answer{}, err
	}
	if c.countsAll() {
		return ok(v), nil
	}
	counts, err := s.countReadable(c, &v.OverviewCounts)
	if err != nil {
		return answer{}, err
	}
	return ok(wire.Overview{OverviewCounts: *counts, Ranges: []wire.OverviewRange{}, Minutes: []wire.OverviewSpan{}, Hours: []wire.OverviewSpan{}}), nil
}

// countsAll reports whether nothing of what the overview counts is hidden from the caller.
func (c *call) countsAll() bool {
	return c.readsAll(readExecutions) && c.readsAll(readThreads) && c.readsAll(readAgents)
}

// countReadable counts by state what the caller may read. whole has the states.
func (s *Server) countReadable(c *call, whole *core.OverviewCounts) (*wire.OverviewCounts, error) {
	out := &wire.OverviewCounts{
		Partial: true, At: whole.At, Agents: whole.Agents, Executions: map[string]int{}, Batches: map[string]int{}, Threads: map[string]int{}, Managed: map[string]int{},
	}
	return out, s.countRows(c, whole, out)
}

func (s *Server) countRows(c *call, whole, out *wire.OverviewCounts) error {
	for to, from := range map[*map[string]int]map[string]int{
		&out.Executions: whole.Executions, &out.Batches: whole.Batches, &out.Threads: whole.Threads, &out.Managed: whole.Managed,
	} {
		for state := range from {
			(*to)[state] = 0
		}
	}
	// What some wait for is counted only where there are any: those of others are none of the caller's.
	maps.DeleteFunc(out.Managed, func(state string, _ int) bool { return core.WaitsForPerson(state) })
	if !c.mayList(readAgents) {
		out.Agents = wire.OverviewAgents{}
	}
	_, err := s.executions(c, core.ExecutionFilter{}).walk("", func(e *core.Execution, _ place) bool {
		out.Executions[string(e.Status)]++
		return true
	})
	if err != nil {
		return err
	}
	out.Waiting.Queue = out.Executions[string(core.ExecutionPending)]
	if s.opts.Batches != nil {
		if _, err := s.batches(c, core.BatchFilter{}).walk("", func(b *core.Batch, _ place) bool {
			out.Batches[string(b.Status)]++
			return true
		}); err != nil {
			return err
		}
	}
	if s.opts.Threads != nil {
		if _, err := s.threadRows(c, core.ThreadFilter{}).walk("", func(t *core.Thread, _ place) bool {
			out.Threads[string(t.Status)]++
			return true
		}); err != nil {
			return err
		}
	}
	if s.opts.ManagedAgents != nil && c.mayList(readAgents) {
		if _, err := s.managedAgents(c, core.ManagedAgentFilter{}).walk("", func(a *core.ManagedAgent, _ place) bool {
			out.Managed[string(a.Status)]++
			if core.WaitsForPerson(a.StatusReason) {
				out.Managed[a.StatusReason]++
			}
			return true
		}); err != nil {
			return err
		}
	}
	out.Waiting.People, _, err = s.inbox(c, core.InboxFilter{}).count()
	return err
}
