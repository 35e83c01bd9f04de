package keeper

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// reaper waits for every child: the command, and whatever of its tree comes to this process as subreaper.
type reaper struct {
	child int
	sig   <-chan os.Signal // SIGCHLD
	done  chan struct{}    // closed when the command ended
	empty chan struct{}    // closed when no child is left at all, so nothing can come back
	quit  chan struct{}    // closed to give up on children that do not end

	mu     sync.Mutex
	status unix.WaitStatus // of the command; valid once done is closed
}

func newReaper(child int, sig <-chan os.Signal) *reaper {
	return &reaper{child: child, sig: sig, done: make(chan struct{}), empty: make(chan struct{}), quit: make(chan struct{})}
}

// run returns when no child is left, or after stop.
func (r *reaper) run() {
	for {
		for {
			var status unix.WaitStatus
			pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil { // ECHILD: none left
				close(r.empty)
				return
			}
			if pid == 0 {
				break
			}
			if pid == r.child && (status.Exited() || status.Signaled()) {
				r.mu.Lock()
				r.status = status
				r.mu.Unlock()
				close(r.done)
			}
		}
		select {
		case <-r.sig:
		case <-r.quit:
			return
		}
	}
}

// stop ends run. It is called once.
func (r *reaper) stop() { close(r.quit) }

// code is the command's exit code: 128+n after signal n.
func (r *reaper) code() uint32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status.Signaled() {
		return 128 + uint32(r.status.Signal())
	}
	return uint32(r.status.ExitStatus())
}
