package appliance

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
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

// accessible reports why this process may not read and write a file, or the names in a directory; nil if it may.
func accessible(path string, dir bool) error {
	mode := uint32(unix.R_OK | unix.W_OK)
	if dir {
		mode |= unix.X_OK
	}
	return unix.Faccessat(unix.AT_FDCWD, path, mode, unix.AT_EACCESS)
}

// lockFile opens a file that only one process has open at a time; it returns no file while another one has it.
func lockFile(path string, create bool) (*os.File, error) {
	mode := os.O_RDWR | syscall.O_NOFOLLOW
	if create {
		mode |= os.O_CREATE
	}
	file, err := os.OpenFile(path, mode, 0o600)
	if err != nil {
		return nil, err
	}
	for err = syscall.EINTR; errors.Is(err, syscall.EINTR); {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		return file, nil
	}
	_ = file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, nil //nolint:nilnil // it is the other one's
	}
	return nil, err
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

// fileIdentity returns the device and the inode of a file, as systemd writes them into JOURNAL_STREAM.
func fileIdentity(info os.FileInfo) (id string, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino), true
}
