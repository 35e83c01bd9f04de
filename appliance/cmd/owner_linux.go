package cmd

import (
	"errors"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
)

// ownAs gives everything in a directory to who owns the one at model, or, where there is none, the one above it. Only root
// can, and for others there is nothing to do: what root makes for the service must belong to the service.
func ownAs(dir, model string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(model)
	if errors.Is(err, fs.ErrNotExist) {
		info, err = os.Stat(filepath.Dir(model))
	}
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(owner.Uid), int(owner.Gid))
	})
}

// ownDisk reports whether a directory is the root of a file system.
func ownDisk(dir string) bool {
	device := func(path string) (uint64, bool) {
		info, err := os.Stat(path)
		if err != nil {
			return 0, false
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		return stat.Dev, ok
	}
	own, there := device(dir)
	above, known := device(filepath.Dir(dir))
	return there && known && own != above
}

// foreignFile looks for a file directly in a directory that does not belong to the owner of the directory.
func foreignFile(dir string) (path, owner string, found bool) {
	info, err := os.Stat(dir)
	if err != nil {
		return "", "", false
	}
	of := func(info fs.FileInfo) uint32 {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			return stat.Uid
		}
		return 0
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", "", false
	}
	for _, entry := range entries {
		if one, err := entry.Info(); err == nil && of(one) != of(info) {
			return filepath.Join(dir, entry.Name()), strconv.FormatUint(uint64(of(info)), 10) + ":", true
		}
	}
	return "", "", false
}

// freeBytes returns what unprivileged users may still write on the file system of path.
func freeBytes(path string) (int64, bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * s.Bsize, true
}

// groupOf is the group of a configuration file, or of the directory where it will be; -1 if neither is there.
func groupOf(path string) int {
	for _, at := range []string{path, filepath.Dir(path)} {
		if info, err := os.Stat(at); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				return int(stat.Gid)
			}
		}
	}
	return -1
}

// groupReads reports whether the members of a group may read a file, as far as its own mode says. Without a group, and for
// who is not root, it is not asked.
func groupReads(path string, group int) bool {
	info, err := os.Stat(path)
	if err != nil || group < 0 || os.Geteuid() != 0 {
		return err == nil
	}
	if groupOf(path) == group {
		return info.Mode().Perm()&0o040 != 0
	}
	return info.Mode().Perm()&0o004 != 0
}

// foreignSocket returns the group that may use a socket, if a user is not in it. Where there is no such user nothing is known.
func foreignSocket(path, who string) (group string, foreign bool) {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o006 == 0o006 {
		return "", false
	}
	account, err := user.Lookup(who)
	if err != nil {
		return "", false
	}
	gid := strconv.Itoa(groupOf(path))
	ids, err := account.GroupIds()
	if err != nil || slices.Contains(ids, gid) {
		return "", false
	}
	if named, err := user.LookupGroupId(gid); err == nil {
		return named.Name, true
	}
	return gid, true
}

// ownerAttributes are for a program that root starts as the owner of the directory of a file; nil where that is root, or not
// there, or we are not root.
func ownerAttributes(file string) *syscall.SysProcAttr {
	info, err := os.Stat(filepath.Dir(file))
	if err != nil || os.Geteuid() != 0 {
		return nil
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || owner.Uid == 0 {
		return nil
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}}
}
