package agentcli

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/internal/durable"
	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	launchTimeout       = 5 * time.Minute // of a start; images may have to be fetched
	defaultReadyTimeout = runtime.DefaultReadyTimeout
)

// Spawn implements runtime.Runtime.
func (r *Runtime) Spawn(ctx context.Context, spec runtime.Spec) (runtime.Agent, error) {
	if err := r.o.checkSpec(&spec); err != nil {
		return runtime.Agent{}, err
	}
	adapter, err := r.adapter(&spec)
	if err != nil {
		return runtime.Agent{}, err
	}
	return r.outlive(ctx, func(ctx context.Context) (runtime.Agent, error) { return r.spawn(ctx, spec, adapter) })
}

// outlive runs a start on a goroutine of its own: a caller that goes away does not leave it half done.
func (r *Runtime) outlive(ctx context.Context, start func(context.Context) (runtime.Agent, error)) (runtime.Agent, error) {
	leave, err := r.enter()
	if err != nil {
		return runtime.Agent{}, err
	}
	type result struct {
		agent runtime.Agent
		err   error
	}
	done := make(chan result, 1)
	go func() {
		defer leave()
		ctx, cancel := context.WithTimeout(r.ctx, launchTimeout)
		defer cancel()
		agent, err := start(ctx)
		done <- result{agent, err}
	}()
	select {
	case res := <-done:
		return res.agent, res.err
	case <-ctx.Done():
		e := runtime.Errorf(runtime.CodeTimeout, "the start goes on and was not waited for")
		e.Hint = "the same call again returns the agent"
		return runtime.Agent{}, e
	}
}

// adapter returns what knows the type of a spec. UNKNOWN_TYPE.
func (r *Runtime) adapter(spec *runtime.Spec) (Adapter, error) {
	if spec.Declared != nil {
		return newDeclared(spec.Type, *spec.Declared)
	}
	if a := r.adapters[spec.Type]; a != nil {
		return a, nil
	}
	e := runtime.Errorf(runtime.CodeUnknownType, "%q is not an agent type of this runtime", spec.Type)
	e.Field = "type"
	e.Hint = "it knows " + strings.Join(r.types, ", ")
	return nil, e
}

// spawn starts an agent, or returns the one that runs with an equal spec.
func (r *Runtime) spawn(ctx context.Context, spec runtime.Spec, adapter Adapter) (runtime.Agent, error) {
	a, err := r.claim(ctx, spec.ID)
	if err != nil {
		return runtime.Agent{}, err
	}
	defer a.release()
	if a.running() {
		if a.session() == nil {
			return runtime.Agent{}, errUnreachable(spec.ID)
		}
		same, err := a.isOf(&spec)
		if err != nil {
			r.o.Logger.Error("the agent cannot be stored", "agent", a.id, "error", err)
		}
		if same {
			return a.view(), nil
		}
		return runtime.Agent{}, runtime.Errorf(runtime.CodeAlreadyExists, "agent %q runs already with another spec", spec.ID)
	}
	if err := forgetInputs(a.dir); err != nil { // of an earlier agent with the same id
		r.o.Logger.Error("the inputs of an earlier agent are not removed", "agent", a.id, "error", err)
		return runtime.Agent{}, runtime.Errorf(runtime.CodeSpawnFailed, "what is stored of an earlier agent %q is in the way", spec.ID)
	}
	a.mu.Lock()
	rec := record{Version: recordVersion, Spec: spec, Life: a.rec.Life, Base: a.rec.Base}
	fresh := a.rec.Life == 0
	a.mu.Unlock()
	rec.Agent = newAgent(&spec, r.o.Now().UTC())
	if fresh {
		r.mu.Lock()
		delete(r.left, a.id) // what is noted of an earlier start is no more when this one is
		r.mu.Unlock()
		if err := r.announce(a); err != nil {
			r.o.Logger.Error("the agent cannot be stored", "agent", a.id, "error", err)
			r.forget(a)
			return runtime.Agent{}, runtime.Errorf(runtime.CodeSpawnFailed, "the agent cannot be stored, so it was not started")
		}
	}
	if err := r.start(ctx, a, &rec, adapter, spec.Resume); err != nil {
		if fresh {
			r.forget(a)
		}
		return runtime.Agent{}, err
	}
	return a.view(), nil
}

// announce stores that an agent is about to get a room: a process that ends before it has a record leaves one that is removed.
func (r *Runtime) announce(a *agent) error {
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return err
	}
	if err := unstarted(a.id).save(a.dir, r.by); err != nil {
		return err
	}
	return durable.SyncDir(r.root())
}

// claim returns the agent of an id, new if need be, with its turn held.
func (r *Runtime) claim(ctx context.Context, id string) (*agent, error) {
	for {
		r.mu.Lock()
		a := r.agents[id]
		if a == nil {
			a = newAgentEntry(r.root(), id, r.by, nil)
			r.agents[id] = a
		}
		r.mu.Unlock()
		if err := a.acquire(ctx); err != nil {
			return nil, runtime.Errorf(runtime.CodeTimeout, "agent %q is being started or stopped", id)
		}
		a.mu.Lock()
		gone := a.gone
		a.mu.Unlock()
		if !gone {
			return a, nil
		}
		a.release()
	}
}

// maxLeft bounds how many more rooms are tried again to be removed. Those beyond it are removed after the next start.
const maxLeft = 1024

// forget removes an agent whose first start failed: nothing of it is left. Where its room cannot be removed now, that is tried
// again, and that it is to be is stored until then: for the next process, if this one ends before. The agent's turn is held.
func (r *Runtime) forget(a *agent) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), cleanTimeout)
	defer cancel()
	if err := r.discard(ctx, a); err != nil {
		r.o.Logger.Warn("the room of an agent that did not start is not removed yet", "agent", a.id, "error", err)
	}
}

// discard removes the room of an agent that did not start, and then what is stored of it. The agent's turn is held, and the agent
// is found until the end: one of the same id that starts anew shares its folder, and waits for that.
func (r *Runtime) discard(ctx context.Context, a *agent) error {
	r.mu.Lock()
	again := r.left[a.id]
	r.mu.Unlock()
	err := r.o.Launcher.Remove(ctx, a.id)
	if err != nil {
		a.putAway()
		if !again {
			// The record of the start would have the next process look for an agent that was refused, and may run elsewhere by now.
			if err := r.announce(a); err != nil {
				r.o.Logger.Error("it is not stored that an agent did not start", "agent", a.id, "error", err)
			}
		}
	} else if err := a.remove(); err != nil {
		r.o.Logger.Warn("what is stored of an agent that did not start is not removed", "agent", a.id, "error", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.agents[a.id] == a {
		delete(r.agents, a.id)
	}
	switch {
	case err == nil:
		delete(r.left, a.id)
	case len(r.left) < maxLeft:
		r.left[a.id] = true
	}
	return err
}

// removeLeft tries again to remove the rooms of agents that did not start, in any order, until one cannot be removed: most often
// nothing answers then, and the others are tried the next time.
func (r *Runtime) removeLeft(ctx context.Context) {
	r.mu.Lock()
	ids := slices.Collect(maps.Keys(r.left))
	r.mu.Unlock()
	for _, id := range ids {
		if !r.removeRoom(ctx, id) {
			return
		}
	}
}

// removeRoom removes the room of an agent that did not start, unless one of its id was started since, and reports whether there is
// nothing more to do.
func (r *Runtime) removeRoom(ctx context.Context, id string) bool {
	ctx, cancel := context.WithTimeout(ctx, cleanTimeout)
	defer cancel()
	a, err := r.claim(ctx, id)
	if err != nil {
		return false
	}
	defer a.release()
	a.mu.Lock()
	started := a.rec.Life > 0
	a.mu.Unlock()
	if !started {
		return r.discard(ctx, a) == nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.left, id)
	return true
}

// reserve counts one more agent that runs. RESOURCE_LIMIT.
func (r *Runtime) reserve() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.o.MaxAgents > 0 && r.running >= r.o.MaxAgents {
		return &runtime.Error{
			Code: runtime.CodeResourceLimit, Retry: true, Hint: "stop an agent, or raise the limit",
			Message: "as many agents run as this runtime may have",
		}
	}
	r.running++
	return nil
}

func (r *Runtime) unreserve() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
}

// start begins a new life of an agent. The caller holds its turn, and nothing of it runs.
func (r *Runtime) start(ctx context.Context, a *agent, rec *record, adapter Adapter, resume string) (err error) {
	if err := r.reserve(); err != nil {
		return err
	}
	a.mu.Lock()
	was, stored := a.rec, false
	a.mu.Unlock()
	defer func() {
		if err != nil {
			r.unreserve()
		}
		if err != nil && stored {
			r.restore(a, was)
		}
	}()
	spec := rec.Spec
	spec.Limits = cmp.Or(spec.Limits, r.o.Limits)
	room, err := r.o.Launcher.Prepare(ctx, &spec)
	if err != nil {
		return launchError(r, a.id, stepStart, err)
	}
	life := Life{Resume: resume, SessionID: newUUID()}
	var session []File
	notice := ""
	switch {
	case resume == "":
	case rec.Agent.SessionID == resume: // its own, which its room has unless that is another one
		session, notice = r.takeCopy(ctx, a, rec, adapter, resume, room)
	default:
		session, notice = r.takeSession(ctx, &spec, adapter, resume, room)
	}
	rec.Notice = cmp.Or(rec.Notice, notice)
	life.Moved = len(session) > 0
	plan, err := adapter.Plan(&spec, room, life)
	if err != nil {
		return launchError(r, a.id, stepStart, err)
	}
	plan.Files = append(plan.Files, session...)
	rec.Plan, rec.Life, rec.Process, rec.Exit, rec.Stopped = plan, rec.Life+1, nil, nil, time.Time{}
	rec.Room = roomRecord{Home: room.Home, Workdir: room.Workdir, Temp: room.Temp, Hook: room.Hook}
	rec.Cols, rec.Rows = firstSize(&spec)
	rec.Started, rec.Former = r.o.Now().UTC(), r.before(ctx, a)
	rec.Agent.Status, rec.Agent.Reason, rec.Agent.Workdir = runtime.StatusStarting, rec.Notice, room.Workdir
	rec.Agent.ExitCode, rec.Agent.Prompt, rec.Agent.LoginURL = nil, nil, ""
	rec.Agent.SessionID = cmp.Or(plan.SessionID, resume)
	stored = true
	if err := r.storeStart(a, rec); err != nil {
		r.o.Logger.Error("the agent cannot be stored", "agent", a.id, "error", err)
		return runtime.Errorf(runtime.CodeSpawnFailed, "the agent cannot be stored, so it was not started")
	}
	proc, err := r.o.Launcher.Launch(ctx, Command{
		Spec: &spec, Room: room, Path: plan.Path, Args: plan.Args, Env: composeEnv(room.Env, plan.Env, spec.Env), Files: plan.Files,
		Cols: rec.Cols, Rows: rec.Rows, Mounts: plan.Mounts, ReadOnly: plan.ReadOnly,
	})
	if err != nil {
		return launchError(r, a.id, stepStart, err)
	}
	info := proc.Info()
	rec.Process = proc.Handle()
	rec.Agent.PID, rec.Agent.ContainerID, rec.Agent.PodName = info.PID, info.ContainerID, info.PodName
	if err := a.update(func(stored *record) { *stored = *rec }); err != nil {
		// Without a record nobody would find it again: it must not run.
		kill, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
		defer cancel()
		err = errors.Join(err, proc.Kill(kill), proc.Close())
		r.o.Logger.Error("the agent that runs cannot be stored", "agent", a.id, "error", err)
		return runtime.Errorf(runtime.CodeSpawnFailed, "the agent cannot be stored, so it was ended")
	}
	s := newSession(r, a, rec.Spec, rec, proc)
	s.resumes = resume != ""
	s.driver = adapter.NewDriver(plan, room, host{s})
	s.begun(plan, rec.Notice)
	r.launchSession(a, s)
	return nil
}

// restore stores what an agent was before a start that failed: the next process would take it for one that was cut short.
func (r *Runtime) restore(a *agent, was record) {
	if was.Life == 0 {
		return // it is forgotten
	}
	if err := a.update(func(stored *record) { *stored = was }); err != nil {
		r.o.Logger.Error("it is not stored that an agent did not start again", "agent", a.id, "error", err)
	}
}

// storeStart writes what a start needs, before anything runs.
func (r *Runtime) storeStart(a *agent, rec *record) error {
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		return err
	}
	for _, name := range []string{stateFile, screenFile, clearFile} {
		if err := os.Remove(filepath.Join(a.dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if err := rec.save(a.dir, r.by); err != nil {
		return err
	}
	return durable.SyncDir(r.root())
}

func firstSize(spec *runtime.Spec) (cols, rows int) {
	return clampSize(cmp.Or(spec.Cols, defaultCols), cmp.Or(spec.Rows, defaultRows))
}

// launchError is what a caller gets to see of a launcher's error. Step is a verb.
func launchError(r *Runtime, id, step string, err error) error {
	if e, ok := errors.AsType[*runtime.Error](err); ok {
		return e
	}
	r.o.Logger.Error("the launcher failed", "agent", id, "step", step, "error", err)
	code := runtime.CodeInternal
	if step == stepStart {
		code = runtime.CodeSpawnFailed
	}
	return runtime.Errorf(code, "the runtime cannot %s agent %q: its log tells why", step, id)
}

const stepStart = "start"

// launchSession makes a session the agent's life, and runs it.
func (r *Runtime) launchSession(a *agent, s *session) {
	a.mu.Lock()
	a.live = s
	a.mu.Unlock()
	s.freed, s.missing = r.unreserve, r.seek
	s.anew = func() { r.startAnew(a) }
	s.background = r.group.Go
	s.copies.take = r.liveCopier(a, s)
	r.group.Go(func() {
		s.run()
		r.copySession(r.ctx, a)
	})
}

// begun reports that the process runs, and waits for it to get ready. It runs before the loop does.
func (s *session) begun(plan Plan, notice string) {
	s.emit(runtime.Event{Type: runtime.EventStarted, Source: runtime.SourceHost, Reason: notice})
	s.store()
	s.waitReady(plan.ReadyTimeout)
	s.after(pauseAfter, s.pause) // a command that shows nothing is looked at as well
}

func (s *session) waitReady(timeout time.Duration) {
	if timeout <= 0 {
		timeout = defaultReadyTimeout
	}
	left := timeout - s.o.Now().Sub(s.started)
	s.readyTimer = s.after(min(max(left, time.Second), timeout), s.notReady)
}

// waitReadyAnew bounds the rest of a start in whose way a question stood: how long that took does not count.
func (s *session) waitReadyAnew() {
	if s.readyTimer != nil {
		s.readyTimer()
	}
	timeout := s.plan.ReadyTimeout
	if timeout <= 0 {
		timeout = defaultReadyTimeout
	}
	s.readyTimer = s.after(timeout, s.notReady)
}

// Stop implements runtime.Runtime.
func (r *Runtime) Stop(ctx context.Context, id string, opts runtime.StopOptions) error {
	a, err := r.get(id)
	if err != nil {
		return err
	}
	s := a.session()
	if s == nil && !a.running() {
		// It has stopped, or is about to start: whoever starts it holds its turn.
		if err := a.acquire(ctx); err != nil {
			return runtime.Errorf(runtime.CodeTimeout, "agent %q is being started or stopped", id)
		}
		s = a.session()
		a.mu.Lock()
		known := a.rec.Life > 0 && !a.gone
		a.mu.Unlock()
		a.release()
		if !known {
			return runtime.NotFound(id) // it did not start, or was removed
		}
	}
	switch {
	case s != nil:
		return s.end(ctx, opts)
	case a.running(), a.sought():
		return errUnreachable(id)
	default:
		return nil
	}
}

// Restart implements runtime.Runtime.
func (r *Runtime) Restart(ctx context.Context, id string, opts runtime.RestartOptions) (runtime.Agent, error) {
	if _, err := r.get(id); err != nil {
		return runtime.Agent{}, err
	}
	return r.outlive(ctx, func(ctx context.Context) (runtime.Agent, error) { return r.restart(ctx, id, opts) })
}

func (r *Runtime) restart(ctx context.Context, id string, opts runtime.RestartOptions) (runtime.Agent, error) {
	a, err := r.get(id)
	if err != nil {
		return runtime.Agent{}, err
	}
	if err := a.acquire(ctx); err != nil {
		return runtime.Agent{}, runtime.Errorf(runtime.CodeTimeout, "agent %q is being started or stopped", id)
	}
	defer a.release()
	if a.gone {
		return runtime.Agent{}, runtime.NotFound(id)
	}
	a.mu.Lock()
	partial := a.rec.Partial
	a.mu.Unlock()
	if partial {
		return runtime.Agent{}, errPartial(id) // before it is ended
	}
	if s := a.session(); s != nil {
		if err := s.end(ctx, runtime.StopOptions{}); err != nil {
			return runtime.Agent{}, err
		}
	}
	a.mu.Lock()
	rec := a.rec
	a.mu.Unlock()
	if rec.running() {
		return runtime.Agent{}, errUnreachable(id)
	}
	adapter, err := r.adapter(&rec.Spec)
	if err != nil {
		return runtime.Agent{}, err
	}
	resume := cmp.Or(rec.Agent.SessionID, rec.Spec.Resume)
	if opts.Fresh {
		if resume != "" {
			rec.Notice = noticeAsked
		}
		resume = ""
	}
	if err := r.start(ctx, a, &rec, adapter, resume); err != nil {
		return runtime.Agent{}, err
	}
	return a.view(), nil
}
