package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/atomicfile"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// Bounds of the recovery of a move that was cut off.
const (
	moveLimit = time.Minute      // for one that is put back at once
	openLimit = 10 * time.Second // for all of them at the start; the next use of a workspace tries again
)

// moveNote is the note on disk of a worktree that is moved from one commit to another.
type moveNote struct {
	Before string `json:"before"`
	After  string `json:"after"`
	Base   string `json:"base"` // commit that the work begins at, once it is moved
	// There are the names that are new in After, but had something under them: bytes, since a name need not be text.
	There [][]byte `json:"there,omitempty"`
	Back  bool     `json:"back,omitempty"` // files are being put back
}

// movePath is where the note of a move lies.
func (s *Service) movePath(id string) string {
	return filepath.Join(s.opts.Root, "notes", id+".move.json")
}

// move moves a worktree, in which nothing is changed, from one commit to another. What it is at is noted before, and files are
// written before HEAD is moved: a move that is cut off at any point is put back by recoverMove. reason is for git's log of HEAD.
func (s *Service) move(ctx context.Context, w *core.Workspace, reason string, note moveNote) error {
	t := s.treeOf(w)
	touched, err := t.between(ctx, s.lazyRemote(w), note.Before, note.After)
	if err != nil {
		return err
	}
	for _, f := range touched {
		if f.before.link() && f.after.file() && !t.empty(f.name) { // git would remove all that is in it
			return &gitError{op: "update", kind: failInTheWay, tail: legible(f.name) + " is a file now, and was a submodule, which has files here", err: errors.New("a directory is in the way")}
		}
		if _, err := os.Lstat(filepath.Join(t.dir, filepath.FromSlash(f.name))); !f.before.there() && err == nil {
			note.There = append(note.There, []byte(f.name))
		}
	}
	if names, err := t.inTheWay(ctx, touched); err != nil {
		return err
	} else if len(names) > 0 { // git refuses some of them by itself, and overwrites those that are ignored
		return &gitError{op: "update", kind: failInTheWay, tail: tail("these would be overwritten: " + listed(names)), err: errors.New("files are in the way")}
	}
	if err := s.noteMove(w.ID, note); err != nil {
		return errors.Join(err, os.Remove(s.movePath(w.ID)))
	}
	began, err := s.lockedMove(ctx, w, t, reason, note, touched)
	if err == nil {
		return nil
	} else if !began { // to put something back would wait for the same index
		return errors.Join(err, os.Remove(s.movePath(w.ID)))
	}
	// Also when the caller's time, or that of the service, is over.
	limited, cancel := context.WithTimeout(context.WithValue(context.WithoutCancel(ctx), pastClose{}, true), moveLimit)
	defer cancel()
	if _, failed := s.recoverMove(limited, w); failed != nil {
		return errors.Join(err, failed)
	}
	return err
}

// noteMove writes the note of a move.
func (s *Service) noteMove(id string, note moveNote) error {
	text, err := json.Marshal(note)
	if err != nil {
		return err
	}
	return errors.Join(atomicfile.Write(s.movePath(id), text, 0o644), atomicfile.SyncDir(filepath.Dir(s.movePath(id))))
}

// lockedMove is move, once its note is written. began reports whether it got as far as to have the index: nothing was written before.
func (s *Service) lockedMove(ctx context.Context, w *core.Workspace, t *tree, reason string, note moveNote, touched []touched) (began bool, err error) {
	lock, err := s.lockMove(ctx, w.ID)
	if err != nil {
		return false, err
	}
	defer func() { _ = lock.Close() }() // nothing is written through it
	err = t.withIndex(ctx, func(env []string) error {
		began = true
		// From here on a git that commits waits for the index.
		if head, err := t.head(ctx); err != nil {
			return err
		} else if head != note.Before {
			return &gitError{op: "update", kind: failLocked, tail: "HEAD was moved meanwhile", err: errors.New("there is another commit")}
		}
		refresh := t.call(nil, "update-index", "-q", "--refresh")
		refresh.env = env
		if _, err := s.git(ctx, refresh); unanswered(err) { // else read-tree refuses what is not as the index has it
			return err
		}
		if err := t.skipTo(ctx, env, touched); err != nil {
			return err
		}
		write := t.call(s.lazyRemote(w), "read-tree", "-m", "-u", note.Before, note.After)
		write.env, write.held = env, lock
		_, err := s.git(ctx, write)
		return err
	})
	if err != nil {
		return began, err
	}
	by := s.config().Identity
	head := t.call(nil, "update-ref", "-m", reason, "HEAD", note.After, note.Before)
	head.env = []string{"GIT_COMMITTER_NAME=" + by.Name, "GIT_COMMITTER_EMAIL=" + by.Email}
	_, err = s.git(ctx, head)
	return began, err
}

// moved stores where the work of a workspace begins after a move, which is over then.
func (s *Service) moved(ctx context.Context, id, base string) (*core.Workspace, error) {
	w, err := s.change(ctx, id, func(w *core.Workspace) error { w.BaseCommit = base; return nil })
	if err != nil {
		return nil, err
	}
	if err := os.Remove(s.movePath(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return w, nil
}

// lockMove opens and locks the note of a move, as soon as no git has it any more that outlived the service which began it.
func (s *Service) lockMove(ctx context.Context, id string) (*os.File, error) {
	f, err := os.OpenFile(s.movePath(id), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return f, nil // also on a file system without locks
		}
		if !pause.For(ctx, core.SystemClock{}, lockPoll) { // real time: another process has it
			return nil, errors.Join(ctx.Err(), f.Close())
		}
	}
}

// recoverMoves brings the worktrees back that a crash left between two commits. What fails is tried again at the next use of the
// workspace.
func (s *Service) recoverMoves(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, openLimit)
	defer cancel()
	for _, note := range glob(s.opts.Root, "notes/*.move.json") {
		id := strings.TrimSuffix(filepath.Base(note), ".move.json")
		w, err := s.FindWorkspace(ctx, id)
		if err == nil && w.Status != core.WorkspaceRemoved {
			_, err = s.recoverMove(ctx, w)
		}
		if err != nil {
			s.log.Warn("a workspace whose update was cut off could not be put back yet", "workspace", id, "error", err)
		}
	}
}

// recoverMove ends a move that was cut off, if there is one: a worktree that arrived stays there, any other is put back. It
// returns the workspace as it is then. The caller holds its lock, or is the only one.
func (s *Service) recoverMove(ctx context.Context, w *core.Workspace) (*core.Workspace, error) {
	lock, err := s.lockMove(ctx, w.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return w, nil
	} else if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }() // only read
	t := s.treeOf(w)
	if err := t.secure(); missing(err) {
		return w, nil // there is nothing to put back any more
	} else if err != nil {
		return nil, err
	}
	t.freeIndex()
	var note moveNote
	text, err := readRegular(s.movePath(w.ID), maxIndex)
	if err == nil {
		err = json.Unmarshal([]byte(text), &note)
	}
	if err != nil || !fullHash.MatchString(note.Before) || !fullHash.MatchString(note.After) || !fullHash.MatchString(note.Base) {
		s.log.Warn("the note of an update is not what was written; the files stay as they are", "workspace", w.ID)
		return w, os.Remove(s.movePath(w.ID))
	}
	head, err := t.head(ctx)
	if err != nil {
		return nil, err
	}
	if head == "" {
		return w, os.Remove(s.movePath(w.ID))
	}
	if gone, err := t.gone(ctx, head, note); err != nil {
		return nil, err
	} else if gone {
		s.log.Warn("the commits of an update that was cut off are gone; the files stay as they are", "workspace", w.ID)
		return w, os.Remove(s.movePath(w.ID))
	}
	left, err := t.count(ctx, note.After, "--not", head)
	if err != nil {
		return nil, err
	}
	if left == 0 {
		return s.moved(ctx, w.ID, note.Base)
	}
	s.log.Warn("an update of a workspace was cut off and is put back", "workspace", w.ID)
	mark := func() (*os.File, error) {
		if note.Back {
			return lock, nil
		}
		note.Back = true
		if err := s.noteMove(w.ID, note); err != nil {
			return nil, err
		}
		_ = lock.Close() // of the note before
		lock, err = s.lockMove(ctx, w.ID)
		return lock, err
	}
	if err := t.putBack(ctx, s.lazyRemote(w), note, head, mark); err != nil {
		return nil, err
	}
	return w, os.Remove(s.movePath(w.ID))
}

// gone reports whether commits of a move are not there any more, though that is which the worktree stands at: an agent pruned them.
func (t *tree) gone(ctx context.Context, head string, note moveNote) (bool, error) {
	for i, commit := range []string{head, note.Before, note.After} {
		if ok, err := t.m.has(ctx, commit); err != nil || !ok {
			return !ok && i > 0, err
		}
	}
	return false, nil
}
