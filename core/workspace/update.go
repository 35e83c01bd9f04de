package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/core"
)

// maxConflicts bounds the files that an update tells of.
const maxConflicts = 100

// UpdateWorkspace implements core.WorkspaceService.
func (s *Service) UpdateWorkspace(ctx context.Context, id string, how core.WorkspaceUpdateMethod) (*core.WorkspaceUpdate, error) {
	unlock, err := s.locks.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	w, err := s.withRepository(ctx, id)
	if err != nil {
		return nil, err
	}
	rem, err := s.remoteOf(w)
	if err != nil {
		return nil, err
	}
	m := s.mirrorOfWorkspace(w)
	f, err := s.lookup(ctx, rem, m.mirrorNote, w.Branch)
	if err == nil {
		err = m.ensure(ctx, rem, f.want)
	}
	if err != nil {
		return nil, explain(err, rem, w.Branch)
	}
	ctx = context.WithoutCancel(ctx) // a caller who leaves would cut it in half
	limited, cancel := context.WithTimeout(ctx, s.config().CheckoutTimeout)
	defer cancel()
	u := &update{s: s, w: w, t: s.treeOf(w), how: how, onto: f.hash}
	s.updating.RLock()
	out, err := u.run(limited)
	s.updating.RUnlock()
	if err != nil {
		return nil, explain(err, nil, w.Branch)
	}
	if _, err := s.change(ctx, id, func(w *core.Workspace) error { w.BaseCommit = f.hash; return nil }); err != nil {
		return nil, err
	}
	return out, nil
}

// update takes what is new on a branch into a worktree.
type update struct {
	s    *Service
	w    *core.Workspace
	t    *tree
	how  core.WorkspaceUpdateMethod
	onto string // commit

	known []string // files of the head that git may write
	fresh []string // files that it may make, which are not there before
}

func (u *update) run(ctx context.Context) (*core.WorkspaceUpdate, error) {
	t := u.t
	if err := t.secure(); err != nil {
		return nil, err
	}
	before, err := t.head(ctx)
	if err != nil {
		return nil, err
	}
	if err := u.ready(ctx, before); err != nil {
		return nil, err
	}
	out := &core.WorkspaceUpdate{WorkspaceID: u.w.ID, Branch: u.w.Branch, BaseCommit: u.onto, HeadCommit: before}
	if known, err := t.count(ctx, u.onto, "--not", before); err != nil || known == 0 {
		return out, err // there is nothing new
	}
	apart, err := u.apart(ctx, before)
	if err != nil {
		return nil, err
	}
	args := []string{"merge", "--no-edit", "--no-verify", "--no-gpg-sign", "--no-stat", "-m", "Merge " + u.w.Branch, u.onto}
	switch {
	case u.how == core.WorkspaceRebase:
		args = []string{"rebase", "--no-verify", "--no-gpg-sign", "--no-stat", "--no-autosquash", "--no-autostash", "--no-update-refs"}
		if apart { // the base would be taken for work
			args = append(args, "--onto", u.onto, t.base)
		} else {
			args = append(args, u.onto)
		}
	case apart:
		return nil, u.conflict("%s and the work of the thread have no commit in common here, so that they cannot be merged; rebase, or have a workspace with all history (depth 0)", u.w.Branch)
	}
	if err := u.foresee(ctx, before); err != nil {
		return nil, err
	}
	if err := t.awaitIndex(ctx); err != nil {
		return nil, err
	}
	if err := u.git(ctx, args...); err != nil {
		return nil, u.undo(ctx, before, err)
	}
	if out.HeadCommit, err = t.head(ctx); err != nil {
		return nil, err
	}
	out.Changed = out.HeadCommit != before
	return out, nil
}

// apart reports whether what is new has no commit in common with a head, as in a copy without the history between them.
func (u *update) apart(ctx context.Context, head string) (bool, error) {
	_, err := u.t.git(ctx, nil, "merge-base", u.onto, head)
	var g *gitError
	if errors.As(err, &g) && !unanswered(err) && g.tail == "" { // git prints nothing then
		return true, nil
	}
	return false, err
}

// ready refuses a worktree that somebody is in the middle of something in.
func (u *update) ready(ctx context.Context, head string) error {
	for _, name := range []string{"rebase-merge", "rebase-apply", "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD"} {
		if _, err := os.Lstat(filepath.Join(u.t.admin, name)); !errors.Is(err, os.ErrNotExist) {
			return u.conflict("a merge, rebase or cherry-pick is under way in the workspace; have it finished or aborted first")
		}
	}
	if head == "" {
		return u.conflict("the workspace is on a branch that has no commit yet; have its files committed, or another branch checked out, first")
	}
	files, err := u.t.changed(ctx, head)
	if err != nil {
		return err
	}
	if len(files) > 0 {
		e := u.conflict("%d files are changed and not committed; have them committed first", len(files))
		e.Details["files"] = files[:min(len(files), maxConflicts)]
		return e
	}
	return nil
}

func (u *update) conflict(format string, args ...any) *core.Error {
	return core.Conflict("workspace", u.w.ID, string(u.w.Status), format, args...)
}

// foresee notes which files git is about to write.
func (u *update) foresee(ctx context.Context, before string) error {
	between := func(what string, revisions ...string) ([]string, error) {
		args := []string{"diff", what, "-z", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=dirty"}
		out, err := u.t.git(ctx, u.s.lazyRemote(u.w), append(append(args, revisions...), "--")...)
		return splitNul(out), err
	}
	pairs, err := between("--name-status", before, u.onto)
	if err != nil {
		return err
	}
	merged := map[string]bool{} // what is new on the branch; the rest is the thread's own
	if u.how == core.WorkspaceMerge {
		names, err := between("--name-only", before+"..."+u.onto)
		if err != nil {
			return err
		}
		for _, name := range names {
			merged[name] = true
		}
	}
	for pair := range slices.Chunk(pairs, 2) {
		name := pair[len(pair)-1]
		if u.how == core.WorkspaceMerge && !merged[name] {
			continue
		}
		if pair[0] != "A" {
			u.known = append(u.known, name)
		} else if _, err := os.Lstat(filepath.Join(u.t.dir, filepath.FromSlash(name))); missing(err) {
			u.fresh = append(u.fresh, name)
		}
	}
	return nil
}

// missing reports whether an error is that of a name under which there is nothing, also where a part of the path is a file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// putBack makes the files that git may have written as they were: one that is killed, or finds the disk full, notes what it is at
// after it has written them. No other file is touched, since the thread may be at work.
func (u *update) putBack(ctx context.Context, before string) error {
	root, err := os.OpenRoot(u.t.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written through it
	for _, name := range u.fresh {
		if err := root.Remove(name); err != nil && !missing(err) {
			return err
		}
		for dir := path.Dir(name); dir != "." && root.Remove(dir) == nil; dir = path.Dir(dir) {
			continue // one with other files in it stays
		}
	}
	remove := u.t.call(nil, "update-index", "--force-remove", "-z", "--stdin")
	restore := u.t.call(u.s.lazyRemote(u.w), "checkout", "--quiet", "--pathspec-from-file=-", "--pathspec-file-nul", before)
	restore.env = []string{"GIT_LITERAL_PATHSPECS=1"}
	for _, step := range []struct {
		call
		names []string
	}{{remove, u.fresh}, {restore, u.known}} {
		if len(step.names) == 0 {
			continue
		}
		step.stdin = []byte(strings.Join(step.names, "\x00") + "\x00")
		if _, err := u.s.git(ctx, step.call); err != nil {
			return err
		}
	}
	return nil
}

// undo puts everything back as it was, and makes an error of what git could not do.
func (u *update) undo(ctx context.Context, before string, cause error) error {
	var g *gitError
	killed := unanswered(cause)
	if !errors.As(cause, &g) { // what is half done is put back all the same
		limited, cancel := context.WithTimeout(context.WithValue(context.WithoutCancel(ctx), pastClose{}, true), time.Minute)
		defer cancel()
		ctx = limited
	}
	if killed {
		_ = os.Remove(u.t.indexLock()) // of the git that was killed; there may be none
	}
	unmerged, err := u.t.git(ctx, nil, "diff", "--name-only", "--diff-filter=U", "-z", "--no-color", "--no-ext-diff", "--no-textconv")
	files := splitNul(unmerged)
	if err != nil {
		files = nil
	}
	_ = u.git(ctx, string(u.how), "--abort") // there may be nothing to abort
	head, err := u.t.head(ctx)
	if err != nil {
		return errors.Join(cause, err)
	}
	if head != before {
		if err := u.git(ctx, "reset", "--quiet", "--keep", before); err != nil {
			return errors.Join(cause, err)
		}
	}
	if killed || failureOf(cause) == failDisk {
		if err := u.putBack(ctx, before); err != nil {
			return errors.Join(cause, err)
		}
	}
	if len(files) == 0 {
		return cause
	}
	for i, name := range files {
		files[i] = legible(name)
	}
	shown := strings.Join(files[:min(len(files), 20)], ", ")
	if len(files) > 20 {
		shown += ", ..."
	}
	e := u.conflict("%s and the work of the thread conflict in %s; nothing was changed", u.w.Branch, shown)
	e.Details["conflicts"] = files[:min(len(files), maxConflicts)]
	return e
}

// git runs git in the worktree as who commits are by.
func (u *update) git(ctx context.Context, args ...string) error {
	by := u.s.config().Identity
	who := []string{"GIT_COMMITTER_NAME=" + by.Name, "GIT_COMMITTER_EMAIL=" + by.Email}
	if u.how == core.WorkspaceMerge {
		who = append(who, "GIT_AUTHOR_NAME="+by.Name, "GIT_AUTHOR_EMAIL="+by.Email)
	}
	_, err := u.s.git(ctx, call{
		args: args, gitDir: u.t.admin, commonDir: u.t.m.dir, workTree: u.t.dir, remote: u.s.lazyRemote(u.w), env: who,
	})
	return err
}
