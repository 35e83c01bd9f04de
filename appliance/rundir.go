package appliance

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ownerFile lies in a run directory among the temporary files and holds the path of the state directory that it belongs
// to. Its server has it locked for as long as it lives, however it ends.
const ownerFile = "owner"

// Bounds of a look for what dead servers left, and of the wait for a server that looks.
const (
	maxSwept    = 1000
	sweptDialed = time.Second
	claimTries  = 50
	claimPause  = 20 * time.Millisecond
)

// temporaryRun reports whether a run directory is one among the temporary files.
func temporaryRun(run string) bool { return filepath.Dir(run) == filepath.Clean(os.TempDir()) }

// claimRunDir says whose a run directory among the temporary files is, until the returned file is closed; nil where that
// needs not be said, and where another server with the same state directory says it.
func claimRunDir(ctx context.Context, run, state string) (*os.File, error) {
	if !temporaryRun(run) || !filepath.IsAbs(state) {
		return nil, nil //nolint:nilnil // there is nothing to close
	}
	for range claimTries {
		file, err := lockFile(filepath.Join(run, ownerFile), true)
		if errors.Is(err, fs.ErrNotExist) { // another server has just removed it
			if err = os.MkdirAll(run, 0o700); err == nil {
				err = private(run)
			}
			if err == nil {
				continue
			}
		}
		if err != nil {
			return nil, err
		}
		if file == nil { // a server that looks whether this one is gone is through in a moment
			select {
			case <-time.After(claimPause):
				continue
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		now, err := os.Stat(file.Name())
		if held, heldErr := file.Stat(); err != nil || heldErr != nil || !os.SameFile(now, held) {
			_ = file.Close()
			continue
		}
		if err = file.Truncate(0); err == nil {
			_, err = file.WriteAt([]byte(state), 0)
		}
		if err != nil {
			_ = file.Close()
			return nil, err
		}
		return file, nil
	}
	return nil, nil //nolint:nilnil // there is nothing to close
}

// sweepRunDirs removes run directories among the temporary files that servers of this user left whose state directory is
// gone, and returns how many. What is not certain stays: a server or an agent may still be at work there.
func sweepRunDirs(own string) (removed int) {
	found, _ := filepath.Glob(runDirName("*"))
	for i, dir := range found {
		if i == maxSwept {
			break
		}
		if dir != own && private(dir) == nil && sweepRunDir(dir) {
			removed++
		}
	}
	return removed
}

func sweepRunDir(dir string) bool {
	path := filepath.Join(dir, ownerFile)
	if _, err := os.Lstat(path); err != nil {
		return false
	}
	file, err := lockFile(path, false)
	if err != nil || file == nil { // its server lives
		return false
	}
	defer file.Close()
	state := make([]byte, 4096)
	n, _ := file.ReadAt(state, 0)
	state = state[:n]
	if runDirName(runDirSum(string(state))) != dir {
		return false
	}
	if _, err := os.Lstat(string(state)); !errors.Is(err, fs.ErrNotExist) || anybodyListens(dir) {
		return false
	}
	return os.RemoveAll(dir) == nil
}

// anybodyListens reports whether a socket below dir may have somebody behind it.
func anybodyListens(dir string) (listens bool) {
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type() != fs.ModeSocket {
			return err
		}
		conn, err := net.DialTimeout("unix", path, sweptDialed)
		if err == nil {
			_ = conn.Close()
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			listens = true
			return filepath.SkipAll
		}
		return nil
	})
	return listens || err != nil
}

// tidyRunDir removes what is empty of a run directory among the temporary files, and lets go of it. The sockets of
// agents that go on keep it.
func (a *App) tidyRunDir() {
	dir, err := runDir(stateDir(a.config.Load()))
	if err != nil || !temporaryRun(dir) {
		return
	}
	var dirs []string
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != dir {
			dirs = append(dirs, path)
		}
		return nil
	})
	for _, path := range slices.Backward(dirs) {
		_ = os.Remove(path) // it stays unless it is empty
	}
	left, err := os.ReadDir(dir)
	if err == nil && !slices.ContainsFunc(left, func(e fs.DirEntry) bool { return e.Name() != ownerFile }) {
		_ = os.Remove(filepath.Join(dir, ownerFile))
		_ = os.Remove(dir)
	}
	if a.runOwner != nil {
		_ = a.runOwner.Close()
	}
}

// clearRunDirs claims the run directory of this server and removes those that dead ones left.
func (a *App) clearRunDirs(ctx context.Context, run, state string) (err error) {
	if a.runOwner, err = claimRunDir(ctx, run, state); err != nil {
		return err
	}
	if n := sweepRunDirs(run); n > 0 {
		a.log.Info("run directories of servers that are gone were removed", "count", n, "dir", strings.TrimSuffix(os.TempDir(), "/"))
	}
	return nil
}
