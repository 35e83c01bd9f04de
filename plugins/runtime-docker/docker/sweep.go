package docker

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/wardroom/wardroom/sdk/agentcli/local"
)

// sweepTime is how often leftovers are looked for, unless they may be younger than that.
const sweepTime = 5 * time.Minute

// sweep removes, until ctx ends, what crashes left on the engine: containers of this state directory that are no agent's,
// once they are older than grace. While the engine is away nothing happens.
func (l *Launcher) sweep(ctx context.Context, grace time.Duration) {
	ticker := time.NewTicker(min(sweepTime, max(grace/2, 100*time.Millisecond)))
	defer ticker.Stop()
	for {
		l.sweepOnce(ctx, grace)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (l *Launcher) sweepOnce(ctx context.Context, grace time.Duration) {
	call, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	// First, as it has the client agree with the engine on a version, which ContainerList reads before it does so: another call may
	// be writing it.
	_, err := l.engine.ServerVersion(call)
	if err != nil {
		return // health reports it
	}
	list, err := l.engine.ContainerList(call, container.ListOptions{All: true, Filters: owned(l.owner)})
	if err != nil {
		return // health reports it
	}
	for i := range list {
		one := &list[i]
		// The clocks of the engine and of this process are the machine's: one that was set back makes containers seem
		// young, and they stay for that long.
		if ctx.Err() != nil || time.Since(time.Unix(one.Created, 0)) < grace || !l.leftover(one) {
			continue
		}
		l.log.Warn("removing a container that no agent has", "container", one.ID, "agent", one.Labels[labelAgent], "state", one.State)
		if err := l.engine.remove(ctx, one.ID); err != nil {
			l.log.Warn("a container that no agent has cannot be removed", "container", one.ID, "error", err)
		}
	}
}

// leftover reports whether a container of this state directory is no agent's: its room is gone, another life is in it, or its life
// did not begin. A running one whose life is recorded is somebody's, who will ask for it.
func (l *Launcher) leftover(one *container.Summary) bool {
	if one.Labels[labelRole] == roleProbe {
		return !l.probes.has(one.ID)
	}
	id := one.Labels[labelAgent]
	if one.Labels[labelRole] != roleAgent || local.CheckID(id) != nil {
		return false
	}
	if l.claims.Held(id) {
		return false
	}
	h, err := l.load(id)
	if err != nil { // one that is there and cannot be read does not show whose the container is
		return errors.Is(err, fs.ErrNotExist)
	}
	return h.Over || h.Nonce.String() != one.Labels[labelNonce]
}

// has reports whether a probe is in use.
func (p *probes) has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, one := range p.made {
		if one.id == id {
			return true
		}
	}
	return false
}
