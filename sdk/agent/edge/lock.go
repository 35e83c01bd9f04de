package edge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockWait is how long an Edge waits for the one before it to let go of the root.
const lockWait = 5 * time.Second

// lock takes the root for this process: two that share it would take the session from each other for ever, and each
// would run the other's threads. It ends with the file, and so with the process.
func (e *Edge) lock(ctx context.Context) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(e.opts.Root, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("edge: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	var pause retry
	for {
		if err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
			return file, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || !pause.wait(ctx) {
			_ = file.Close()
			return nil, fmt.Errorf("edge: the directory %s is used by another process; give each its own: %w", e.opts.Root, err)
		}
	}
}
