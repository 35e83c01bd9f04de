package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// rootLock is the file in the root that its service has locked.
const rootLock = "lock"

// lockRoot takes the root for this service until closeRoot, or the end of the process however it comes: two servers in one
// root would remove each other's half-made workspaces, and give both of their threads the same ones. Where the file
// system has no locks it only warns.
func (s *Service) lockRoot() error {
	file, err := os.OpenFile(filepath.Join(s.opts.Root, rootLock), os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	switch {
	case err == nil:
		s.root = file
		return nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		_ = file.Close() // nothing was written
		return fmt.Errorf("%s is in use by another server: give each server a threads.root of its own, or stop the other one", s.opts.Root)
	default:
		_ = file.Close() // nothing was written
		s.log.Warn("the directory of workspaces cannot be locked: another server in it would not be noticed", "dir", s.opts.Root, "error", err)
		return nil
	}
}

// closeRoot gives the root back.
func (s *Service) closeRoot() {
	if s.root != nil {
		_ = s.root.Close() // nothing was written
	}
}
