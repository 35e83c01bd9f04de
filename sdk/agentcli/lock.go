package agentcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockWait is how long a process waits for the one before it to let go of the directory.
const lockWait = 5 * time.Second

// lockDir takes the directory for this process. The lock ends with the file, and so with the process.
func lockDir(ctx context.Context, dir string) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	deadline := time.Now().Add(lockWait)
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) || time.Now().After(deadline) {
			_ = file.Close()
			return nil, fmt.Errorf("the state directory %s is used by another process: %w", dir, err)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			_ = file.Close()
			return nil, ctx.Err()
		}
	}
}
