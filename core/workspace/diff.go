package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// Bounds of a diff, in bytes.
const (
	defaultDiff = 1 << 20
	maxDiff     = 16 << 20
	maxIndex    = 128 << 20 // of the index that is copied for one
)

// DiffWorkspace implements core.WorkspaceService.
func (s *Service) DiffWorkspace(ctx context.Context, id, path string, most int) (*core.WorkspaceDiff, error) {
	switch {
	case most < 0 || most > maxDiff:
		return nil, core.Invalid("maxBytes", "must be from 1 to %d", maxDiff)
	case most == 0:
		most = defaultDiff
	}
	unlock, err := s.locks.lock(ctx, id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	w, err := s.withRepository(ctx, id)
	if err != nil {
		return nil, err
	}
	changes, err := s.inspect(ctx, w)
	if err != nil {
		return nil, explain(err, nil, "")
	}
	var paths []string
	if path != "" {
		file, ok := fileOf(changes, path)
		if !ok {
			return nil, core.NotFound("changed file", path)
		}
		if paths = append(paths, path); file.From != "" {
			paths = append(paths, file.From)
		}
		changes.Files, changes.FileCount, changes.Insertions, changes.Deletions = []core.WorkspaceFile{file}, 1, file.Insertions, file.Deletions
	}
	patch, truncated, err := s.patch(ctx, w, most, paths...)
	if err != nil {
		return nil, explain(err, nil, "")
	}
	if path != "" && patch == "" {
		return nil, core.NotFound("changed file", path)
	}
	return &core.WorkspaceDiff{
		WorkspaceID: w.ID, BaseCommit: w.BaseCommit, WorkBranch: w.WorkBranch, Patch: patch, Truncated: truncated, Changes: changes,
	}, nil
}

// fileOf returns what changed of a file; false for one that did not. Of one beyond the files that changes hold, the patch decides.
func fileOf(changes *core.WorkspaceChanges, path string) (core.WorkspaceFile, bool) {
	for _, file := range changes.Files {
		if file.Path == path {
			return file, true
		}
	}
	return core.WorkspaceFile{Path: path, Status: "modified"}, changes.FileCount > len(changes.Files)
}

// unreadable stands for bytes of a name that are no text.
const unreadable = "\ufffd"

// legible is a name as people see it.
func legible(name string) string { return strings.ToValidUTF8(name, unreadable) }

// pathspec makes git look at what is legible as path.
func pathspec(path string) string {
	if !strings.Contains(path, unreadable) {
		return ":(top,literal)" + path
	}
	return ":(top,glob)" + strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, unreadable, "*").Replace(path)
}

// withRepository returns a workspace that has a directory with a repository.
func (s *Service) withRepository(ctx context.Context, id string) (*core.Workspace, error) {
	w, err := s.checkedOut(ctx, id)
	if err == nil && w.Repo == "" {
		return nil, core.Conflict("workspace", id, string(w.Status), "workspace %q has no repository", id)
	}
	return w, err
}

// patch makes the patch from the base to the files as they are, or to those at some paths, those that git does not know
// included. Its index is a copy, so that nothing changes.
func (s *Service) patch(ctx context.Context, w *core.Workspace, most int, paths ...string) (text string, truncated bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.config().CheckoutTimeout)
	defer cancel()
	t := s.treeOf(w)
	dir, err := os.MkdirTemp(filepath.Join(s.opts.Root, "private"), "diff-")
	if err != nil {
		return "", false, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the next start clears what stays
	own := filepath.Join(dir, "index")
	if err := copyIndex(own, t.admin); err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", false, err
	}
	env := []string{"GIT_INDEX_FILE=" + own}
	untracked, err := t.untracked(ctx)
	if err != nil {
		return "", false, err
	}
	about := notContext
	if len(paths) > 0 {
		untracked = slices.DeleteFunc(untracked, func(name string) bool { return !slices.Contains(paths, legible(name)) })
		about = slices.Clone(notContext[:1])
		for _, path := range paths {
			about = append(about, pathspec(path))
		}
		about = append(about, notContext[2:]...)
	}
	if len(untracked) > 0 {
		// As empty files: those in the worktree are compared. git add would want all of them to be there still.
		add := t.call(nil, "update-index", "--add", "--replace", "-z", "--index-info")
		add.env = env
		for _, name := range untracked[:min(len(untracked), maxUntracked)] {
			if !strings.HasSuffix(name, "/") { // a repository of its own
				add.stdin = append(add.stdin, "100644 "+t.m.emptyBlob()+"\t"+name+"\x00"...)
			}
		}
		if len(add.stdin) > 0 {
			if _, err := s.git(ctx, add); err != nil {
				return "", false, err
			}
		}
	}
	renames := "--find-renames"
	if w.Filter != "" { // they would fetch what they compare
		renames = "--no-renames"
	}
	args := []string{
		"diff", "--patch", "--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--src-prefix=a/", "--dst-prefix=b/", renames, t.base,
	}
	diff := t.call(s.lazyRemote(w), args...)
	diff.env, diff.most = env, most+1
	out, _, err := t.compare(ctx, diff, about, untracked)
	if err != nil {
		return "", false, err
	}
	if len(out) > most {
		out, truncated = out[:most], true
		if i := strings.LastIndexByte(string(out), '\n'); i >= 0 {
			out = out[:i+1]
		}
	}
	return strings.ToValidUTF8(string(out), "\ufffd"), truncated, nil
}
