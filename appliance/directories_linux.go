package appliance

import (
	"fmt"
	"os"
	"syscall"
)

// private refuses a directory that somebody else made or can write to: what listens there is spoken to.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(owner.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("the run directory %s must be a directory of this user with mode 0700", dir)
	}
	return nil
}

// noFollow keeps an open from following a symbolic link.
const noFollow = syscall.O_NOFOLLOW

// ownerOf returns the user whom a file belongs to.
func ownerOf(info os.FileInfo) (uid int, ok bool) {
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(owner.Uid), true
}
