package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxBegun is how many files are compared with what git was about to write into them.
const maxBegun = 100

// side is a file as a commit has it, in git's words.
type side struct{ mode, hash string }

// there reports whether the commit has the file.
func (s side) there() bool { return s.mode != "000000" }

// link reports whether the commit links a repository there.
func (s side) link() bool { return s.mode == "160000" }

// file reports whether the commit has a file there that git writes.
func (s side) file() bool { return s.there() && !s.link() }

// entry is the line of the file for git update-index --index-info.
func (s side) entry(name string) string {
	if !s.there() {
		return "0 " + s.hash + "\t" + name + "\x00"
	}
	return s.mode + " " + s.hash + "\t" + name + "\x00"
}

// touched is a file that differs between two commits.
type touched struct {
	name          string
	before, after side
}

// parts returns what a file may hold a part of after a git that was cut off: of what it was to become, and, where files were being
// put back, of what it was.
func (f touched) parts(back bool) []side {
	var parts []side
	if f.after.file() {
		parts = append(parts, f.after)
	}
	if back && f.before.file() {
		parts = append(parts, f.before)
	}
	return parts
}

// between returns what differs between two commits. A file that was renamed is two.
func (t *tree) between(ctx context.Context, rem *remote, revisions ...string) ([]touched, error) {
	args := []string{"diff", "--raw", "-z", "--no-abbrev", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--ignore-submodules=dirty"}
	out, err := t.git(ctx, rem, append(append(args, revisions...), "--")...)
	if err != nil {
		return nil, err
	}
	return parseRaw(out)
}

// parseRaw reads what diff --raw -z --no-abbrev --no-renames wrote.
func parseRaw(out []byte) ([]touched, error) {
	var files []touched
	parts := splitNul(out)
	for i := 0; i+1 < len(parts); i += 2 {
		fields := strings.Fields(strings.TrimPrefix(parts[i], ":"))
		if len(fields) != 5 {
			return nil, fmt.Errorf("git diff wrote %q", plain(parts[i], maxAuthor))
		}
		files = append(files, touched{name: parts[i+1], before: side{fields[0], fields[2]}, after: side{fields[1], fields[3]}})
	}
	return files, nil
}

// putBack makes the files as they were that git wrote on the way from one commit to another. One that holds anything but what git
// would have written is an agent's, and stays; so do those that head, which need not be where the move began, has
// otherwise. mark notes, before a file is written, that files are put back, and returns what a git that writes them is to hold.
func (t *tree) putBack(ctx context.Context, rem *remote, note moveNote, head string, mark func() (*os.File, error)) error {
	files, err := t.between(ctx, rem, note.Before, note.After)
	if err != nil {
		return err
	}
	elsewhere, err := t.between(ctx, rem, note.Before, head)
	if err != nil {
		return err
	}
	leave := map[string]bool{}
	for _, f := range elsewhere {
		leave[f.name] = true
	}
	var ours []touched
	for _, f := range files {
		if !leave[f.name] {
			ours = append(ours, f)
		}
	}
	there := map[string]bool{}
	for _, name := range note.There {
		there[string(name)] = true
	}
	asBefore, err := t.holding(ctx, ours, func(f touched) side { return f.before })
	if err != nil {
		return err
	}
	asAfter, err := t.holding(ctx, ours, func(f touched) side { return f.after })
	if err != nil {
		return err
	}
	return t.withIndex(ctx, func(env []string) error {
		staged, err := t.staged(ctx, env, note.Before)
		if err != nil {
			return err
		}
		skipped, err := t.skipped(ctx, env)
		if err != nil {
			return err
		}
		var entries, skip strings.Builder
		var remove, changed []string
		var links []touched
		wrote := map[string]bool{} // by git, as far as that can be known
		begun := 0
		for _, f := range ours {
			if now, ok := staged[f.name]; ok && now.after != f.after {
				continue // staged by an agent
			} else if ok {
				entries.WriteString(f.before.entry(f.name))
				if skipped[f.name] && f.before.there() {
					skip.WriteString(f.name + "\x00")
				}
			}
			if skipped[f.name] && t.nothingAt(f.name) || f.before.link() && f.after.link() || asBefore[f.name] {
				continue
			}
			wrote[f.name] = asAfter[f.name]
			if parts := f.parts(note.Back); !wrote[f.name] && len(parts) > 0 && begun < maxBegun {
				begun++
				if wrote[f.name], err = t.begun(ctx, rem, f.name, parts); err != nil {
					return err
				}
			}
			if f.before.link() || f.after.link() {
				links = append(links, f)
			}
			if f.before.file() {
				changed = append(changed, f.name)
			} else if wrote[f.name] && !there[f.name] {
				remove = append(remove, f.name)
			}
		}
		if err := t.removeFiles(remove); err != nil {
			return err
		}
		if err := t.putLinks(links, there); err != nil {
			return err
		}
		var write strings.Builder
		for _, name := range changed {
			if (wrote[name] || t.nothingAt(name)) && t.free(name) {
				write.WriteString(name + "\x00")
			}
		}
		if entries.Len()+write.Len() == 0 {
			return nil
		}
		held, err := mark()
		if err != nil {
			return err
		}
		return t.writeIndex(ctx, env,
			call{args: []string{"update-index", "--add", "--replace", "-z", "--index-info"}, stdin: []byte(entries.String())},
			call{args: []string{"update-index", "--skip-worktree", "-z", "--stdin"}, stdin: []byte(skip.String())},
			call{args: []string{"checkout-index", "--force", "--index", "--quiet", "--ignore-skip-worktree-bits", "-z", "--stdin"}, stdin: []byte(write.String()), remote: rem, held: held})
	})
}

// writeIndex runs git on an index in steps. One without input is left out.
func (t *tree) writeIndex(ctx context.Context, env []string, steps ...call) error {
	for _, step := range steps {
		if len(step.stdin) == 0 {
			continue
		}
		run := t.call(step.remote, step.args...)
		run.stdin, run.env, run.held = step.stdin, env, step.held
		if _, err := t.m.s.git(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

// skipped returns the files of an index that git does not write into the worktree, as in a sparse checkout.
func (t *tree) skipped(ctx context.Context, env []string) (map[string]bool, error) {
	list := t.call(nil, "ls-files", "-t", "-z")
	list.env = env
	out, err := t.m.s.git(ctx, list)
	if err != nil {
		return nil, err
	}
	skipped := map[string]bool{}
	for _, line := range splitNul(out) {
		if name, ok := strings.CutPrefix(line, "S "); ok {
			skipped[name] = true
		}
	}
	return skipped, nil
}

// skipTo makes an index hold files as they are after a move that git is not to write: those that it left out of the worktree, and
// those with names that are too long. It would take them for changed.
func (t *tree) skipTo(ctx context.Context, env []string, files []touched) error {
	skipped, err := t.skipped(ctx, env)
	if err != nil {
		return err
	}
	var entries, skip strings.Builder
	for _, f := range files {
		if !longName(f.name) && !(skipped[f.name] && t.nothingAt(f.name)) {
			continue
		}
		entries.WriteString(f.after.entry(f.name))
		if f.after.there() {
			skip.WriteString(f.name + "\x00")
		}
	}
	return t.writeIndex(ctx, env,
		call{args: []string{"update-index", "--add", "--replace", "-z", "--index-info"}, stdin: []byte(entries.String())},
		call{args: []string{"update-index", "--skip-worktree", "-z", "--stdin"}, stdin: []byte(skip.String())})
}

// holding returns which files of the worktree are as one side of them is.
func (t *tree) holding(ctx context.Context, files []touched, of func(f touched) side) (map[string]bool, error) {
	same := map[string]bool{}
	var entries strings.Builder
	for _, f := range files {
		path := filepath.Join(t.dir, filepath.FromSlash(f.name))
		info, err := os.Lstat(path)
		if err != nil || !of(f).there() || of(f).link() {
			continue
		}
		if info.Mode().IsRegular() { // git would give up at one that cannot be read
			file, _, err := openRegular(path)
			if err != nil {
				continue
			}
			_ = file.Close() // nothing was read
		} else if info.Mode()&os.ModeSymlink == 0 {
			continue
		}
		same[f.name] = true
		entries.WriteString(of(f).entry(f.name))
	}
	if len(same) == 0 {
		return same, nil
	}
	dir, err := os.MkdirTemp(filepath.Join(t.m.s.opts.Root, "private"), "move-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // the next start clears what stays
	add := t.call(nil, "update-index", "--add", "-z", "--index-info")
	add.env, add.stdin = []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}, []byte(entries.String())
	if _, err := t.m.s.git(ctx, add); err != nil {
		return nil, err
	}
	// By their hashes alone: git diff would read what it compares, which a partial clone need not have.
	refresh := t.call(nil, "update-index", "-q", "--refresh")
	refresh.env = add.env
	if _, err := t.m.s.git(ctx, refresh); unanswered(err) { // else it reports that some differ
		return nil, err
	}
	diff := t.call(nil, "diff-files", "--name-only", "-z", "--no-renames", "--")
	diff.env = add.env
	out, err := t.m.s.git(ctx, diff)
	if err != nil {
		return nil, err
	}
	for _, name := range splitNul(out) {
		delete(same, name)
	}
	return same, nil
}

// staged returns what of an index differs from a commit, by name.
func (t *tree) staged(ctx context.Context, env []string, commit string) (map[string]touched, error) {
	diff := t.call(nil, "diff-index", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", commit, "--")
	diff.env = env
	out, err := t.m.s.git(ctx, diff)
	if err != nil {
		return nil, err
	}
	files, err := parseRaw(out)
	staged := make(map[string]touched, len(files))
	for _, f := range files {
		staged[f.name] = f
	}
	return staged, err
}

// begun reports whether a file holds the beginning of what git was about to write, which is one of parts.
func (t *tree) begun(ctx context.Context, rem *remote, name string, parts []side) (bool, error) {
	path := filepath.Join(t.dir, filepath.FromSlash(name))
	if !t.free(name) {
		return false, nil // behind a link of an agent
	}
	file, size, err := openRegular(path)
	if err != nil {
		return false, nil //nolint:nilerr // it is something else
	}
	defer func() { _ = file.Close() }() // only read
	for _, part := range parts {
		longer := &prefix{of: io.NewSectionReader(file, 0, size)}
		show := t.call(rem, "cat-file", "--filters", "--path="+name, part.hash)
		show.into = longer
		_, err := t.m.s.git(ctx, show)
		switch {
		case longer.decided != nil:
			if *longer.decided {
				return true, nil
			}
		case unanswered(err):
			return false, err
		} // in a partial clone git may not have got as far as to have it
	}
	return false, nil
}

// prefix decides whether a file holds the beginning, and no more, of what is written to it.
type prefix struct {
	of      io.Reader // the file
	part    []byte
	decided *bool // nil: not yet
}

// errDecided is returned by a prefix once it is decided.
var errDecided = errors.New("it is decided")

// Write implements io.Writer.
func (p *prefix) Write(text []byte) (int, error) {
	if p.decided != nil {
		return 0, errDecided
	}
	p.part = slices.Grow(p.part[:0], len(text))[:len(text)]
	n, err := io.ReadFull(p.of, p.part)
	same := bytes.Equal(p.part[:n], text[:n])
	switch {
	case !same, err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		same = false
	case n == len(text):
		return n, nil
	}
	p.decided = &same
	return n, errDecided
}

// nothingAt reports whether there is nothing under a name of the worktree.
func (t *tree) nothingAt(name string) bool {
	_, err := os.Lstat(filepath.Join(t.dir, filepath.FromSlash(name)))
	return missing(err)
}

// empty reports whether there is no directory under a name of the worktree that holds anything.
func (t *tree) empty(name string) bool {
	entries, err := os.ReadDir(filepath.Join(t.dir, filepath.FromSlash(name)))
	return missing(err) || err == nil && len(entries) == 0
}

// free reports whether git can write a file without removing anything else than one of that name: it would remove a directory in
// its place, and a file or link in that of its directory.
func (t *tree) free(name string) bool {
	info, err := os.Lstat(filepath.Join(t.dir, filepath.FromSlash(name)))
	if err == nil && info.IsDir() {
		return false
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(t.dir, filepath.FromSlash(dir))); err == nil && !info.IsDir() {
			return false
		}
	}
	return true
}

// removeFiles removes files of the worktree, and the directories that are empty then.
func (t *tree) removeFiles(names []string) error {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written through it
	for _, name := range names {
		if err := root.Remove(name); err != nil && !missing(err) {
			return err
		}
		for dir := path.Dir(name); dir != "." && root.Remove(dir) == nil; dir = path.Dir(dir) {
			continue // one with other files in it stays
		}
	}
	return nil
}

// putLinks makes the empty directories that git has for links of repositories, and removes those that it made.
func (t *tree) putLinks(links []touched, there map[string]bool) error {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing is written through it
	for _, f := range links {
		switch info, err := root.Lstat(f.name); {
		case f.before.link() && missing(err) && t.free(f.name):
			if err := root.MkdirAll(f.name, 0o755); err != nil {
				return err
			}
		case f.after.link() && !there[f.name] && err == nil && info.IsDir():
			_ = root.Remove(f.name) // one with files in it stays
		}
	}
	return nil
}
