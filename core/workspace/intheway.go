package workspace

import (
	"context"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// inTheWay returns what git does not know, be it ignored or not, and that a move would remove or write over: what lies under a name
// that is new, in the place of one of its directories, or below it. What holds what git would write there is not in the way.
func (t *tree) inTheWay(ctx context.Context, files []touched) ([]string, error) {
	known := map[string]bool{} // to git, which checks these itself
	for _, f := range files {
		if f.before.there() {
			known[f.name] = true
		}
	}
	var names []string
	var over []touched
	dirs := map[string]bool{} // that were looked at: whether there may be anything in it
	for _, f := range files {
		if f.before.there() || !f.after.there() || !t.reach(path.Dir(f.name), known, dirs, &names) {
			continue
		}
		info, err := os.Lstat(filepath.Join(t.dir, filepath.FromSlash(f.name)))
		switch {
		case err != nil: // git reports what keeps it from there
		case !info.IsDir():
			over = append(over, f)
		case f.after.link(): // git leaves a directory as it is
		default:
			if name := t.unknownIn(f.name, known); name != "" {
				names = append(names, name)
			}
		}
	}
	same, err := t.holding(ctx, over, func(f touched) side { return f.after })
	if err != nil {
		return nil, err
	}
	for _, f := range over {
		if !same[f.name] {
			names = append(names, f.name)
		}
	}
	return names, nil
}

// reach reports whether there may be anything in a directory of the worktree: it is one, and not behind a link. What lies in its
// place that git does not know is added to names, once.
func (t *tree) reach(dir string, known, seen map[string]bool, names *[]string) bool {
	if dir == "." {
		return true
	}
	if there, ok := seen[dir]; ok {
		return there
	}
	there := t.reach(path.Dir(dir), known, seen, names)
	if there {
		info, err := os.Lstat(filepath.Join(t.dir, filepath.FromSlash(dir)))
		there = err == nil && info.IsDir()
		if err == nil && !there && !known[dir] {
			*names = append(*names, dir)
		}
	}
	seen[dir] = there
	return there
}

// unknownIn returns a file in a directory of the worktree that is not known, or "".
func (t *tree) unknownIn(name string, known map[string]bool) (found string) {
	// What cannot be read is for git, which has to remove it.
	_ = filepath.WalkDir(filepath.Join(t.dir, filepath.FromSlash(name)), func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // see above
		}
		rel, err := filepath.Rel(t.dir, at)
		if err != nil || known[filepath.ToSlash(rel)] {
			return err
		}
		found = filepath.ToSlash(rel)
		return fs.SkipAll
	})
	return found
}
