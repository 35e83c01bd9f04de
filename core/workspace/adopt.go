package workspace

import "github.com/wardroom/wardroom/core"

// AdoptWorkspace implements core.WorkspaceService.
func (s *Service) AdoptWorkspace(tx core.WorkspaceTx, id, threadID, executionID string) (*core.Workspace, error) {
	if !core.ValidID(core.PrefixWorkspace, id) {
		return nil, core.NotFound("workspace", id)
	}
	w, err := tx.FindWorkspace(id)
	if err != nil {
		return nil, err
	}
	switch {
	case w.Status == core.WorkspaceRemoved:
		return nil, core.Conflict("workspace", id, string(w.Status), "workspace %q is %s; prepare again for a new one", id, w.Status)
	case w.ThreadID == threadID:
		return w, nil
	case w.ThreadID != "" && w.Status != core.WorkspaceReleased:
		return nil, taken(w)
	}
	if w.Status != core.WorkspaceReserved {
		if err := s.ours(w); err != nil {
			return nil, err
		}
	}
	next := *w
	if w.Status == core.WorkspaceReleased { // its thread is over, and the files are as that left them
		next.Status = core.WorkspaceReady
	}
	next.ThreadID, next.ExecutionID, next.ExpiresAt, next.Kept = threadID, executionID, nil, ""
	return &next, tx.PutWorkspace(&next)
}

// taken refuses what another thread has.
func taken(w *core.Workspace) error {
	return core.Conflict("workspace", w.ID, string(w.Status), "workspace %q belongs to another thread; prepare again for a new one", w.ID)
}

// ReleaseWorkspace implements core.WorkspaceService.
func (s *Service) ReleaseWorkspace(tx core.WorkspaceTx, id string) error {
	w, err := tx.FindWorkspace(id)
	if err != nil {
		return err
	}
	next := *w
	now := s.opts.Clock.Now()
	switch w.Status {
	case core.WorkspaceReady:
		expires := now.Add(s.config().TTL)
		next.Status, next.ExpiresAt = core.WorkspaceReleased, &expires
	case core.WorkspaceReserved: // it never had a directory; a checkout that runs sees this and clears up
		next.Status, next.RemovedAt, next.ExpiresAt = core.WorkspaceRemoved, &now, nil
	default:
		return nil
	}
	return tx.PutWorkspace(&next)
}
