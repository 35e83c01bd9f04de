package store

import (
	"context"
	"slices"

	"github.com/wardroom/wardroom/core"
)

var workspaces = &table[core.Workspace]{
	prefix: prefixWorkspace, kind: "workspace", lists: kindWorkspace, idPrefix: core.PrefixWorkspace,
	facets: func(w *core.Workspace) []facet { return []facet{{'x', w.ExecutionID}, {'s', string(w.Status)}} },
}

// PutWorkspace implements core.WorkspaceTx.
func (t *tx) PutWorkspace(w *core.Workspace) error {
	switch {
	case w.ID == "":
		return core.Invalid("workspaceId", "must not be empty")
	case !slices.Contains(core.WorkspaceStatuses, w.Status):
		return core.Invalid("status", "%q is not a status of a workspace", w.Status)
	}
	return workspaces.save(t, w.ID, w)
}

// DeleteWorkspace implements core.WorkspaceTx. An unknown id is no error.
func (t *tx) DeleteWorkspace(id string) error { return workspaces.drop(t, id) }

// FindWorkspace implements core.WorkspaceTx.
func (t *tx) FindWorkspace(id string) (*core.Workspace, error) { return workspaces.find(t, id) }

// FindWorkspace implements core.WorkspaceReader.
func (s *Store) FindWorkspace(ctx context.Context, id string) (*core.Workspace, error) {
	return workspaces.one(ctx, s, id)
}

// FindWorkspaces implements core.WorkspaceReader.
func (s *Store) FindWorkspaces(ctx context.Context, filter core.WorkspaceFilter) ([]*core.Workspace, core.PageInfo, error) {
	if filter.Status != "" && !slices.Contains(core.WorkspaceStatuses, filter.Status) {
		return nil, core.PageInfo{}, core.Invalid("status", "%q is not a status of a workspace", filter.Status)
	}
	return workspaces.page(ctx, s, filter.Page, &core.Workspace{ExecutionID: filter.ExecutionID, Status: filter.Status})
}

// AllWorkspaces implements core.WorkspaceReader.
func (s *Store) AllWorkspaces(ctx context.Context) ([]*core.Workspace, error) {
	return workspaces.all(ctx, s)
}
