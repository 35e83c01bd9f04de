package agentcli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/internal/durable"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// adoptAtOnce is how many agents are looked for at the same time.
const adoptAtOnce = 32

// load reads the records of all agents, and finds those again that ran.
func (r *Runtime) load(ctx context.Context, root string) error {
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	slots := make(chan struct{}, adoptAtOnce)
	var group sync.WaitGroup
	for _, entry := range entries {
		if !entry.IsDir() || !validID.MatchString(entry.Name()) {
			continue
		}
		dir := filepath.Join(root, entry.Name())
		sweep(dir)
		if os.Remove(dir) == nil { // it was being made, or removed, and there is nothing in it
			continue
		}
		rec, inClear, locked, err := loadRecord(dir, r.by)
		if err != nil {
			// It stays as it is: another version of this program may know it.
			r.o.Logger.Error("an agent's record is left alone", "agent", entry.Name(), "error", err)
			continue
		}
		if rec.Unstarted {
			r.left[entry.Name()] = true
			continue
		}
		if locked != nil {
			r.o.Logger.Error("an agent can be used, and not be restarted; its secrets are not masked in its log", "agent", entry.Name(), "error", locked)
		}
		if inClear {
			if err := rec.encrypt(dir, r.by); err != nil {
				r.o.Logger.Error("the environment of an agent is still stored in clear", "agent", entry.Name(), "error", err)
			}
		}
		a := newAgentEntry(root, entry.Name(), r.by, rec)
		r.agents[a.id] = a
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			_ = r.lookFor(a, func() error { return r.adopt(ctx, a) }) // what failed is logged, and tried again
		})
	}
	group.Wait()
	return nil
}

// sweep removes what interrupted writes left.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if durable.Swept(entry.Name()) {
			_ = os.Remove(filepath.Join(dir, entry.Name()))
		}
	}
}

// adopt makes a session of the process that an earlier runtime process started. When it is gone for good the
// agent is stopped; another failure leaves the record as it is, for the next try.
func (r *Runtime) adopt(ctx context.Context, a *agent) error {
	a.mu.Lock()
	rec := a.rec
	a.mu.Unlock()
	unrecorded := false
	if !rec.running() {
		if rec.Agent.Status == runtime.StatusStopped {
			return nil
		}
		// It was about to start, and may have.
		var err error
		if rec.Process, err = r.latest(ctx, a, &rec); err != nil {
			return err
		}
		if len(rec.Process) == 0 {
			r.buried(a, &rec)
			return nil
		}
		unrecorded = true
	}
	proc, err := r.o.Launcher.Find(ctx, rec.Process)
	if errors.Is(err, ErrGone) {
		r.buried(a, &rec)
		return nil
	}
	if err != nil {
		return err
	}
	adapter, err := r.adapter(&rec.Spec)
	if err != nil {
		return errors.Join(err, proc.Close())
	}
	if unrecorded {
		rec.Process = proc.Handle()
		if err := a.update(func(stored *record) { stored.Process = rec.Process }); err != nil {
			return errors.Join(err, proc.Close())
		}
	}
	room, err := r.o.Launcher.Prepare(ctx, &rec.Spec)
	if err != nil {
		r.o.Logger.Warn("the room of an agent that runs is not as it was", "agent", a.id, "error", err)
		room = Room{Home: rec.Room.Home, Workdir: rec.Room.Workdir, Temp: rec.Room.Temp, Hook: rec.Room.Hook}
	}
	s := newSession(r, a, rec.Spec, &rec, proc)
	s.driver = adapter.NewDriver(rec.Plan, room, host{s})
	s.restore(ctx)
	switch {
	case unrecorded:
		s.emit(runtime.Event{Type: runtime.EventStarted, Source: runtime.SourceHost})
	case s.wasAway || rec.Agent.Status == runtime.StatusUnreachable:
		s.reached()
	}
	r.mu.Lock()
	r.running++
	r.mu.Unlock()
	r.launchSession(a, s)
	return nil
}

// latest returns the handle of a command whose start an earlier process did not live to record, or nothing.
func (r *Runtime) latest(ctx context.Context, a *agent, rec *record) ([]byte, error) {
	launcher, ok := r.o.Launcher.(Rediscoverer)
	if !ok || rec.Life == 0 {
		return nil, nil
	}
	since := rec.Started
	if rec.Former != nil {
		since = time.Time{}
	}
	handle, err := launcher.Latest(ctx, a.id, since)
	if errors.Is(err, ErrGone) || err == nil && rec.Former != nil && bytes.Equal(handle, rec.Former.Process) {
		return nil, nil
	}
	return handle, err
}

// before returns what the launcher started last for an agent, or nil where it cannot say.
func (r *Runtime) before(ctx context.Context, a *agent) *former {
	launcher, ok := r.o.Launcher.(Rediscoverer)
	if !ok {
		return nil
	}
	handle, err := launcher.Latest(ctx, a.id, time.Time{})
	switch {
	case errors.Is(err, ErrGone):
		return &former{}
	case err != nil:
		return nil
	}
	return &former{Process: handle}
}

// adoptMissing tries again to find agents that could not be reached: at the same time, so that one whose place does not answer
// keeps none of the others waiting.
func (r *Runtime) adoptMissing(ctx context.Context) {
	slots := make(chan struct{}, adoptAtOnce)
	var group sync.WaitGroup
	defer group.Wait()
	for _, a := range r.all() {
		if a.lastSession() != nil || !a.sought() {
			continue
		}
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(ctx, seekMost)
			defer cancel()
			if a.acquire(ctx) != nil {
				return
			}
			defer a.release()
			if a.lastSession() != nil || !a.sought() {
				return
			}
			if err := r.lookFor(a, func() error { return r.adopt(ctx, a) }); err != nil {
				r.o.Logger.Debug("the agent is still out of reach", "agent", a.id, "error", err)
			}
		})
	}
}

// restore brings a session to where an earlier process left it.
func (s *session) restore(ctx context.Context) {
	offset, noted, screen := s.loadNote(ctx)
	if screen != nil {
		if err := s.display.restore(screen, offset); err != nil {
			s.logger.Warn("the screen of the agent is drawn anew", "error", err)
		} else {
			cols, rows := s.display.size()
			s.sizes.set(cols, rows)
			s.refill(ctx, offset)
		}
	}
	state := cmp.Or(loadState(s.a.dir, s.life), noted)
	if s.agent.Status == runtime.StatusUnreachable { // what it was is not known any more
		s.agent.Status, s.agent.Reason = runtime.StatusStarting, ""
	}
	if state != nil {
		s.resume(state)
	}
	info := s.proc.Info()
	s.agent.PID, s.agent.ContainerID, s.agent.PodName = info.PID, info.ContainerID, info.PodName
	s.publish()
	s.check.offset = offset
	s.delivery.draft.left = true // who knows what was typed
	s.behind, s.display.history = true, time.Now().Add(historyMost)
	s.display.mute(true)
	if h, ok := s.proc.(OutputHeader); ok {
		s.head, s.headKnown = h.OutputHead()
		s.head += s.base
	}
	if b, ok := s.proc.(Backlogger); ok && s.headKnown && b.Backlog() > 0 {
		s.delivery.backlog = backlog{there: true, since: time.Now(), head: s.head}
		s.book.note("it has not read all that was typed")
	}
	s.after(replayLook, s.catchUp)
	if s.agent.Status == runtime.StatusStarting {
		s.waitReady(s.plan.ReadyTimeout)
	}
	if s.fusion.turn != nil {
		s.fusion.watchStuck()
	}
}

// buried stores that an agent ended while nobody looked.
func (r *Runtime) buried(a *agent, rec *record) {
	last := rec.Agent
	if state := loadState(a.dir, rec.Life); state != nil {
		last = state.Agent
	}
	last.Status, last.Reason, last.Prompt, last.LoginURL = runtime.StatusStopped, runtime.ReasonLost, nil, ""
	now := r.o.Now().UTC()
	offset := rec.Base
	if at, _ := loadScreen(a.dir, rec.Life); at > offset {
		offset = at
	}
	e := &runtime.Event{
		AgentID: a.id, Type: runtime.EventStopped, Time: now, Source: runtime.SourceExit, Reason: runtime.ReasonLost, Agent: last,
	}
	e.Agent.Handle = runtime.Handle{ID: a.id}
	if err := r.events.Append(e, 0); err != nil {
		r.o.Logger.Error("an event is not stored", "agent", a.id, "event", string(e.Type), "error", err)
	}
	last.Seq = e.Seq
	if err := a.log.Write(runtime.LogLine{Timestamp: now, Stream: runtime.StreamEvent, Line: describe(e)}); err != nil {
		r.o.Logger.Warn("a line of the log is lost", "agent", a.id, "error", err)
	}
	a.log.Rest()
	a.stopped(last, nil, offset, now, r.o.Logger)
}

// Recover implements runtime.Runtime.
func (r *Runtime) Recover(ctx context.Context, handles []runtime.Handle) ([]runtime.Recovered, error) {
	leave, err := r.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	out := make([]runtime.Recovered, len(handles))
	slots := make(chan struct{}, adoptAtOnce)
	var group sync.WaitGroup
	for i, h := range handles {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			out[i].Handle = runtime.Handle{ID: h.ID, Data: h.Data}
			agent, err := r.recover(ctx, h)
			if err != nil {
				out[i].Error = runtime.AsError(err)
				return
			}
			out[i].Agent, out[i].Handle = &agent, agent.Handle
		})
	}
	group.Wait()
	return out, nil
}

// recover finds one agent.
func (r *Runtime) recover(ctx context.Context, h runtime.Handle) (runtime.Agent, error) {
	if !validID.MatchString(h.ID) {
		return runtime.Agent{}, runtime.Errorf(runtime.CodeInvalidHandle, "%q is not the id of an agent", h.ID)
	}
	turn, cancel := context.WithTimeout(ctx, seekMost) // one that is being started does not keep the answer about the others waiting
	defer cancel()
	a, err := r.claim(turn, h.ID)
	if err != nil {
		return runtime.Agent{}, err
	}
	defer a.release()
	a.mu.Lock()
	known := a.rec.Life > 0
	a.mu.Unlock()
	if known && (!a.sought() || a.lastSession() != nil) {
		return a.view(), nil
	}
	if !known {
		if err := r.unpack(ctx, a, h); err != nil {
			r.mu.Lock()
			delete(r.agents, a.id)
			r.mu.Unlock()
			a.mu.Lock()
			a.gone = true
			a.mu.Unlock()
			return runtime.Agent{}, err
		}
	}
	if a.lastSession() == nil {
		if err := r.lookFor(a, func() error { return r.adopt(ctx, a) }); err != nil {
			return runtime.Agent{}, errUnreachable(h.ID)
		}
	}
	return a.view(), nil
}

// unpack makes a record of a handle when StateDir knows nothing. NOT_FOUND when the process is gone.
func (r *Runtime) unpack(ctx context.Context, a *agent, h runtime.Handle) error {
	if len(h.Data) == 0 {
		return runtime.NotFound(h.ID)
	}
	rec, err := openHandle(h)
	if err != nil {
		return err
	}
	proc, err := r.o.Launcher.Find(ctx, rec.Process)
	if errors.Is(err, ErrGone) {
		return runtime.NotFound(h.ID)
	}
	if err != nil {
		return launchError(r, h.ID, "find", err)
	}
	_ = proc.Close()
	rec.Cols, rec.Rows = firstSize(&rec.Spec)
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return launchError(r, h.ID, "store", err)
	}
	return a.update(func(stored *record) { *stored = *rec })
}
