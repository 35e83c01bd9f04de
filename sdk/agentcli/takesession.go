package agentcli

import (
	"context"
	"errors"
	"os"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// takeSession returns the files of a session that an agent of this runtime had, for another agent that is to resume it. None
// where nobody had it, or it cannot be read: the start then goes on as that of a session that is lost.
func (r *Runtime) takeSession(ctx context.Context, spec *runtime.Spec, adapter Adapter, session string, room Room) []File {
	mover, ok := adapter.(Mover)
	archive, canRead := r.o.Launcher.(Archive)
	if !ok || !canRead {
		return nil
	}
	former, state := r.hadSession(spec, session)
	if former == nil {
		return nil
	}
	from, err := archive.Room(ctx, former)
	if err != nil {
		if !errors.Is(err, ErrGone) {
			r.o.Logger.Warn("the room of an earlier agent cannot be read", "agent", former.ID, "error", err)
		}
		return nil
	}
	files, err := mover.TakeSession(session, state, from, room)
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			r.o.Logger.Warn("the session of an earlier agent cannot be read", "agent", former.ID, "error", err)
		}
		return nil
	}
	return files
}

// hadSession returns the spec of the agent that had a session last, and what its driver saved; nil if none is known. Only
// agents of the same type and installation count.
func (r *Runtime) hadSession(spec *runtime.Spec, session string) (*runtime.Spec, []byte) {
	var former *agent
	var rec record
	for _, a := range r.all() {
		if a.id == spec.ID || a.view().SessionID != session {
			continue
		}
		a.mu.Lock()
		one := a.rec
		a.mu.Unlock()
		if one.Spec.Type != spec.Type || one.Spec.Installation != spec.Installation ||
			former != nil && one.Started.Before(rec.Started) {
			continue
		}
		former, rec = a, one
	}
	if former == nil {
		return nil, nil
	}
	var driver []byte
	if state := loadState(former.dir, rec.Life); state != nil {
		driver = state.Driver
	}
	return &rec.Spec, driver
}
