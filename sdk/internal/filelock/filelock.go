// Package filelock keeps two processes from using one directory.
//
// The lock is the kernel's (flock): it ends with the process, however that ends. It keeps nobody from files who does
// not ask for it. Owners of a directory of state call it when they open it.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/internal/backoff"
)

// wait is how long a process waits for the one before it to let go.
const wait = 5 * time.Second

// Dir takes dir for this process, with the file lock in it, until the returned file is closed. It waits for a
// process before it that is about to end; ctx ends that early.
func Dir(ctx context.Context, dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	pause := backoff.Backoff{Min: 20 * time.Millisecond, Max: 200 * time.Millisecond}
	for {
		if err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return file, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || !pause.Wait(limited) {
			break
		}
	}
	_ = file.Close()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("the directory %s is used by another process; give each its own: %w", dir, err)
}
