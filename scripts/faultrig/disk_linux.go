package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// mountDisk mounts a file system of so many MiB; errNoDisk where this process may not.
func mountDisk(dir string, size int) (*disk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0700", size)); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoDisk, err)
	}
	return &disk{dir: dir}, nil
}

func (d *disk) unmount() error { return unix.Unmount(d.dir, unix.MNT_DETACH) }

func (d *disk) free() (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(d.dir, &st); err != nil {
		return 0, err
	}
	return st.Bavail * uint64(st.Bsize), nil
}
