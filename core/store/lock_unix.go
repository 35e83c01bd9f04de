//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package store

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockDir takes the lock that Badger takes on its directory. locked is false when another process has it.
func lockDir(path string) (unlock func(), locked bool, err error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	switch err := unix.Flock(int(dir.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
	case err == nil:
		return func() { _ = dir.Close() }, true, nil // closing frees the lock
	case errors.Is(err, unix.EWOULDBLOCK):
		return nil, false, dir.Close()
	default:
		return nil, false, errors.Join(err, dir.Close())
	}
}
