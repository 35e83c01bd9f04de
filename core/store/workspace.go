package store

import (
	"context"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// workspaceFacets are the lists that a workspace is in; nil is none.
func workspaceFacets(w *core.Workspace) []facet {
	if w == nil {
		return nil
	}
	return []facet{{'x', w.ExecutionID}, {'s', string(w.Status)}}
}

// PutWorkspace implements core.Tx.
func (t *tx) PutWorkspace(w *core.Workspace) error {
	switch {
	case w.ID == "":
		return core.Invalid("workspaceId", "must not be empty")
	case !slices.Contains(core.WorkspaceStatuses, w.Status):
		return core.Invalid("status", "%q is not a status of a workspace", w.Status)
	}
	old, err := t.workspace(w.ID)
	if err != nil {
		return err
	}
	if err := t.setJSON(t.key(prefixWorkspace, w.ID), w); err != nil {
		return err
	}
	return t.relist(kindWorkspace, w.ID, workspaceFacets(old), workspaceFacets(w))
}

// DeleteWorkspace implements core.Tx. An unknown id is no error.
func (t *tx) DeleteWorkspace(id string) error {
	old, err := t.workspace(id)
	if err != nil || old == nil {
		return err
	}
	if err := t.relist(kindWorkspace, id, workspaceFacets(old), nil); err != nil {
		return err
	}
	t.delete(t.key(prefixWorkspace, id))
	return nil
}

// workspace returns a workspace as the closure sees it, or nil.
func (t *tx) workspace(id string) (*core.Workspace, error) {
	value, err := t.get(t.key(prefixWorkspace, id))
	if err != nil || value == nil {
		return nil, err
	}
	w := new(core.Workspace)
	return w, decodeJSON("workspace", id, value, w)
}

// FindWorkspace implements core.Tx.
func (t *tx) FindWorkspace(id string) (*core.Workspace, error) {
	w := new(core.Workspace)
	return w, t.read(t.key(prefixWorkspace, id), "workspace", id, w)
}

// FindWorkspace implements core.WorkspaceReader.
func (s *Store) FindWorkspace(ctx context.Context, id string) (*core.Workspace, error) {
	var w *core.Workspace
	err := s.view(ctx, func(txn kv.Snapshot) (err error) {
		w, err = readWorkspace(txn, id)
		return err
	})
	return w, err
}

func readWorkspace(txn kv.Snapshot, id string) (*core.Workspace, error) {
	w := new(core.Workspace)
	return w, read(txn, appendKey(nil, prefixWorkspace, id), "workspace", id, w)
}

// FindWorkspaces implements core.WorkspaceReader.
func (s *Store) FindWorkspaces(ctx context.Context, filter core.WorkspaceFilter) ([]*core.Workspace, core.PageInfo, error) {
	if filter.Status != "" && !slices.Contains(core.WorkspaceStatuses, filter.Status) {
		return nil, core.PageInfo{}, core.Invalid("status", "%q is not a status of a workspace", filter.Status)
	}
	q := listQuery{
		kind: kindWorkspace, idPrefix: core.PrefixWorkspace, page: filter.Page,
		facets: workspaceFacets(&core.Workspace{ExecutionID: filter.ExecutionID, Status: filter.Status}),
	}
	return findRows(ctx, s, q, readWorkspace)
}

// AllWorkspaces implements core.WorkspaceReader.
func (s *Store) AllWorkspaces(ctx context.Context) ([]*core.Workspace, error) {
	var list []*core.Workspace
	err := s.view(ctx, func(txn kv.Snapshot) error {
		return scan(txn, []byte(prefixWorkspace), nil, true, func(key, value []byte) (bool, error) {
			w := new(core.Workspace)
			if err := decodeJSON("workspace", string(key[len(prefixWorkspace):]), value, w); err != nil {
				return s.pass(key, err)
			}
			list = append(list, w)
			return true, ctx.Err()
		})
	})
	return list, err
}
