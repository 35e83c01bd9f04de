package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/wardroom/wardroom/core"
)

// tree is a worktree of a mirror: files in dir, and what git keeps of it in admin, below the mirror.
type tree struct {
	m     *mirror
	dir   string
	admin string
	base  string // commit it began at
	work  string // its branch; "" for a submodule
}

// treeOf returns the worktree of a stored workspace.
func (s *Service) treeOf(w *core.Workspace) *tree {
	m := s.mirrorOfWorkspace(w)
	return &tree{m: m, dir: s.treePath(w.ID), admin: m.admin(w.ID), base: w.BaseCommit, work: w.WorkBranch}
}

func (m *mirror) admin(name string) string { return filepath.Join(m.dir, "worktrees", name) }

// git runs git in the worktree, whatever the agent made of the file .git in it. Whoever begins a row of calls secures
// the tree first.
func (t *tree) git(ctx context.Context, rem *remote, args ...string) ([]byte, error) {
	return t.m.s.git(ctx, t.call(rem, args...))
}

// call returns a run of git in the worktree.
func (t *tree) call(rem *remote, args ...string) call {
	return call{args: args, gitDir: t.admin, commonDir: t.m.dir, workTree: t.dir, remote: rem}
}

// secure makes sure that git may run in the tree.
func (t *tree) secure() error {
	for _, dir := range []string{t.dir, t.admin} {
		if info, err := os.Lstat(dir); err != nil {
			return err
		} else if !info.IsDir() {
			return fmt.Errorf("%s is not a directory any more", dir)
		}
	}
	// git finds refs by commondir, whatever its environment says.
	for name, want := range t.pointers(t.dir) {
		changed, err := keep(filepath.Join(t.admin, name), []byte(want), 0o644)
		if err != nil {
			return err
		}
		if changed {
			t.m.s.log.Warn("a file of a worktree was changed by somebody; it was put back", "worktree", t.dir, "file", name)
		}
	}
	if err := os.RemoveAll(filepath.Join(t.admin, "config.worktree")); err != nil {
		return err
	}
	return t.m.secure()
}

// pointers are the files of the admin directory that never change, for a tree at place.
func (t *tree) pointers(place string) map[string]string {
	return map[string]string{
		"commondir": "../..\n", "gitdir": filepath.Join(place, ".git") + "\n", "locked": "a workspace of wardroom\n",
	}
}

// add writes by hand what git worktree add would (gitrepository-layout(5)): HEAD, commondir, gitdir and locked, which
// keeps a git worktree prune of an agent away. place is where the tree will be.
func (t *tree) add(head, place string) error {
	if err := os.Mkdir(t.admin, 0o755); err != nil {
		return err
	}
	files := t.pointers(place)
	files["HEAD"] = head + "\n"
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(t.admin, name), []byte(content), 0o644); err != nil {
			return err
		}
	}
	return os.MkdirAll(t.dir, 0o755)
}

// checkout fills the tree with the files of a commit. rem is asked for what a partial clone does not have; nil for none.
func (t *tree) checkout(ctx context.Context, rem *remote, hash string, sum *treeSummary) error {
	if t.m.Filter == "" {
		rem = nil
	}
	if len(sum.refused) == 0 {
		_, err := t.m.s.git(ctx, call{
			args: []string{"read-tree", "--reset", "-u", hash}, gitDir: t.admin, commonDir: t.m.dir, workTree: t.dir,
			remote: rem, workers: t.m.s.checkoutWorkers(),
		})
		return err
	}
	if _, err := t.git(ctx, rem, "read-tree", "--reset", hash); err != nil {
		return err
	}
	skip := call{
		args: []string{"update-index", "--skip-worktree", "-z", "--stdin"}, gitDir: t.admin, commonDir: t.m.dir, workTree: t.dir,
		stdin: []byte(strings.Join(sum.refused, "\x00") + "\x00"),
	}
	if _, err := t.m.s.git(ctx, skip); err != nil {
		return err
	}
	_, err := t.git(ctx, rem, "checkout-index", "--all", "--force", "--index", "--quiet")
	return err
}

// usesLFS reports whether files of the tree are pointers of git LFS, by the attributes that stand in it.
func (t *tree) usesLFS(sum *treeSummary) bool {
	for i, name := range sum.attributes {
		if i == 100 {
			break // enough to look at
		}
		text, err := readRegular(filepath.Join(t.dir, filepath.FromSlash(name)), 1<<20)
		if err == nil && strings.Contains(text, "filter=lfs") {
			return true
		}
	}
	return false
}

// readRegular reads up to most bytes of a file that is no link and no device.
func readRegular(path string, most int64) (string, error) {
	f, _, err := openRegular(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, most))
	return string(text), err
}

// openRegular opens a file to read that is no link and no device, and returns its size.
func openRegular(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// place moves a complete tree to where it belongs and points git's files there.
func (t *tree) place(dir, admin string) error {
	if err := os.WriteFile(filepath.Join(t.dir, ".git"), []byte("gitdir: "+admin+"\n"), 0o644); err != nil {
		return err
	}
	if err := os.Rename(t.admin, admin); err != nil {
		return err
	}
	t.admin = admin
	if dir != t.dir {
		if err := os.Rename(t.dir, dir); err != nil {
			return err
		}
		t.dir = dir
	}
	return nil
}

// discard removes what git keeps of a tree. The branch stays.
func (t *tree) discard() error {
	if err := removeTree(t.admin); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
