package plugin

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// pollParent is how often the parent is looked at where the pipe does not tell.
const pollParent = time.Second

// watchParent returns a context that ends with the host's process: by the pipe of fd (a number, or empty), and
// by who the parent is. A plugin without a host holds sockets and state that the next one needs.
func watchParent(ctx context.Context, fd string) (context.Context, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	if fd != "" {
		n, err := strconv.Atoi(fd)
		if err != nil || n < 3 {
			cancel(nil)
			return nil, fmt.Errorf("%s=%q is not the number of a file descriptor", EnvParentFD, fd)
		}
		// Children of ours must not read it, and Go must not block a thread on it.
		unix.CloseOnExec(n)
		if err := unix.SetNonblock(n, true); err != nil {
			cancel(nil)
			return nil, fmt.Errorf("%s=%q is not an open file descriptor: %w", EnvParentFD, fd, err)
		}
		pipe := os.NewFile(uintptr(n), "parent")
		stop := context.AfterFunc(ctx, func() { _ = pipe.Close() })
		go func() {
			defer stop()
			var b [16]byte
			for {
				if _, err := pipe.Read(b[:]); err != nil {
					cancel(errHostGone)
					return
				}
			}
		}()
	}
	parent := os.Getppid()
	go func() {
		ticker := time.NewTicker(pollParent)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if os.Getppid() != parent {
					cancel(errHostGone)
					return
				}
			}
		}
	}()
	return ctx, nil
}
