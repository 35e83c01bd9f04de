package local

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// The helper is the holder's binary, which every hook of an agent's CLI runs as well. A CLI whose helper is missing
// or half written for a moment goes on without its hooks, so an upgrade of the installed binary must not be seen by
// agents that run: each room has a helper of its own, from the start of a life to its end. They are hard links to one
// copy for each version of the binary.

// helperName is the name of the helper's file in a room.
const helperName = "holder"

// helperDir is on the file system of the rooms: links do not lead to another one.
func (l *Launcher) helperDir() string {
	if l.rooms.Dir != filepath.Join(l.opts.StateDir, "agents") {
		return filepath.Join(l.rooms.Dir, ".helpers")
	}
	return filepath.Join(l.opts.StateDir, "helpers")
}

// hookHelper returns the path of the helper that the hooks of an agent call.
func (l *Launcher) hookHelper(id string) string {
	if !l.helpers {
		return l.opts.Holder
	}
	return filepath.Join(l.room(id), helperName)
}

// openHelpers finds out whether rooms can have helpers: nothing can be run from a file system that forbids it.
func (l *Launcher) openHelpers() error {
	if err := os.MkdirAll(l.helperDir(), 0o700); err != nil {
		return fmt.Errorf("make a directory of the runtime: %w", err)
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(l.helperDir(), &stat); err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	l.helpers = stat.Flags&unix.ST_NOEXEC == 0
	if !l.helpers {
		l.log.Warn("the state directory is mounted noexec: agents use the installed holder, and an upgrade may cut their hooks off",
			"dir", l.opts.StateDir)
	}
	return nil
}

// giveHelper gives the room of an agent the installed helper, in place of that of an earlier life, and returns what
// is to be started. SPAWN_FAILED.
func (l *Launcher) giveHelper(id string) (string, error) {
	if !l.helpers {
		return l.opts.Holder, nil
	}
	path := l.hookHelper(id)
	for range 3 { // a sweep of another call may remove the copy in between
		copied, err := l.copyHelper()
		if err == nil {
			_ = os.Remove(path + ".new")
			if err = os.Link(copied, path+".new"); err == nil {
				err = os.Rename(path+".new", path)
				_ = os.Remove(path + ".new") // a rename onto the same file leaves it
			}
		}
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", runtime.Errorf(runtime.CodeSpawnFailed, "give the agent its holder: %v", err)
		}
	}
	return "", runtime.Errorf(runtime.CodeSpawnFailed, "give the agent its holder: %s is not there", l.opts.Holder)
}

// copyHelper returns the copy of the installed helper, which it makes if there is none of this version.
func (l *Launcher) copyHelper() (string, error) {
	from, err := os.Open(l.opts.Holder)
	if err != nil {
		return "", err
	}
	defer func() { _ = from.Close() }() // only read from
	sum := sha256.New()
	if _, err := io.Copy(sum, from); err != nil {
		return "", err
	}
	path := filepath.Join(l.helperDir(), hex.EncodeToString(sum.Sum(nil)))
	if _, err := os.Lstat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
		if err == nil && l.isolation.user != nil {
			err = os.Chmod(path, 0o555) // it may be from before agents had a user of their own
		}
		return path, err
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return "", err
	}
	// A process that is forked meanwhile would hold the file open for writing, and it could not be run then.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	temp, err := os.CreateTemp(l.helperDir(), ".new-")
	if err != nil {
		return "", err
	}
	again := sha256.New()
	_, err = io.Copy(io.MultiWriter(temp, again), from)
	err = errors.Join(err, temp.Chmod(0o555), temp.Sync(), temp.Close())
	if err == nil && string(again.Sum(nil)) != string(sum.Sum(nil)) {
		err = fmt.Errorf("%s changed while it was read", l.opts.Holder)
	}
	if err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temp.Name())
		return "", err
	}
	return path, nil
}

// sweepHelpers removes copies that no room has, and what interrupted calls left.
func (l *Launcher) sweepHelpers() {
	entries, err := os.ReadDir(l.helperDir())
	if err != nil {
		return
	}
	for _, entry := range entries {
		path := filepath.Join(l.helperDir(), entry.Name())
		var stat unix.Stat_t
		if unix.Lstat(path, &stat) == nil && stat.Nlink == 1 {
			_ = os.Remove(path)
		}
	}
}
