package workspace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// lockPoll is how often a lock is looked at that another git has.
const lockPoll = 100 * time.Millisecond

// indexLock is the file that a git has while it changes the index.
func (t *tree) indexLock() string { return filepath.Join(t.admin, "index.lock") }

// awaitIndex waits for a git that has the index, and removes the lock of one that was killed: agents are often stopped in the
// middle of one, a moment before their work is committed. With spare it gives up where a git has had it for long and still runs. An
// agent may have made a directory there.
func (t *tree) awaitIndex(ctx context.Context, spare bool) error {
	path := t.indexLock()
	for {
		info, err := os.Lstat(path)
		if err != nil {
			return nil //nolint:nilerr // there is none; git reports what else is wrong
		}
		if isStale(info) {
			if spare && !info.IsDir() && t.gitWorks() { // git commit -a has it as long as its hooks take
				return &gitError{op: "index", kind: failLocked, tail: "a git that runs in the workspace has had the index for long", err: errors.New("the index is locked")}
			}
			if err := removeTree(path); err != nil { // git cannot take it, and reports the same
				return &gitError{op: "index", kind: failLocked, tail: "a lock that is left over stays", err: err}
			}
			return nil
		}
		if !pause.For(ctx, core.SystemClock{}, lockPoll) {
			return ctx.Err()
		}
	}
}

// gitWorks reports whether a git runs in the worktree, as far as this process may see it: one of another user, or on another machine,
// may be hidden. A git that works on files stands in the top directory of its worktree.
func (t *tree) gitWorks() bool {
	top, err := os.Stat(t.dir)
	if err != nil {
		return false
	}
	for _, name := range glob("/proc", "[0-9]*/comm") {
		text, err := readRegular(name, maxURL)
		if err != nil || strings.TrimSpace(text) != "git" {
			continue
		}
		if at, err := os.Stat(filepath.Join(filepath.Dir(name), "cwd")); err == nil && os.SameFile(top, at) {
			return true
		}
	}
	return false
}

// ourLock is beside a lock of the index that is ours, and has its time: not every file system has inodes or hard links to know it by.
func (t *tree) ourLock() string { return filepath.Join(t.admin, "index.wardroom.held") }

// takeIndex takes the lock of the index, so that no other git changes it until freeIndex. The lock is a copy of the index: an agent's
// git whose lock was taken for one of a killed git may put ours in the place of the index.
func (t *tree) takeIndex(ctx context.Context) error {
	for {
		if err := t.awaitIndex(ctx, true); err != nil {
			return err
		}
		if err := os.RemoveAll(t.ourLock()); err != nil { // of a run that was cut off
			return err
		}
		now := time.Now() // as of any other lock
		err := errors.Join(os.WriteFile(t.ourLock(), nil, 0o644), os.Chtimes(t.ourLock(), now, now))
		if err == nil {
			err = copyIndex(t.indexLock(), t.admin)
		}
		if errors.Is(err, fs.ErrNotExist) { // there is no index
			err = makeFile(t.indexLock(), 0o644, func(*os.File) error { return nil })
		}
		if err == nil {
			return os.Chtimes(t.indexLock(), now, now)
		}
		if removing := os.Remove(t.ourLock()); removing != nil || !errors.Is(err, fs.ErrExist) {
			return errors.Join(err, removing)
		}
		if !pause.For(ctx, core.SystemClock{}, lockPoll) { // real time: another process has it
			return ctx.Err()
		}
	}
}

// freeIndex removes the lock of the index, if it is ours.
func (t *tree) freeIndex() {
	ours, err := os.Lstat(t.ourLock())
	if err != nil {
		return
	}
	if lock, err := os.Lstat(t.indexLock()); err == nil && ours.ModTime().Equal(lock.ModTime()) {
		_ = os.Remove(t.indexLock()) // awaitIndex does once it is old
	}
	_ = os.Remove(t.ourLock()) // the next run does
}

// withIndex calls fn with the environment of a git that works on a copy of the index. It takes the place of the index if fn
// succeeds; until then other gits read the index as it was, and none changes it.
func (t *tree) withIndex(ctx context.Context, fn func(env []string) error) error {
	if err := t.takeIndex(ctx); err != nil {
		return err
	}
	defer t.freeIndex()
	own := filepath.Join(t.admin, "index.wardroom")
	clear := func() error { return errors.Join(os.RemoveAll(own), os.RemoveAll(own+".lock")) }
	if err := clear(); err != nil { // of a run that was cut off
		return err
	}
	defer func() { _ = clear() }() // the next run does
	if err := copyIndex(own, t.admin); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := fn([]string{"GIT_INDEX_FILE=" + own}); err != nil {
		return err
	}
	err := os.Rename(own, filepath.Join(t.admin, "index"))
	if errors.Is(err, fs.ErrNotExist) { // there was none, and nothing to be noted
		return nil
	}
	return err
}

// copyIndex copies the index of a worktree, which agents may write, for a look that changes nothing. One of more than
// maxIndex bytes is not copied, and a hole in it stays one: it takes no more of the disk than what was written. The time of the
// copy is that of the index: git looks again at files that were changed at that time or later.
func copyIndex(to, admin string) error {
	from, size, err := openRegular(filepath.Join(admin, "index"))
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // only read
	info, err := from.Stat()
	if err != nil {
		return err
	}
	if size > maxIndex {
		return core.Errorf(core.CodeConflict, "git's index of the worktree has %d bytes, of which at most %d are read; look what an agent did to it", size, maxIndex)
	}
	// It may grow meanwhile.
	err = makeFile(to, info.Mode().Perm(), func(own *os.File) error { return copySparse(own, io.LimitReader(from, maxIndex)) })
	if err != nil {
		return err
	}
	return os.Chtimes(to, time.Time{}, info.ModTime())
}

// makeFile makes a file, which must not be there, and nothing of it where write fails.
func makeFile(path string, mode fs.FileMode, write func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Chmod(mode), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

// copySparse copies to an empty file and leaves out what is zero.
func copySparse(to *os.File, from io.Reader) error {
	part, none := make([]byte, 64<<10), make([]byte, 64<<10)
	for at := int64(0); ; {
		n, err := io.ReadFull(from, part)
		if !bytes.Equal(part[:n], none[:n]) {
			if _, err := to.WriteAt(part[:n], at); err != nil {
				return err
			}
		}
		at += int64(n)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return to.Truncate(at)
		case err != nil:
			return err
		}
	}
}
