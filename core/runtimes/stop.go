package runtimes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"math"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// StopManagedAgent implements core.ManagedAgentService. That the agent is not wanted any more is stored first:
// a stop that a crash interrupts is finished by recovery.
func (s *Service) StopManagedAgent(ctx context.Context, id string, opts core.ManagedAgentStop) error {
	r, rt, err := s.runtimeOf(id)
	switch {
	case r != nil && r.Gone():
		return nil
	case r != nil && err != nil && opts.Force:
		return s.giveUp(context.WithoutCancel(ctx), id)
	case err != nil:
		return err
	}
	// Once begun, a stop goes on without its caller.
	grace := cmp.Or(max(opts.Grace, 0), defaultStopGrace)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+stopAnswerReserve)
	defer cancel()
	if r, err = s.want(ctx, id, false); err != nil {
		return err
	}
	// Its spawn may still be on the way to the runtime, which would find nothing to stop. Who waits for the answer
	// of that finds that the agent is not wanted any more.
	if starting, err := s.answered(ctx, id); err != nil {
		return translate(err, r)
	} else if starting {
		if r, err = s.record(id); err != nil || r.Gone() {
			return nil //nolint:nilerr // it did not start, or was stopped then
		}
	}
	_, err = s.end(ctx, rt, r, runtime.StopOptions{Grace: grace, Force: opts.Force})
	return err
}

// giveUp stores the end of an agent whose runtime is not configured any more. Once it is again, recover has it stopped there.
func (s *Service) giveUp(ctx context.Context, id string) error {
	now := s.opts.Clock.Now()
	_, err := s.change(ctx, id, func(r *core.ManagedAgentRecord) ([]core.Event, bool) {
		if r.Gone() {
			return nil, false
		}
		if r.Wanted {
			r.Wanted, r.WantedBy = false, core.PrincipalFrom(ctx).ID
		}
		lose(r, runtime.ReasonStopped, now)
		r.GivenUp = true
		return s.stopped(r, now), true
	})
	return err
}

// end stops an agent that is not wanted any more, and stores how that went.
func (s *Service) end(ctx context.Context, rt runtime.Runtime, r *core.ManagedAgentRecord, opts runtime.StopOptions) (*core.ManagedAgentRecord, error) {
	err := rt.Stop(ctx, r.ID, opts)
	if err != nil && runtime.ErrorCode(err) != runtime.CodeNotFound {
		return nil, translate(err, r)
	}
	a, inspectErr := rt.Inspect(ctx, r.ID)
	now := s.opts.Clock.Now()
	return s.change(ctx, r.ID, func(r *core.ManagedAgentRecord) ([]core.Event, bool) {
		switch {
		case r.Gone():
			return nil, false // its event was faster
		case inspectErr == nil:
			take(r, &a, now)
		default:
			lose(r, runtime.ReasonStopped, now)
		}
		return nil, true
	})
}

// want stores whether the agent is to run.
func (s *Service) want(ctx context.Context, id string, wanted bool) (*core.ManagedAgentRecord, error) {
	return s.change(ctx, id, func(r *core.ManagedAgentRecord) ([]core.Event, bool) {
		return nil, wish(r, wanted, core.PrincipalFrom(ctx).ID)
	})
}

// wish notes whether an agent is to run, and reports whether that is new.
func wish(r *core.ManagedAgentRecord, wanted bool, by string) bool {
	changed := r.Wanted != wanted || wanted && r.WantedBy != by // the first who stops it does
	if changed {
		r.Wanted, r.WantedBy = wanted, by
	}
	return changed
}

// RestartManagedAgent implements core.ManagedAgentService.
func (s *Service) RestartManagedAgent(ctx context.Context, id string, opts core.ManagedAgentRestart) (*core.ManagedAgent, error) {
	r, rt, err := s.runtimeOf(id)
	if err != nil {
		return nil, err
	}
	if s.opts.Restartable != nil {
		if err := s.opts.Restartable(ctx, r); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), spawnTimeout)
	defer cancel()
	defer s.restart(id)()
	claim := core.IdempotencyFrom(ctx)
	r, again, err := s.wantRestart(ctx, id, claim)
	if err != nil {
		return nil, err
	}
	a, done := runtime.Agent{}, false
	if again {
		if a, err = rt.Inspect(ctx, id); err != nil && runtime.ErrorCode(err) != runtime.CodeNotFound {
			return nil, translate(err, r)
		}
		done = err == nil && a.Status != runtime.StatusStopped && restarted(r.Restart, &a)
	}
	if !done {
		if a, err = rt.Restart(ctx, id, runtime.RestartOptions{Fresh: opts.Fresh}); err != nil {
			return nil, translate(err, r)
		}
	}
	r, err = s.changeOnce(ctx, claim, id, func(r *core.ManagedAgentRecord) ([]core.Event, bool) {
		r.Restart = nil
		if r.SnapshotSeq == math.MaxUint64 {
			r.SnapshotSeq = 0 // it was lost, and is not any more
		}
		take(r, &a, s.opts.Clock.Now())
		return nil, true
	})
	if err != nil {
		return nil, err
	}
	return s.view(r), nil
}

// wantRestart stores that an agent is to run, and what it ran as before the restart of a claim. again reports that this was noted before:
// the outcome of that restart is not stored.
func (s *Service) wantRestart(
	ctx context.Context, id string, claim *core.IdempotencyClaim,
) (r *core.ManagedAgentRecord, again bool, err error) {
	r, err = s.change(ctx, id, func(r *core.ManagedAgentRecord) ([]core.Event, bool) {
		changed := wish(r, true, core.PrincipalFrom(ctx).ID)
		var key string
		if claim != nil {
			sum := sha256.Sum256([]byte(claim.Scope + "\n" + claim.Key + "\n" + claim.BodyHash))
			key = hex.EncodeToString(sum[:])
		}
		switch again = r.Restart != nil && r.Restart.Key == key; {
		case again:
		case claim != nil:
			r.Restart = &core.ManagedAgentRestarting{Key: key, PID: r.PID, ContainerID: r.ContainerID, PodName: r.PodName}
			changed = true
		case r.Restart != nil:
			r.Restart, changed = nil, true
		}
		return nil, changed
	})
	return r, again, err
}

// restarted reports whether an agent runs as something else than before a restart.
func restarted(before *core.ManagedAgentRestarting, a *runtime.Agent) bool {
	return a.PID != before.PID || a.ContainerID != before.ContainerID || a.PodName != before.PodName
}

// restart notes that a restart is under way, until done is called.
func (s *Service) restart(id string) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarting[id]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.restarting[id]--; s.restarting[id] == 0 {
			delete(s.restarting, id)
		}
	}
}
