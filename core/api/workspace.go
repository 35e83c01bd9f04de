package api

import (
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// workspaceRoutes are there when the service has workspaces at all.
func (s *Server) workspaceRoutes() []Route {
	if s.opts.Workspaces == nil {
		return nil
	}
	const tag, resource = "workspaces", "workspaces"
	reads := func(r Route) Route {
		r.Method, r.Tag, r.Resource = http.MethodGet, tag, resource
		r.Action, r.Scope = "workspaces.read", "executions:read"
		return r
	}
	return []Route{
		reads(Route{
			Path: "/api/workspaces", OperationID: "listWorkspaces", Summary: "List workspaces, newest first.",
			Query: append(pageParams(),
				Param{Name: "status", Type: ParamString, Enum: workspaceStatuses(), Doc: "Status."},
				Param{Name: "executionId", Type: ParamString, Doc: "Execution of its thread."}),
			Responses: []Response{{Status: 200, Body: workspaceList{}, Doc: "A page of workspaces."}},
			Fails:     []int{404}, Handle: s.listWorkspaces,
		}),
		reads(Route{
			Path: "/api/workspaces/usage", OperationID: "getWorkspaceUsage",
			Summary:   "Get what workspaces take on disk together, and what they may.",
			Responses: []Response{{Status: 200, Body: core.WorkspaceUsage{}, Doc: "As of the last look at each: the server looks every few minutes."}},
			Handle:    s.getWorkspaceUsage,
		}),
		reads(Route{
			Path: "/api/workspaces/{workspaceId}", OperationID: "getWorkspace", Summary: "Get one workspace.",
			Responses: []Response{{Status: 200, Body: core.Workspace{}, Doc: "The workspace."}},
			Fails:     []int{404}, Handle: s.getWorkspace,
		}),
		{
			Method: http.MethodPost, Path: "/api/workspaces/prune", OperationID: "pruneWorkspaces", Tag: tag,
			Resource: resource, Action: "workspaces.prune", Scope: "executions:create",
			Summary: "Remove workspaces that are expired, or named.",
			Description: "Work that is not pushed or not committed is kept, and told of, unless force is true with ids: that " +
				"needs the scope admin. The workspace of a thread that runs is never removed.",
			Body:      &Body{JSON: new(pruneWorkspacesRequest), Optional: true},
			Responses: []Response{{Status: 200, Body: wire.WorkspacePruneResult{}, Doc: "What became of each."}},
			Fails:     []int{404, 409}, Handle: s.pruneWorkspaces,
		},
	}
}

// pruneWorkspacesRequest says what to remove.
type pruneWorkspacesRequest struct {
	IDs     []string `json:"ids" check:"max=1000" doc:"These, expired or not. Default: all that are expired."`
	Force   bool     `json:"force" doc:"With ids: also what holds work that is nowhere else."`
	DryRun  bool     `json:"dryRun" doc:"Only tell."`
	Mirrors bool     `json:"mirrors" doc:"Also mirrors of repositories that no workspace uses."`
}

type workspaceList struct {
	Workspaces []*core.Workspace `json:"workspaces"`
	wire.PageInfo
}

func (s *Server) getWorkspaceUsage(c *call) (answer, error) {
	u, err := s.opts.Workspaces.WorkspaceUsage(c.ctx)
	if err != nil {
		return answer{}, err
	}
	return ok(u), nil
}

func workspaceStatuses() []string {
	list := make([]string, len(core.WorkspaceStatuses))
	for i, s := range core.WorkspaceStatuses {
		list[i] = string(s)
	}
	return list
}

func (s *Server) listWorkspaces(c *call) (answer, error) {
	page, err := c.page()
	if err != nil {
		return answer{}, err
	}
	found, info, err := s.opts.Workspaces.FindWorkspaces(c.ctx, core.WorkspaceFilter{
		Status: core.WorkspaceStatus(c.query.text("status")), ExecutionID: c.query.text("executionId"), Page: page,
	})
	if err != nil {
		return answer{}, err
	}
	return ok(workspaceList{found, pageOf(page, info)}), nil
}

func (s *Server) getWorkspace(c *call) (answer, error) {
	w, err := s.opts.Workspaces.FindWorkspace(c.ctx, c.param("workspaceId"))
	if err != nil {
		return answer{}, err
	}
	return ok(w), nil
}

func (s *Server) pruneWorkspaces(c *call) (answer, error) {
	var req pruneWorkspacesRequest
	if err := c.decode(&req); err != nil {
		return answer{}, err
	}
	if req.Force {
		if err := c.mayAlso(actionForce); err != nil {
			return answer{}, err
		}
		if len(req.IDs) == 0 {
			return answer{}, core.Invalid("force", "goes with ids: name what is to be removed with its work")
		}
	}
	found, err := s.opts.Workspaces.PruneWorkspaces(c.detached(), core.WorkspacePrune{
		IDs: req.IDs, Force: req.Force, DryRun: req.DryRun, Mirrors: req.Mirrors,
	})
	if err != nil {
		return answer{}, err
	}
	body := wire.WorkspacePruneResult{Pruned: found, DryRun: req.DryRun}
	for _, p := range found {
		if p.Removed {
			body.Removed++
			body.FreedBytes += p.FreedBytes
		}
	}
	return ok(body), nil
}
