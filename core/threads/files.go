package threads

import (
	"context"

	"github.com/wardroom/wardroom/core"
)

// DiffThread implements core.ThreadService.
func (s *Service) DiffThread(ctx context.Context, id string, most int) (*core.WorkspaceDiff, error) {
	r, err := s.withFiles(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.opts.Workspaces.DiffWorkspace(ctx, r.Workspace.ID, "", most)
}

// withFiles returns the record of a thread that has a workspace of its own here. One that another thread took up since is that
// one's: others may read it, and its agent works in it.
func (s *Service) withFiles(ctx context.Context, id string) (*core.ThreadRecord, error) {
	r, err := s.stored(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.Workspace == nil {
		return nil, core.Conflict("thread", id, string(r.Status), "the thread has no workspace here")
	}
	if r.ContinuedBy != "" {
		return nil, core.Conflict("thread", id, string(r.Status), "the thread %s goes on with the workspace; ask for that one", r.ContinuedBy)
	}
	switch ws, err := s.opts.Workspaces.FindWorkspace(ctx, r.Workspace.ID); {
	case err != nil:
		return nil, err
	case ws.ThreadID != id:
		return nil, core.Conflict("thread", id, string(r.Status), "the workspace belongs to another thread by now; ask for that one")
	}
	return r, nil
}

// UpdateThread implements core.ThreadService. Nothing is given to the agent meanwhile.
func (s *Service) UpdateThread(ctx context.Context, id string, how core.WorkspaceUpdateMethod) (*core.WorkspaceUpdate, error) {
	if how != core.WorkspaceMerge && how != core.WorkspaceRebase {
		return nil, core.Invalid("method", "must be merge or rebase")
	}
	r, err := s.withFiles(ctx, id)
	if err != nil {
		return nil, err
	}
	t := s.find(id)
	switch {
	case r.Status.Terminal():
		return s.opts.Workspaces.UpdateWorkspace(ctx, r.Workspace.ID, how)
	case t == nil:
		return nil, core.Unavailable("starting", "the thread is not supervised yet; try again")
	}
	if err := t.lockFeed(ctx); err != nil {
		return nil, err
	}
	defer t.unlockFeed()
	r = t.record()
	if r.Ending != nil || r.Status != core.ThreadReady && r.Status != core.ThreadIdle || r.Work != nil && r.Work.Held && r.Work.Ended == nil {
		return nil, core.Conflict("thread", id, string(r.Status), "the agent works in the workspace: wait until the thread is ready, or stop it")
	}
	return s.opts.Workspaces.UpdateWorkspace(ctx, r.Workspace.ID, how)
}
