package agentcli

import (
	"context"
	"slices"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// tendEvery is how often agents that stopped long ago are looked at.
const tendEvery = 10 * time.Second

// seekAgain is how often agents that are out of reach are looked for, and seekMost how long one may take.
const (
	seekAgain = 2 * time.Second
	seekMost  = 10 * time.Second
)

// seekAfter is how long after an agent got out of reach it is looked for the first time.
const seekAfter = 250 * time.Millisecond

// Prune implements runtime.Runtime.
func (r *Runtime) Prune(ctx context.Context, opts runtime.PruneOptions) (runtime.PruneReport, error) {
	report := runtime.PruneReport{Removed: []string{}, Stopped: []string{}, Left: []string{}}
	leave, err := r.enter()
	if err != nil {
		return report, err
	}
	defer leave()
	now := r.o.Now()
	for _, a := range r.all() {
		a.mu.Lock()
		rec, live := a.rec, a.live
		a.mu.Unlock()
		if rec.Life == 0 || rec.Spec.Installation != opts.Installation || slices.Contains(opts.Keep, a.id) {
			continue
		}
		if rec.running() || live != nil {
			if now.Sub(rec.Started) < opts.Grace {
				report.Left = append(report.Left, a.id)
				continue
			}
			report.Stopped = append(report.Stopped, a.id)
		}
		report.Removed = append(report.Removed, a.id)
		if opts.DryRun {
			continue
		}
		if live != nil {
			if err := live.end(ctx, runtime.StopOptions{}); err != nil {
				return report, err
			}
		}
		if _, err := r.remove(ctx, a, func(*record) bool { return true }); err != nil {
			return report, err
		}
	}
	if opts.DryRun {
		return report, nil
	}
	// Also of agents that were removed before, by Prune or since they stopped long ago.
	if _, err := r.events.Remove(func(id string) bool { return !slices.Contains(opts.Keep, id) && !r.known(id) }); err != nil {
		r.o.Logger.Error("the events of agents that were removed are still on disk", "error", err)
		return report, runtime.Errorf(runtime.CodeInternal, "the events of agents that were removed cannot be taken out of the file of events")
	}
	return report, nil
}

// known reports whether there is an agent of an id, running or stopped.
func (r *Runtime) known(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.agents[id] != nil
}

// remove deletes a stopped agent and its room, if it is still to be deleted once it is this call's turn.
func (r *Runtime) remove(ctx context.Context, a *agent, still func(*record) bool) (bool, error) {
	if err := a.acquire(ctx); err != nil {
		return false, runtime.Errorf(runtime.CodeTimeout, "agent %q is being started or stopped", a.id)
	}
	defer a.release()
	a.mu.Lock()
	skip := a.gone || a.live != nil || !still(&a.rec)
	a.mu.Unlock()
	if skip {
		return false, nil
	}
	if err := r.o.Launcher.Remove(ctx, a.id); err != nil {
		return false, launchError(r, a.id, "remove", err)
	}
	r.mu.Lock()
	if r.agents[a.id] == a {
		delete(r.agents, a.id)
	}
	r.mu.Unlock()
	if err := a.remove(); err != nil {
		r.o.Logger.Error("what is stored of an agent is not removed", "agent", a.id, "error", err)
		return false, runtime.Errorf(runtime.CodeInternal, "what is stored of agent %q cannot be removed", a.id)
	}
	return true, nil
}

// tend looks after the agents until the runtime closes: those that stopped long ago are removed, those that
// could not be reached are looked for again.
func (r *Runtime) tend() {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	again := time.NewTicker(seekAgain)
	defer again.Stop()
	r.copySessions(r.ctx) // of agents that ended while no runtime was there
	for {
		select {
		case <-r.ctx.Done():
			return
		case <-tick.C:
			r.retire(r.ctx)
			r.copySessions(r.ctx)
		case <-again.C:
			r.adoptMissing(r.ctx)
			r.removeLeft(r.ctx)
		case <-r.sought:
			select { // a moment later: what broke the connection may still be about
			case <-r.ctx.Done():
				return
			case <-time.After(seekAfter):
			}
			r.adoptMissing(r.ctx)
		}
	}
}

// seek has agents that are out of reach looked for soon.
func (r *Runtime) seek() {
	select {
	case r.sought <- struct{}{}:
	default: // it is about to
	}
}

// retire removes agents that have been stopped for long.
func (r *Runtime) retire(ctx context.Context) {
	old := func(rec *record) bool {
		return !rec.running() && !rec.Stopped.IsZero() && r.o.Now().Sub(rec.Stopped) >= r.o.KeepStopped
	}
	for _, a := range r.all() {
		a.mu.Lock()
		due := a.live == nil && old(&a.rec)
		a.mu.Unlock()
		if !due {
			continue
		}
		if _, err := r.remove(ctx, a, old); err != nil && ctx.Err() == nil {
			r.o.Logger.Warn("an agent that stopped long ago is not removed", "agent", a.id, "error", err)
		}
	}
}
