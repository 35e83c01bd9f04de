package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// End kills every process that was started in the room of an agent, in whatever session and with whatever parent,
// and returns when none is left. A process that changed its user, or was given an environment without the room's
// mark, is not found. Ending what is not there is no error.
func (r *Rooms) End(ctx context.Context, id string) error {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		left, err := r.processes(id)
		if err != nil || len(left) == 0 {
			return err
		}
		for _, p := range left { // one after the other may start more: all are looked for again
			if err := proc.Signal(p, unix.SIGKILL); err != nil && !errors.Is(err, proc.ErrGone) {
				return runtime.Errorf(runtime.CodeInternal, "process %d of agent %s cannot be ended: %v", p.PID, id, err)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return runtime.Errorf(runtime.CodeTimeout, "%d processes of agent %s did not end in time", len(left), id)
		}
	}
}

// Usage measures every process of an agent's room. agentcli.ErrGone when there is none. Processor time of
// processes that have ended is counted where a parent waited for them.
func (r *Rooms) Usage(id string) (agentcli.Usage, error) {
	list, err := r.processes(id)
	if err != nil {
		return agentcli.Usage{}, err
	}
	var u agentcli.Usage
	page := int64(os.Getpagesize())
	for _, p := range list {
		info, err := proc.Stat(p.PID)
		if err != nil || info.Start != p.Start {
			continue // it ended meanwhile
		}
		u.PIDs++
		u.CPU += info.CPU + info.ReapedCPU
		u.MemoryBytes += info.MemoryPages * page
	}
	if u.PIDs == 0 {
		return u, fmt.Errorf("agent %s has no processes: %w", id, agentcli.ErrGone)
	}
	return u, nil
}

// processes returns the processes of a room.
func (r *Rooms) processes(id string) ([]proc.ID, error) {
	base, err := r.base(id)
	if err != nil {
		return nil, err
	}
	if real, err := filepath.EvalSymlinks(r.Dir); err == nil {
		base = filepath.Join(real, id) // as Prepare marked them
	}
	marked, err := proc.Marked(mark)
	if err != nil {
		return nil, runtime.Errorf(runtime.CodeInternal, "the processes of this machine cannot be read: %v", err)
	}
	return marked[base], nil
}
