package agentcli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/agentcli/internal/agentlog"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// agent is one agent through all its lives: its record, its log, and the session of the life that runs. Safe
// for concurrent use.
type agent struct {
	id  string
	dir string
	log *agentlog.Log
	by  *sealer // of what is stored
	// turn is held by whoever starts, stops or removes the agent; capacity 1.
	turn chan struct{}

	copying sync.Mutex // held while a copy of the session is stored

	mu   sync.Mutex // guards all below
	rec  record
	live *session // nil: stopped
	gone bool     // removed: whoever waited for turn looks again
}

func newAgentEntry(root, id string, by *sealer, rec *record) *agent {
	dir := filepath.Join(root, id)
	a := &agent{id: id, dir: dir, by: by, log: agentlog.New(dir), turn: make(chan struct{}, 1)}
	if rec != nil {
		a.rec = *rec
	}
	return a
}

// acquire waits for the right to start, stop or remove the agent.
func (a *agent) acquire(ctx context.Context) error {
	select {
	case a.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (a *agent) release() { <-a.turn }

// session returns the session of the life that runs, or nil: there is none, or it is about to end because the process is out
// of reach.
func (a *agent) session() *session {
	if s := a.lastSession(); s != nil && s.public.Load().Status != runtime.StatusUnreachable {
		return s
	}
	return nil
}

// lastSession returns the session of the life that runs, also one that is about to end.
func (a *agent) lastSession() *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.live
}

// view returns the agent as callers see it.
func (a *agent) view() runtime.Agent {
	a.mu.Lock()
	s, rec := a.live, &a.rec
	if s == nil {
		defer a.mu.Unlock()
		v := rec.Agent
		v.Handle = rec.handle()
		return v
	}
	handle := rec.handle()
	a.mu.Unlock()
	v := *s.public.Load()
	v.LastActivityAt = s.activity(v.LastActivityAt)
	v.Handle = handle
	return v
}

// update changes the record and stores it.
func (a *agent) update(change func(*record)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	change(&a.rec)
	return a.rec.save(a.dir, a.by)
}

// handle returns what a later process needs to find the agent.
func (a *agent) handle() runtime.Handle {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.rec.handle()
}

// stopped stores that the life that ran has ended.
func (a *agent) stopped(last runtime.Agent, exit *runtime.Exit, offset uint64, at time.Time, logger hclog.Logger) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.live = nil
	a.rec.Agent, a.rec.Exit, a.rec.Stopped, a.rec.Process, a.rec.Base = last, exit, at, nil, offset
	if err := a.rec.save(a.dir, a.by); err != nil {
		logger.Error("the end of the agent is not stored", "error", err)
	}
}

// unreachable notes that the session ended without its process: as far as is known that runs.
func (a *agent) unreachable(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.live == s {
		a.rec.Agent, a.live = s.agent, nil
	}
}

// running reports whether a process of the agent is known, reached or not.
func (a *agent) running() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.live != nil || a.rec.running()
}

// sought reports whether a process of the agent may run that no session has: one that is recorded, or one that was about to be
// when an earlier runtime process ended.
func (a *agent) sought() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.live == nil && (a.rec.running() || a.rec.Life > 0 && a.rec.Agent.Status != runtime.StatusStopped)
}

// isOf reports whether the agent that runs was started with an equal spec. An agent that was found by its
// handle alone gets its environment back that way.
func (a *agent) isOf(spec *runtime.Spec) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.rec.Partial {
		return equalSpecs(&a.rec.Spec, spec), nil
	}
	bare := withoutSecrets(*spec)
	if !equalSpecs(&a.rec.Spec, &bare) {
		return false, nil
	}
	a.rec.Spec, a.rec.Sealed, a.rec.Partial = *spec, nil, false
	return true, a.rec.save(a.dir, a.by)
}

// remove deletes what is stored of the agent, its record last: what a crash leaves is that of an agent, which is removed again.
func (a *agent) remove() error {
	a.putAway()
	entries, err := os.ReadDir(a.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if entry.Name() != recordFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(a.dir, entry.Name())))
		}
	}
	if err != nil {
		return err
	}
	return os.RemoveAll(a.dir)
}

// putAway ends the use of an agent; what is stored of it stays.
func (a *agent) putAway() {
	a.mu.Lock()
	a.gone = true
	a.mu.Unlock()
	_ = a.log.Close()
}
