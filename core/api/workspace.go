package api

import (
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Workspaces makes the operations of the directories that threads work in.
func Workspaces(service core.WorkspaceService) Part {
	return Part{"workspaces", resource{wire.AuditExecutions, true, core.PrefixWorkspace}, workspacePart{service}.routes()}
}

type workspacePart struct{ service core.WorkspaceService }

func (p workspacePart) routes() []Route {
	route := routesOf("workspaces", core.ScopeExecutionsRead, core.ScopeExecutionsCreate)
	reads := func(r Route) Route { return route(http.MethodGet, "workspaces.read", r) }
	return []Route{
		reads(Route{
			Path: "/api/workspaces", OperationID: "listWorkspaces", Summary: "List workspaces, newest first.",
			Query: append(pageParams(),
				Param{Name: "status", Type: ParamString, Enum: words(core.WorkspaceStatuses), Doc: "Status."},
				Param{Name: "executionId", Type: ParamString, Doc: "Execution of its thread."}),
			Responses: []Response{{Status: 200, Body: workspaceList{}, Doc: "A page of workspaces."}},
			Fails:     []int{404}, Handle: p.listWorkspaces,
		}),
		reads(Route{
			Path: "/api/workspaces/usage", OperationID: "getWorkspaceUsage",
			Summary:   "Get what workspaces take on disk together, and what they may: those that the caller may read.",
			Responses: []Response{{Status: 200, Body: core.WorkspaceUsage{}, Doc: "As of the last look at each: the server looks every few minutes."}},
			Handle:    p.getWorkspaceUsage,
		}),
		reads(Route{
			Path: "/api/workspaces/{workspaceId}", OperationID: "getWorkspace", Summary: "Get one workspace.",
			Responses: []Response{{Status: 200, Body: wire.WorkspaceRow{}, Doc: "The workspace."}},
			Fails:     []int{404}, Handle: p.getWorkspace,
		}),
		reads(Route{
			Path: "/api/workspaces/{workspaceId}/changes", OperationID: "getWorkspaceChanges",
			Summary:     "Get what the files of a workspace differ in from the commit that it began at.",
			Description: "What is committed, what is not, and files that git does not know, as long as the workspace has files. One without a repository is a 409.",
			Query:       []Param{patchBytes()},
			Responses:   []Response{{Status: 200, Body: core.WorkspaceDiff{}, Doc: "The files, and the patch."}},
			Fails:       []int{404, 409}, Handle: p.getWorkspaceChanges,
		}),
		reads(Route{
			Path: "/api/workspaces/{workspaceId}/changes/{path}", OperationID: "getWorkspaceFileChanges",
			Summary:     "Get what one file of a workspace differs in.",
			Description: "The path is that of files in the changes, as one segment: a slash is %2F. One that did not change is a 404.",
			Query:       []Param{patchBytes()},
			Responses:   []Response{{Status: 200, Body: core.WorkspaceDiff{}, Doc: "The file, and its patch."}},
			Fails:       []int{404, 409}, Handle: p.getWorkspaceFileChanges,
		}),
		route(http.MethodPost, "workspaces.prune", Route{
			Path: "/api/workspaces/prune", OperationID: "pruneWorkspaces",
			Summary: "Remove workspaces that are expired, or named.",
			Description: "Work that is not pushed or not committed is kept, and told of, unless force is true with ids: that " +
				"needs the scope admin. The workspace of a thread that runs is never removed.",
			Body:      &Body{JSON: new(wire.WorkspacePrune), Optional: true},
			Responses: []Response{{Status: 200, Body: wire.WorkspacePruneResult{}, Doc: "What became of each."}},
			Fails:     []int{404, 409}, Handle: decoded(p.pruneWorkspaces),
		}),
	}
}

type workspaceList struct {
	Workspaces []*wire.WorkspaceRow `json:"workspaces"`
	wire.PageInfo
}

// newWorkspaceRow returns a workspace as it is shown; nil: there is none.
func newWorkspaceRow(w *core.Workspace) *wire.WorkspaceRow {
	if w == nil {
		return nil
	}
	return &wire.WorkspaceRow{RowID: w.ID, Workspace: *w}
}

func (p workspacePart) getWorkspaceUsage(c *call) (answer, error) {
	u, err := p.service.WorkspaceUsage(c.ctx)
	if err != nil {
		return answer{}, err
	}
	if readable := p.workspaces(c, core.WorkspaceFilter{}); !readable.all {
		if u, err = usageOf(readable, *u); err != nil {
			return answer{}, err
		}
	}
	return ok(u), nil
}

// usageOf counts the workspaces that the caller may read in place of all; the limits stay.
func usageOf(readable *rows[*core.Workspace], whole core.WorkspaceUsage) (*core.WorkspaceUsage, error) {
	u := core.WorkspaceUsage{
		MaxCount: whole.MaxCount, MaxBytes: whole.MaxBytes, MaxTotalBytes: whole.MaxTotalBytes, MaxReleasedBytes: whole.MaxReleasedBytes,
	}
	cut, err := readable.walk("", func(w *core.Workspace, _ place) bool {
		if w.Status == core.WorkspaceRemoved {
			return true
		}
		u.Count, u.Bytes = u.Count+1, u.Bytes+w.SizeBytes
		if w.Status == core.WorkspaceReleased {
			u.ReleasedCount, u.ReleasedBytes = u.ReleasedCount+1, u.ReleasedBytes+w.SizeBytes
		}
		if w.Kept != "" {
			u.KeptCount, u.KeptBytes = u.KeptCount+1, u.KeptBytes+w.SizeBytes
		}
		return true
	})
	u.AtLeast = cut != nil
	return &u, err
}

func (p workspacePart) listWorkspaces(c *call) (answer, error) {
	filter := core.WorkspaceFilter{Status: core.WorkspaceStatus(c.query.text("status")), ExecutionID: c.query.text("executionId")}
	return listed(c, p.workspaces(c, filter).page, newWorkspaceRow,
		func(rows []*wire.WorkspaceRow, info wire.PageInfo) any { return workspaceList{rows, info} })
}

// workspaces are those that a filter selects and the caller may read.
func (p workspacePart) workspaces(c *call, filter core.WorkspaceFilter) *rows[*core.Workspace] {
	return listOf(c, func(w *core.Workspace) string { return w.ID }, func(page core.Page) ([]*core.Workspace, core.PageInfo, error) {
		filter.Page = page
		return p.service.FindWorkspaces(c.ctx, filter)
	})
}

func (p workspacePart) getWorkspace(c *call) (answer, error) {
	w, err := p.service.FindWorkspace(c.ctx, c.param("workspaceId"))
	if err != nil {
		return answer{}, err
	}
	return ok(newWorkspaceRow(w)), nil
}

// patchBytes bounds the patch of an answer.
func patchBytes() Param {
	return Param{Name: "maxBytes", Type: ParamInteger, Default: "1048576", Min: 1, Max: 16 << 20, Doc: "Bytes of the patch at most."}
}

func (p workspacePart) getWorkspaceChanges(c *call) (answer, error) { return p.workspaceChanges(c, "") }

func (p workspacePart) getWorkspaceFileChanges(c *call) (answer, error) {
	return p.workspaceChanges(c, c.param("path"))
}

func (p workspacePart) workspaceChanges(c *call, path string) (answer, error) {
	return shown(p.service.DiffWorkspace(c.ctx, c.param("workspaceId"), path, int(c.query.integer("maxBytes"))))
}

func (p workspacePart) pruneWorkspaces(c *call, req wire.WorkspacePrune) (answer, error) {
	if req.Force {
		if err := c.mayAlso(actionForce); err != nil {
			return answer{}, err
		}
		if len(req.IDs) == 0 {
			return answer{}, core.Invalid("force", "goes with ids: name what is to be removed with its work")
		}
	}
	if !c.readsAll(c.need()) {
		switch {
		case len(req.IDs) == 0:
			return answer{}, core.Invalid("ids", "must name the workspaces: what else is expired may not be open to the caller")
		case req.Mirrors:
			return answer{}, core.Invalid("mirrors", "must be left out: they may be of repositories that are not open to the caller")
		}
	}
	for _, id := range req.IDs {
		if err := c.mayUse(id); err != nil {
			return answer{}, err
		}
	}
	found, err := p.service.PruneWorkspaces(c.detached(), req)
	if err != nil {
		return answer{}, err
	}
	body := wire.WorkspacePruneResult{Pruned: found, DryRun: req.DryRun}
	for _, one := range found {
		if one.Removed {
			body.Removed++
			body.FreedBytes += one.FreedBytes
		}
	}
	return ok(body), nil
}
