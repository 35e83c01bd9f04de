package store

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

func diskFree(path string) (uint64, error) {
	free, _, err := roomLeft(path)
	return free, err
}

// roomLeft returns the bytes free for us on the file system of path, and how many files can still be made there:
// math.MaxUint64 where it does not count them.
func roomLeft(path string) (free, files uint64, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, 0, err
	}
	files = st.Ffree
	if st.Files == 0 { // it makes them from free space
		files = math.MaxUint64
	}
	return st.Bavail * uint64(st.Bsize), files, nil
}

func diskTotal(path string) (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, err
	}
	return st.Blocks * uint64(st.Bsize), nil
}

// discardFile is where Badger counts what is dead in the value log. It is memory-mapped as a whole, too.
const discardFile = "DISCARD"

// reserveLogs gives the blocks to write-ahead logs that are still holes: they are memory-mapped, and a
// write to a hole on a full disk would be a SIGBUS. done remembers the files that have theirs; it is
// updated. A file system that cannot reserve is left alone: the space budget still holds.
func reserveLogs(dir string, done map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".mem") && name != discardFile {
			continue
		}
		seen[name] = true
		if done[name] {
			continue
		}
		if err := reserve(filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("reserve %s: %w", name, err)
		}
		done[name] = true
	}
	for name := range done {
		if !seen[name] {
			delete(done, name)
		}
	}
	return nil
}

func reserve(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) { // flushed meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	return allocate(f, info.Size())
}

// allocate gives a file its blocks up to size, and leaves its length. A file system that cannot do it is left alone.
func allocate(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.ENOSYS) {
		return nil
	}
	return err
}

// checkOwner refuses to open another user's store as root: the files that root would make there could not
// be written by the service afterwards.
func checkOwner(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && os.Geteuid() == 0 && st.Uid != 0 {
		return fmt.Errorf("%s belongs to user id %d; run this command as that user, not as root", path, st.Uid)
	}
	return nil
}

// blocksOf returns the bytes that a file takes on disk.
func blocksOf(info os.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Blocks * 512
	}
	return info.Size()
}
