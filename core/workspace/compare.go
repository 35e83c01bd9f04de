package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// compare runs git diff from the base with what about leaves of the files. It leaves out, and returns, those that cannot be read,
// where git would give up: a pipe in the place of a file, or one without the permission.
func (t *tree) compare(ctx context.Context, diff call, about, untracked []string) (out []byte, unreadable []string, err error) {
	diff.args = append(slices.Clip(diff.args), about...)
	out, err = t.m.s.git(ctx, diff)
	var g *gitError
	if !errors.As(err, &g) {
		return out, nil, err
	}
	changed, looking := t.changed(ctx, t.base)
	if looking != nil {
		return nil, nil, err
	}
	known := t.unreadable(changed)
	unreadable = slices.Concat(known, t.unreadable(untracked))
	if len(unreadable) == 0 {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp(filepath.Join(t.m.s.opts.Root, "private"), "diff-")
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the next start clears what stays
	if len(diff.env) == 0 {
		own := filepath.Join(dir, "index")
		if err := copyIndex(own, t.admin); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		diff.env = []string{"GIT_INDEX_FILE=" + own}
	}
	if err := t.leaveOut(ctx, diff.env, unreadable, len(known)); err != nil {
		return nil, nil, err
	}
	out, err = t.m.s.git(ctx, diff)
	return out, unreadable, err
}

// unreadable returns the files that are there and cannot be read.
func (t *tree) unreadable(names []string) []string {
	var found []string
	for _, name := range names {
		path := filepath.Join(t.dir, filepath.FromSlash(name))
		if info, err := os.Lstat(path); err != nil || info.IsDir() || info.Mode()&os.ModeSymlink != 0 {
			continue
		}
		f, _, err := openRegular(path)
		if err != nil {
			found = append(found, name)
			continue
		}
		_ = f.Close() // nothing was read
	}
	return found
}

// leaveOut makes an index, which is a copy, pass over files: it has them as the base does, and git does not look at them. The first
// known of them are in the index or the base. As pathspecs there would be an end to their number.
func (t *tree) leaveOut(ctx context.Context, env, names []string, known int) error {
	staged, err := t.staged(ctx, env, t.base)
	if err != nil {
		return err
	}
	var entries, skip strings.Builder
	for i, name := range names {
		f, differs := staged[name]
		if differs {
			entries.WriteString(f.before.entry(name))
		}
		if differs && f.before.there() || !differs && i < known {
			skip.WriteString(name + "\x00")
		}
	}
	return t.writeIndex(ctx, env,
		call{args: []string{"update-index", "--add", "--replace", "-z", "--index-info"}, stdin: []byte(entries.String())},
		call{args: []string{"update-index", "--skip-worktree", "-z", "--stdin"}, stdin: []byte(skip.String())})
}
