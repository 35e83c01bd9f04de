package workspace_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/wardroom/wardroom/core"
)

// memory is a store in memory that can fail at a chosen moment.
type memory struct {
	mu         sync.Mutex // guards all below
	workspaces map[string]*core.Workspace
	threads    map[string]*core.ThreadRecord
	fail       bool
}

func newMemory() *memory {
	return &memory{workspaces: make(map[string]*core.Workspace), threads: make(map[string]*core.ThreadRecord)}
}

var errDisk = errors.New("the disk is gone")

func (m *memory) setFail(fail bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = fail
}

func (m *memory) putThread(id string, status core.ThreadStatus) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.threads[id] = &core.ThreadRecord{Thread: core.Thread{ID: id, Status: status}}
}

func (m *memory) Update(_ context.Context, fn func(tx core.Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail {
		return errDisk
	}
	t := &memoryTx{workspaces: maps.Clone(m.workspaces)}
	if err := fn(t); err != nil {
		return err
	}
	m.workspaces = t.workspaces
	return nil
}

func (m *memory) FindWorkspace(_ context.Context, id string) (*core.Workspace, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return find(m.workspaces, id)
}

func (m *memory) AllWorkspaces(context.Context) ([]*core.Workspace, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*core.Workspace
	for _, id := range slices.Sorted(maps.Keys(m.workspaces)) {
		all = append(all, m.workspaces[id])
	}
	return all, nil
}

func (m *memory) FindWorkspaces(ctx context.Context, filter core.WorkspaceFilter) ([]*core.Workspace, core.PageInfo, error) {
	all, err := m.AllWorkspaces(ctx)
	all = slices.DeleteFunc(all, func(w *core.Workspace) bool { return filter.Status != "" && w.Status != filter.Status })
	return all, core.PageInfo{Total: len(all)}, err
}

func (m *memory) FindThread(_ context.Context, id string) (*core.ThreadRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, ok := m.threads[id]; ok {
		return t, nil
	}
	return nil, core.NotFound("thread", id)
}

func find(all map[string]*core.Workspace, id string) (*core.Workspace, error) {
	w, ok := all[id]
	if !ok {
		return nil, core.NotFound("workspace", id)
	}
	c := *w
	return &c, nil
}

type memoryTx struct {
	core.Tx    // what is not needed is not there
	workspaces map[string]*core.Workspace
}

func (t *memoryTx) PutWorkspace(w *core.Workspace) error {
	c := *w
	t.workspaces[w.ID] = &c
	return nil
}

func (t *memoryTx) FindWorkspace(id string) (*core.Workspace, error) { return find(t.workspaces, id) }

func (t *memoryTx) DeleteWorkspace(id string) error {
	delete(t.workspaces, id)
	return nil
}
