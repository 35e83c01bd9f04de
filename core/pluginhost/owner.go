package pluginhost

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// checkOwner makes sure that only root and this process's user can change what is at path: neither it
// nor a directory above it may belong to, or be writable by, anybody else. A sticky directory that anyone may
// write to, such as /tmp, is no safe place either: an attacker can make the next directory before we do, but
// not replace one of ours, so it is taken when what lies in it is ours.
//
// The path is walked after its symbolic links are resolved, and the links' own directories are walked too.
func checkOwner(path string) error {
	abs, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return err
	}
	for _, start := range []string{real, filepath.Dir(abs)} {
		for at := start; ; at = filepath.Dir(at) {
			if err := ownedSafely(at); err != nil {
				return err
			}
			if at == filepath.Dir(at) {
				break
			}
		}
		if start == real && filepath.Dir(abs) == filepath.Dir(real) {
			break // no link on the way
		}
	}
	return nil
}

func ownedSafely(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("the owner of %s cannot be told", path)
	}
	if stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return &unsafeError{path, fmt.Sprintf("%s belongs to the user %d, who could replace the plugin; chown it to root", path, stat.Uid)}
	}
	mode := info.Mode()
	sticky := mode.IsDir() && mode&fs.ModeSticky != 0
	switch {
	case mode.Perm()&0o002 != 0 && !sticky:
		return &unsafeError{path, fmt.Sprintf("%s is writable by everyone (%s); run: chmod o-w %s", path, mode.Perm(), path)}
	case mode.Perm()&0o020 != 0 && stat.Gid != 0 && !sticky && !(stat.Gid == uint32(os.Getegid()) && int(stat.Uid) == os.Geteuid() && userPrivate(stat)):
		return &unsafeError{path, fmt.Sprintf("%s is writable by the group %d (%s); run: chmod g-w %s", path, stat.Gid, mode.Perm(), path)}
	}
	return nil
}

// unsafeError is why a file or directory is not safe.
type unsafeError struct{ path, text string }

// Error implements error.
func (e *unsafeError) Error() string { return e.text }

// userPrivate reports whether the group is the one of the user alone, by the convention of equal numbers.
func userPrivate(stat *syscall.Stat_t) bool { return stat.Gid == stat.Uid }
