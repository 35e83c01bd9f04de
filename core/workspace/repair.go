package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// mend fetches all objects again, for a mirror in which something is missing.
func (m *mirror) mend(ctx context.Context, rem *remote, w want) error {
	ctx, cancel := context.WithTimeout(ctx, m.s.config().FetchTimeout)
	defer cancel()
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return m.repair(ctx, rem, w)
}

// repair fetches everything anew into the damaged mirror, because worktrees may hang on it; one that is not used is
// made again if that does not help, and the old one stays aside if it may hold work. The caller holds the lock.
func (m *mirror) repair(ctx context.Context, rem *remote, w want) error {
	m.s.log.Warn("a mirror is damaged and is fetched again", "mirror", m.URL)
	if err := m.secure(); err != nil {
		return err
	}
	if err := m.setDamagedAside(ctx); err != nil {
		return err
	}
	err := m.fetch(ctx, rem, w, true)
	if err == nil || failureOf(err) != failBroken || m.inUse() {
		return err
	}
	reason, looking := m.holds(ctx)
	if looking != nil {
		return looking
	}
	left := ".old-" // what a crash leaves of it comes back
	if reason == "" {
		left = ".new-" // it goes
	}
	old := m.dir + m.s.attempt(left)
	if err := os.Rename(m.dir, old); err != nil {
		return err
	}
	if err := m.clone(ctx, rem, w); err != nil {
		return errors.Join(err, os.Rename(old, m.dir))
	}
	if reason == "" {
		return removeTree(old)
	}
	return m.setAside(old)
}

// setAside keeps a mirror in the one that was made in its place.
func (m *mirror) setAside(old string) error {
	aside := filepath.Join(m.damaged(), filepath.Base(old))
	m.s.log.Warn("a mirror that could not be mended was made again, and stays aside for the work in it", "mirror", m.URL, "path", aside)
	return errors.Join(os.MkdirAll(m.damaged(), 0o755), os.Rename(old, aside))
}

// damaged is where what is damaged stays.
func (m *mirror) damaged() string { return filepath.Join(m.dir, "damaged") }

// setDamagedAside moves packs that do not hold what they should out of git's sight: a pack that is fetched again has the
// same name, and git would keep the old one.
func (m *mirror) setDamagedAside(ctx context.Context) error {
	for _, index := range glob(m.dir, "objects/pack/pack-*.idx") {
		_, err := m.git(ctx, nil, "verify-pack", "--", index)
		if err == nil {
			continue
		} else if unanswered(err) {
			return err
		}
		aside := m.damaged()
		if err := os.MkdirAll(aside, 0o755); err != nil {
			return err
		}
		for _, file := range glob(filepath.Dir(index), strings.TrimSuffix(filepath.Base(index), ".idx")+".*") {
			if err := os.Rename(file, filepath.Join(aside, filepath.Base(file))); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// staleLock is the age from which a lock file on refs is one that a killed git left: git holds them for milliseconds.
const staleLock = 30 * time.Second

// isStale reports whether a killed git left a lock file. It carries the real time, whatever our clock is set to, and lies ahead where
// that was set back.
func isStale(lock fs.FileInfo) bool { return time.Since(lock.ModTime()).Abs() > staleLock }

// removeStaleLocks removes lock files that a killed git left and returns how many. The caller holds the lock.
func (m *mirror) removeStaleLocks() int {
	removed := 0
	stale := func(path string, info fs.FileInfo) {
		if strings.HasSuffix(path, ".lock") && isStale(info) && os.Remove(path) == nil {
			removed++
		}
	}
	for _, name := range []string{"packed-refs.lock", "shallow.lock"} {
		if info, err := os.Lstat(filepath.Join(m.dir, name)); err == nil {
			stale(filepath.Join(m.dir, name), info)
		}
	}
	_ = filepath.WalkDir(filepath.Join(m.dir, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // refs come and go while we look
		}
		if info, err := d.Info(); err == nil {
			stale(path, info)
		}
		return nil
	})
	return removed
}
