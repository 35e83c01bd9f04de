package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// PruneWorkspaces implements core.WorkspaceService.
func (s *Service) PruneWorkspaces(ctx context.Context, prune core.WorkspacePrune) ([]core.WorkspacePruned, error) {
	if prune.Force && len(prune.IDs) == 0 {
		return nil, core.Invalid("force", "needs ids: it removes work that is nowhere else, so name the workspaces")
	}
	ids := prune.IDs
	named := len(ids) > 0
	if named {
		for _, id := range ids {
			if _, err := s.FindWorkspace(ctx, id); err != nil {
				return nil, err
			}
		}
	} else {
		all, err := s.opts.Store.AllWorkspaces(ctx)
		if err != nil {
			return nil, err
		}
		for _, w := range all {
			if w.Status != core.WorkspaceRemoved && s.expired(w) {
				ids = append(ids, w.ID)
			}
		}
	}
	results := []core.WorkspacePruned{}
	var failed error // of those that were not named: one does not keep the others
	for _, id := range ids {
		result, err := s.prune(ctx, id, named, prune)
		switch {
		case err == nil:
			results = append(results, result)
		case named || ctx.Err() != nil:
			return results, err
		case failed == nil:
			failed = fmt.Errorf("workspace %s: %w", id, err)
		}
	}
	if prune.Mirrors {
		mirrors, err := s.pruneMirrors(ctx, prune.DryRun)
		results = append(results, mirrors...)
		if err != nil {
			return results, err
		}
	}
	return results, failed
}

// EraseWorkspace removes a workspace with all that is left of it: its files and branch, whatever they hold, its record, and the
// mirror of its repository, in which git keeps what was committed. left says why the mirror stays, if it does. An unknown id is
// no error; CONFLICT while its thread runs.
func (s *Service) EraseWorkspace(ctx context.Context, id string) (left string, err error) {
	w, err := s.FindWorkspace(ctx, id)
	if core.ErrorCode(err) == core.CodeNotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if w.Status != core.WorkspaceRemoved {
		result, err := s.prune(ctx, id, true, core.WorkspacePrune{Force: true})
		if err != nil {
			return "", err
		}
		if !result.Removed {
			return "", core.Conflict("workspace", id, string(w.Status), "workspace %s was not removed: %s", id, result.Reason)
		}
	}
	if err := s.eraseRest(ctx, w); err != nil {
		return "", err
	}
	if w.Repo == "" {
		return "", nil
	}
	mirror, err := s.pruneMirror(ctx, s.mirrorOfWorkspace(w), false)
	if err != nil || mirror.Removed {
		return "", err
	}
	return mirror.ID + ": " + mirror.Reason, nil
}

// eraseRest removes what a removal may have left of a workspace, and its record.
func (s *Service) eraseRest(ctx context.Context, w *core.Workspace) error {
	unlock, err := s.locks.lock(ctx, w.ID)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.erase(ctx, w); err != nil {
		return err
	}
	return s.opts.Store.Update(ctx, func(tx core.Tx) error { return tx.DeleteWorkspace(w.ID) })
}

// expired reports whether the time to live of a workspace is over.
func (s *Service) expired(w *core.Workspace) bool {
	if w.ExpiresAt == nil {
		return false
	}
	c := s.config()
	ttl := c.ReserveTTL
	switch {
	case w.Kept != "":
		ttl = keepAgain
	case w.Status == core.WorkspaceReleased:
		ttl = c.TTL
	}
	return s.opts.Older(w.ExpiresAt.Add(-ttl), ttl)
}

// prune removes one workspace, or tells why it stays.
func (s *Service) prune(ctx context.Context, id string, named bool, how core.WorkspacePrune) (core.WorkspacePruned, error) {
	kept := func(format string, args ...any) core.WorkspacePruned {
		return core.WorkspacePruned{ID: id, Reason: fmt.Sprintf(format, args...)}
	}
	unlock, err := s.locks.lock(ctx, id)
	if err != nil {
		return core.WorkspacePruned{}, err
	}
	defer unlock()
	w, err := s.FindWorkspace(ctx, id)
	if err != nil {
		return core.WorkspacePruned{}, err
	}
	if w.Status == core.WorkspaceRemoved {
		return kept("it was removed already"), nil
	}
	if running, err := s.running(ctx, w); err != nil || running {
		return kept("its thread %s runs", w.ThreadID), err
	}
	if !named && !s.expired(w) {
		return kept("it is not expired any more"), nil
	}
	if !how.Force {
		if reason := s.holds(ctx, w); reason != "" {
			if ctx.Err() != nil {
				return core.WorkspacePruned{}, ctx.Err()
			}
			return kept("%s", reason), s.postpone(ctx, w, reason, how.DryRun || named)
		}
	}
	freed := diskUse(s.treePath(id))
	result := core.WorkspacePruned{ID: id, Removed: true, FreedBytes: freed}
	if how.DryRun {
		return result, nil
	}
	now := s.opts.Clock.Now()
	_, err = s.change(ctx, id, func(latest *core.Workspace) error {
		if latest.ThreadID != w.ThreadID || latest.Status != w.Status {
			return core.Conflict("workspace", id, string(latest.Status), "workspace %q was taken by thread %s", id, latest.ThreadID)
		}
		latest.Status, latest.RemovedAt, latest.ExpiresAt, latest.Kept, latest.SizeBytes = core.WorkspaceRemoved, &now, nil, "", 0
		return nil
	})
	if core.ErrorCode(err) == core.CodeConflict {
		return kept("%s", core.AsError(err).Message), nil
	}
	if err != nil {
		return core.WorkspacePruned{}, err
	}
	if err := s.erase(ctx, w); err != nil {
		s.log.Warn("a removed workspace still has files; the next sweep tries again", "workspace", id, "error", err)
	}
	return result, nil
}

// running reports whether a thread works in a workspace. A thread that is over, or gone, without having released it does
// not.
func (s *Service) running(ctx context.Context, w *core.Workspace) (bool, error) {
	if w.ThreadID == "" || w.Status == core.WorkspaceReleased {
		return false, nil
	}
	thread, err := s.opts.Store.FindThread(ctx, w.ThreadID)
	if core.ErrorCode(err) == core.CodeNotFound {
		// One that was reserved a moment ago may be about to be stored.
		return s.opts.Clock.Now().Sub(w.CreatedAt) < s.config().ReserveTTL, nil
	}
	if err != nil {
		return true, err
	}
	return !thread.Status.Terminal(), nil
}

// holds returns why a workspace must stay: work that would be lost with it. "" when there is none.
func (s *Service) holds(ctx context.Context, w *core.Workspace) string {
	if w.Repo == "" || w.Status == core.WorkspaceReserved {
		return ""
	}
	look := s.inspect
	if _, err := os.Lstat(s.treePath(w.ID)); errors.Is(err, fs.ErrNotExist) { // the files were removed by hand
		if m := s.mirrorOfWorkspace(w); !m.exists() {
			return ""
		}
		look = s.inspectCommits
	}
	changes, err := look(ctx, w)
	if err != nil {
		s.log.Warn("a workspace cannot be looked into and is kept", "workspace", w.ID, "error", err)
		return "what it holds cannot be told: " + core.AsError(explain(err, nil, "")).Message
	}
	switch {
	case changes.Unpushed > 0 && changes.Uncommitted > 0:
		return fmt.Sprintf("%d commits that are not pushed, %d files that are not committed", changes.Unpushed, changes.Uncommitted)
	case changes.Unpushed > 0:
		return fmt.Sprintf("%d commits that are not pushed", changes.Unpushed)
	case changes.Uncommitted > 0:
		return fmt.Sprintf("%d files that are not committed", changes.Uncommitted)
	}
	return ""
}

// postpone notes why an expired workspace stays, and when it is looked at again.
func (s *Service) postpone(ctx context.Context, w *core.Workspace, reason string, only bool) error {
	if only {
		return nil
	}
	_, err := s.change(ctx, w.ID, func(latest *core.Workspace) error {
		if latest.ExpiresAt == nil || latest.Status != w.Status {
			return nil // somebody took it
		}
		again := s.opts.Clock.Now().Add(keepAgain)
		latest.Kept, latest.ExpiresAt = reason, &again
		return nil
	})
	return err
}

// erase removes what a workspace has on disk: its tree, what git keeps of it, and its branch. The branch goes only when
// it holds nothing of its own, or the workspace was removed by force.
func (s *Service) erase(ctx context.Context, w *core.Workspace) error {
	if err := s.clearWorkspace(w); err != nil {
		return err
	}
	m := s.mirrorOfWorkspace(w)
	if w.Repo == "" || w.Status == core.WorkspaceReserved || !m.exists() {
		return nil
	}
	if err := m.secure(); err != nil {
		return err
	}
	all, err := s.opts.Store.AllWorkspaces(ctx)
	if err != nil {
		return err
	}
	if takenBranches(all, w)[w.WorkBranch] {
		return nil // its name was free once w was removed
	}
	ref := "refs/heads/" + w.WorkBranch
	if _, err := m.git(ctx, nil, "rev-parse", "--verify", "--quiet", ref); err != nil || m.checkedOut(ref) {
		return ctx.Err() // it is gone, or somebody else's now
	}
	_, err = m.git(ctx, nil, "update-ref", "--no-deref", "-d", ref)
	return err
}

// sweepOften removes what is expired every now and then.
func (s *Service) sweepOften() {
	for pause.For(s.ctx, s.opts.Clock, sweepInterval) {
		if err := s.Sweep(s.ctx); err != nil && s.ctx.Err() == nil {
			s.log.Warn("expired workspaces were not removed", "error", err)
		}
	}
}

// Sweep removes expired workspaces and old records, begins the time to live of those whose thread is gone, and removes
// files that a removal or a fetch left over; it looks at what workspaces take, and keeps the number of packs of mirrors small. The
// service calls it every few minutes.
func (s *Service) Sweep(ctx context.Context) error {
	s.sweeping.Lock()
	defer s.sweeping.Unlock()
	all, err := s.opts.Store.AllWorkspaces(ctx)
	if err != nil {
		return err
	}
	var failed error // the first: a record that cannot be read is not to keep the others
	for _, w := range all {
		switch {
		case w.Status == core.WorkspaceRemoved:
			err = s.sweepRemoved(ctx, w)
		case w.ExpiresAt == nil && w.ThreadID != "":
			err = s.sweepOrphan(ctx, w)
		}
		if err != nil && ctx.Err() != nil {
			return err
		}
		if err != nil && failed == nil {
			failed = fmt.Errorf("workspace %s: %w", w.ID, err)
		}
	}
	pruned, err := s.PruneWorkspaces(ctx, core.WorkspacePrune{})
	failed = firstError(failed, err)
	for _, p := range pruned {
		if p.Removed {
			s.log.Info("an expired workspace was removed", "workspace", p.ID, "bytes", p.FreedBytes)
		}
	}
	s.clear(halfRemoved)
	s.clearHalfPacks()
	if all, err = s.opts.Store.AllWorkspaces(ctx); err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return s.measure(ctx, all) }, func() error { return s.retainBySize(ctx, all) }, func() error { return s.joinPacks(ctx) },
	} {
		err := step()
		if err != nil && ctx.Err() != nil {
			return err
		}
		failed = firstError(failed, err)
	}
	return failed
}

// sweepRemoved removes files that are still there, and the record once it is old.
func (s *Service) sweepRemoved(ctx context.Context, w *core.Workspace) error {
	if s.leftOf(w) {
		unlock, err := s.locks.lock(ctx, w.ID)
		if err != nil {
			return err
		}
		err = s.erase(ctx, w)
		unlock()
		if err != nil {
			s.log.Warn("a removed workspace still has files; the next sweep tries again", "workspace", w.ID, "error", err)
			return nil // the others are swept all the same
		}
	}
	if w.RemovedAt == nil || !s.opts.Older(*w.RemovedAt, keepRecord) {
		return nil
	}
	return s.opts.Store.Update(ctx, func(tx core.Tx) error { return tx.DeleteWorkspace(w.ID) })
}

// leftOf reports whether a removed workspace still has its directory, or what git keeps of it.
func (s *Service) leftOf(w *core.Workspace) bool {
	_, tree := os.Lstat(s.treePath(w.ID))
	_, admin := os.Lstat(s.mirrorOfWorkspace(w).admin(w.ID))
	return tree == nil || admin == nil
}

// sweepOrphan releases a workspace whose thread is over, or gone, and did not say so.
func (s *Service) sweepOrphan(ctx context.Context, w *core.Workspace) error {
	if running, err := s.running(ctx, w); err != nil || running {
		return err
	}
	return s.opts.Store.Update(ctx, func(tx core.Tx) error { return s.ReleaseWorkspace(tx, w.ID) })
}
