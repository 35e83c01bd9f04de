package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// branchTries bounds the search for a work branch that is free in the mirror.
const branchTries = 50

// ProvisionWorkspace implements core.WorkspaceService.
func (s *Service) ProvisionWorkspace(ctx context.Context, id string) (*core.Workspace, error) {
	unlock, err := s.locks.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	w, err := s.FindWorkspace(ctx, id)
	if err != nil {
		return nil, err
	}
	switch w.Status {
	case core.WorkspaceReady:
		if err := s.ours(w); err != nil {
			return w, err
		}
		w, err = s.recoverMove(ctx, w)
		return w, explain(err, nil, "")
	case core.WorkspaceReserved:
	default:
		return nil, core.Conflict("workspace", id, string(w.Status), "workspace %q is %s; spawn the thread again for a new one", id, w.Status)
	}
	if w.Repo != "" {
		if err := s.usableGit(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.clearWorkspace(w); err != nil { // of a try that was cut off before it was stored
		return nil, explain(err, nil, "")
	}
	made := *w
	made.Path = s.treePath(id)
	if w.Repo == "" {
		err = s.makeEmpty(&made)
	} else {
		err = s.checkOut(ctx, &made)
	}
	if err != nil {
		// Nothing stays but the reservation, also when the caller's time is over.
		if clearing := s.clearWorkspace(w); clearing != nil {
			s.log.Warn("what is left of a checkout that failed could not be removed", "workspace", id, "error", clearing)
		}
		return nil, err
	}
	stored, err := s.change(ctx, id, func(now *core.Workspace) error {
		if now.Status != core.WorkspaceReserved {
			return core.Conflict("workspace", id, string(now.Status), "workspace %q was %s while it was made", id, now.Status)
		}
		now.Status, now.Path = core.WorkspaceReady, made.Path
		now.BaseCommit, now.WorkBranch, now.SizeBytes, now.Warnings = made.BaseCommit, made.WorkBranch, made.SizeBytes, made.Warnings
		return nil
	})
	if errors.Is(err, core.ErrInDoubt) {
		return nil, err // where it is not stored, the next try clears it away
	}
	if err != nil {
		if clearing := s.clearWorkspace(&made); clearing != nil {
			s.log.Warn("a checkout that is not needed could not be removed", "workspace", id, "error", clearing)
		}
		return nil, err
	}
	return stored, nil
}

// makeEmpty makes the directory of a workspace without a repository.
func (s *Service) makeEmpty(w *core.Workspace) error {
	return explain(os.Mkdir(s.treePath(w.ID), 0o755), nil, "")
}

// checkOut makes the worktree of a reserved workspace and notes in w what it became.
func (s *Service) checkOut(ctx context.Context, w *core.Workspace) error {
	rem, err := s.remoteOf(w)
	if err != nil {
		return err
	}
	m := s.mirrorOfWorkspace(w)
	if err := s.obtain(ctx, m, rem, w); err != nil {
		return explain(err, rem, w.Branch)
	}
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	limited, cancel := context.WithTimeout(ctx, s.config().CheckoutTimeout)
	defer cancel()
	err = s.fill(limited, m, rem, w)
	if failureOf(err) == failBroken {
		if err = m.mend(ctx, rem, want{hash: w.BaseCommit}); err == nil {
			err = s.fill(limited, m, rem, w)
		}
	}
	return explain(err, rem, w.Branch)
}

// obtain makes the mirror hold the commit that was reserved. When the remote does not have it any more, because the
// branch was rewritten, the present one takes its place, with a warning.
func (s *Service) obtain(ctx context.Context, m *mirror, rem *remote, w *core.Workspace) error {
	first := want{hash: w.BaseCommit}
	if !fullHash.MatchString(w.Branch) {
		first.ref = "refs/heads/" + w.Branch
	}
	err := m.ensure(ctx, rem, first)
	if failureOf(err) != failBranch || first.ref == "" {
		return err
	}
	f, err := s.lookup(ctx, rem, m.mirrorNote, w.Branch)
	if err != nil {
		return err
	}
	if err := m.ensure(ctx, rem, f.want); err != nil {
		return err
	}
	if f.hash != w.BaseCommit {
		w.Warnings = append(w.Warnings, fmt.Sprintf("%s was rewritten since the workspace was reserved: it begins at %s instead of %s", w.Branch, f.hash, w.BaseCommit))
		w.BaseCommit = f.hash
	}
	return nil
}

// fill checks the base commit out under another name and moves it into place once it is complete.
func (s *Service) fill(ctx context.Context, m *mirror, rem *remote, w *core.Workspace) (err error) {
	if err := m.secure(); err != nil {
		return err
	}
	sum, err := m.summary(ctx, w.BaseCommit)
	if err != nil {
		return err
	}
	if err := s.quota(ctx, 0, sum.bytes); err != nil {
		return err
	}
	name := w.ID + s.attempt(".new-")
	t := &tree{m: m, dir: s.treePath(name), admin: m.admin(name), base: w.BaseCommit}
	var parts []*tree
	defer func() {
		if err == nil {
			return
		}
		for _, part := range append(parts, t) {
			_ = part.discard() // the error that led here is the one that counts
		}
		_ = removeTree(s.treePath(name))
	}()
	if err := t.add("ref: refs/heads/"+w.WorkBranch, s.treePath(w.ID)); err != nil {
		return err
	}
	if err := t.checkout(ctx, rem, w.BaseCommit, sum); err != nil {
		return err
	}
	warnings := append([]string(nil), w.Warnings...)
	warnings = append(warnings, sum.warnings...)
	if t.usesLFS(sum) {
		warnings = append(warnings, "the repository uses git LFS: its large files are pointers here")
	}
	switch {
	case len(sum.submodules) > 0 && w.Submodules:
		parts, err = s.addSubmodules(ctx, w, t, rem, sum)
		if err != nil {
			return err
		}
	case len(sum.submodules) > 0:
		warnings = append(warnings, fmt.Sprintf("submodules were left out: %s; ask for them with submodules: true", listed(paths(sum.submodules))))
	}
	w.Warnings = warnings
	w.SizeBytes = sum.bytes
	if sum.bytes == 0 || len(parts) > 0 {
		w.SizeBytes = diskUse(t.dir)
		if err := s.quota(ctx, 0, w.SizeBytes); err != nil {
			return err
		}
	}
	if err := s.claimBranch(ctx, m, t, w); err != nil {
		return err
	}
	return t.place(s.treePath(w.ID), m.admin(w.ID))
}

func paths(links []gitlink) []string {
	var names []string
	for _, link := range links {
		names = append(names, link.path)
	}
	return names
}

// claimBranch makes the work branch at the base commit, with a number when there is one of that name. No other
// workspace of the records has it, so one that stands at our base commit is from a try of ours that was cut off.
func (s *Service) claimBranch(ctx context.Context, m *mirror, t *tree, w *core.Workspace) error {
	for n := 1; n <= branchTries; n++ {
		name := numbered(w.WorkBranch, n)
		ref := "refs/heads/" + name
		_, err := m.git(ctx, nil, "update-ref", "--no-deref", "--create-reflog", "-m", "wardroom: workspace "+w.ID, ref, w.BaseCommit, strings.Repeat("0", len(w.BaseCommit)))
		if err != nil {
			var g *gitError
			if !errors.As(err, &g) || g.kind == failDisk || g.kind == failBroken {
				return err
			}
			at, looking := m.git(ctx, nil, "rev-parse", "--verify", "--quiet", ref)
			if looking != nil || strings.TrimSpace(string(at)) != w.BaseCommit || m.checkedOut(ref) {
				continue
			}
		}
		if n > 1 {
			if err := os.WriteFile(filepath.Join(t.admin, "HEAD"), []byte("ref: "+ref+"\n"), 0o644); err != nil {
				return err
			}
		}
		w.WorkBranch = name
		return nil
	}
	return core.Conflict("workspace", w.ID, string(w.Status), "no name was free for the work branch %s; choose another workBranch", w.WorkBranch)
}

// checkedOut reports whether a workspace stands on a branch.
func (m *mirror) checkedOut(ref string) bool {
	entries, err := os.ReadDir(filepath.Join(m.dir, "worktrees"))
	if err != nil {
		return true
	}
	for _, entry := range entries {
		head, err := readRegular(filepath.Join(m.dir, "worktrees", entry.Name(), "HEAD"), 4096)
		if err == nil && strings.TrimSpace(head) == "ref: "+ref && !strings.Contains(entry.Name(), ".new-") {
			return true
		}
	}
	return false
}
