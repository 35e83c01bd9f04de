package api_test

import (
	"context"

	"github.com/wardroom/wardroom/core"
)

// fakeWorkspaces is a core.WorkspaceService made of functions; what the API does not call stays unset.
type fakeWorkspaces struct {
	core.WorkspaceService
	findAll func(core.WorkspaceFilter) ([]*core.Workspace, core.PageInfo, error)
	find    func(id string) (*core.Workspace, error)
	prune   func(core.WorkspacePrune) ([]core.WorkspacePruned, error)
	diff    func(id, path string, most int) (*core.WorkspaceDiff, error)
}

func someWorkspace(id string, status core.WorkspaceStatus) *core.Workspace {
	w := &core.Workspace{
		ID: id, ThreadID: threadID, ExecutionID: execID, Status: status, Path: "/srv/ws/1", Repo: "app",
		URL: "https://git.example.com/app.git", Branch: "main", WorkBranch: "wardroom/x", BaseCommit: "abc", Depth: 1,
		Filter: "blob:none", Submodules: true, SizeBytes: 4096, Warnings: []string{"2 LFS pointers"}, CreatedAt: epoch,
	}
	if status == core.WorkspaceReleased {
		w.ExpiresAt, w.Kept = &epoch, "1 unpushed commit"
	}
	return w
}

func (f *fakeWorkspaces) FindWorkspaces(_ context.Context, filter core.WorkspaceFilter) ([]*core.Workspace, core.PageInfo, error) {
	if f.findAll != nil {
		return f.findAll(filter)
	}
	return []*core.Workspace{someWorkspace(workspaceID, core.WorkspaceReleased), {ID: "ws_2", Status: core.WorkspaceReserved}},
		core.PageInfo{Total: 2}, nil
}

func (f *fakeWorkspaces) FindWorkspace(_ context.Context, id string) (*core.Workspace, error) {
	if f.find != nil {
		return f.find(id)
	}
	return someWorkspace(id, core.WorkspaceReady), nil
}

func (f *fakeWorkspaces) DiffWorkspace(_ context.Context, id, path string, most int) (*core.WorkspaceDiff, error) {
	if f.diff != nil {
		return f.diff(id, path, most)
	}
	return &core.WorkspaceDiff{WorkspaceID: id, BaseCommit: "abc", WorkBranch: "wardroom/x"}, nil
}

func (f *fakeWorkspaces) PruneWorkspaces(_ context.Context, prune core.WorkspacePrune) ([]core.WorkspacePruned, error) {
	if f.prune != nil {
		return f.prune(prune)
	}
	return []core.WorkspacePruned{{ID: "ws_1", Removed: true, FreedBytes: 10}, {ID: "ws_2", Reason: "1 unpushed commit", FreedBytes: 5}}, nil
}

func (f *fakeWorkspaces) WorkspaceUsage(context.Context) (*core.WorkspaceUsage, error) {
	return &core.WorkspaceUsage{Count: 3, Bytes: 1 << 20, MaxCount: 500, MaxTotalBytes: 1 << 30}, nil
}
