package agentcli

import (
	"context"
	"errors"
	"os"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// takeSession returns the files of a session that an agent of this runtime had, for another agent that is to resume it. None
// where no agent had it, or it cannot be read: the start then goes on as that of a session that is lost. The notice is that of
// takeCopy.
func (r *Runtime) takeSession(ctx context.Context, spec *runtime.Spec, adapter Adapter, session string, room Room) (files []File, notice string) {
	mover, ok := adapter.(Mover)
	former, rec := r.hadSession(spec, session)
	if !ok || former == nil {
		return nil, ""
	}
	files, err := r.readSession(ctx, mover, former, &rec, room)
	if err == nil {
		return files, ""
	}
	if !isGone(err) {
		r.o.Logger.Warn("the session of an earlier agent cannot be read in its room", "agent", former.id, "error", err)
	}
	return r.takeCopy(ctx, former, &rec, adapter, session, room)
}

// readSession reads the session of an agent in its room, as the room to needs it.
func (r *Runtime) readSession(ctx context.Context, mover Mover, a *agent, rec *record, to Room) ([]File, error) {
	archive, ok := r.o.Launcher.(Archive)
	if !ok {
		return nil, ErrGone
	}
	from, err := archive.Room(ctx, &rec.Spec)
	if err != nil {
		return nil, err
	}
	return mover.TakeSession(rec.Agent.SessionID, driverState(a, rec), from, to)
}

// isGone reports whether a session is not in a room for good.
func isGone(err error) bool { return errors.Is(err, ErrGone) || errors.Is(err, os.ErrNotExist) }

// driverState returns the state that the driver of an agent saved last.
func driverState(a *agent, rec *record) []byte {
	if state := loadState(a.dir, rec.Life); state != nil {
		return state.Driver
	}
	return nil
}

// hadSession returns the agent that had a session last, and its record; nil if none is known. Only agents of the same type and
// installation count.
func (r *Runtime) hadSession(spec *runtime.Spec, session string) (former *agent, rec record) {
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
		one.Agent.SessionID = session
		former, rec = a, one
	}
	return former, rec
}
