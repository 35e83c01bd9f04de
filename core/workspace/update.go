package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

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
	if _, err := s.moved(ctx, id, f.hash); err != nil {
		return nil, err
	}
	return out, nil
}

// update takes what is new on a branch into a worktree: what comes of it is made aside first, so that files of the worktree
// change in one step, which can be put back.
type update struct {
	s    *Service
	w    *core.Workspace
	t    *tree
	how  core.WorkspaceUpdateMethod
	onto string // commit
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
		args = []string{"rebase", "--no-verify", "--no-gpg-sign", "--no-stat", "--no-autosquash", "--no-autostash"}
		if apart { // the base would be taken for work
			args = append(args, "--onto", u.onto, t.base)
		} else {
			args = append(args, u.onto)
		}
	case apart:
		return nil, u.conflict("%s and the work of the thread have no commit in common here, so that they cannot be merged; rebase, or have a workspace with all history (depth 0)", u.w.Branch)
	}
	if out.HeadCommit, err = u.join(ctx, before, args...); err != nil {
		return nil, err
	}
	out.Changed = out.HeadCommit != before
	if !out.Changed {
		return out, nil
	}
	return out, u.s.move(ctx, u.w, string(u.how)+": wardroom", moveNote{Before: before, After: out.HeadCommit, Base: u.onto})
}

// join merges or rebases aside, in a worktree without files but those that conflict, and returns the commit that comes of it.
func (u *update) join(ctx context.Context, before string, args ...string) (string, error) {
	name := u.w.ID + u.s.attempt(".new-") // what a crash leaves of it goes at the next start
	aside := &tree{m: u.t.m, dir: u.s.treePath(name), admin: u.t.m.admin(name), base: u.t.base}
	defer func() {
		if err := errors.Join(aside.discard(), removeTree(aside.dir)); err != nil {
			u.s.log.Warn("a worktree that is not needed could not be removed", "worktree", aside.dir, "error", err)
		}
	}()
	if err := aside.add(before, aside.dir); err != nil {
		return "", err
	}
	if err := os.Mkdir(filepath.Join(aside.admin, "info"), 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(aside.admin, "info", "sparse-checkout"), nil, 0o644); err != nil { // no file at all
		return "", err
	}
	if err := u.lend(aside); err != nil {
		return "", err
	}
	by := u.s.config().Identity
	env := []string{
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=core.sparseCheckout", "GIT_CONFIG_VALUE_0=true",
		"GIT_CONFIG_KEY_1=core.sparseCheckoutCone", "GIT_CONFIG_VALUE_1=false",
		"GIT_COMMITTER_NAME=" + by.Name, "GIT_COMMITTER_EMAIL=" + by.Email,
	}
	if u.how == core.WorkspaceMerge {
		env = append(env, "GIT_AUTHOR_NAME="+by.Name, "GIT_AUTHOR_EMAIL="+by.Email)
	}
	for _, args := range [][]string{{"read-tree", "--reset", "-u", before}, args} {
		step := aside.call(u.s.lazyRemote(u.w), args...)
		step.env = env
		if _, err := u.s.git(ctx, step); err != nil {
			return "", u.conflicts(ctx, aside, err)
		}
	}
	return aside.head(ctx)
}

// lend lets git find the commits of submodules, without their files: where both sides moved one on it goes by them.
func (u *update) lend(aside *tree) error {
	for _, part := range u.s.submodules(u.w.ID) {
		rel, err := filepath.Rel(u.t.dir, part.dir)
		if err != nil || part.secure() != nil {
			continue // one that is gone decides nothing
		}
		place := filepath.Join(aside.dir, rel)
		if err := os.MkdirAll(place, 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(place, ".git"), []byte("gitdir: "+part.admin+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// conflicts makes an error of what git could not join.
func (u *update) conflicts(ctx context.Context, aside *tree, cause error) error {
	var g *gitError
	if !errors.As(cause, &g) || unanswered(cause) {
		return cause
	}
	unmerged, err := aside.git(ctx, nil, "diff", "--name-only", "--diff-filter=U", "-z", "--no-color", "--no-ext-diff", "--no-textconv")
	files := splitNul(unmerged)
	if err != nil || len(files) == 0 {
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

// apart reports whether what is new has no commit in common with a head, as in a copy without the history between them.
func (u *update) apart(ctx context.Context, head string) (bool, error) {
	_, err := u.t.git(ctx, nil, "merge-base", u.onto, head)
	if g, ok := errors.AsType[*gitError](err); ok && !unanswered(err) && g.tail == "" { // git prints nothing then
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

// missing reports whether an error is that of a name under which there is nothing, also where a part of the path is a file.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
