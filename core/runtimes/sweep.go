package runtimes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// sweepOften removes what is not kept any more, every now and then.
func (s *Service) sweepOften() {
	for pause.For(s.ctx, s.opts.Clock, sweepInterval) {
		if err := s.Sweep(s.ctx); err != nil && s.ctx.Err() == nil {
			s.log.Warn("old agents were not removed", "error", err)
		}
	}
}

// Sweep removes the records of agents that stopped long ago, and has each runtime that is ready remove what is
// left of agents that we do not know: their rooms, and orphans that run longer than the grace time.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.opts.Clock.Now()
	var old, unsure []string
	s.mu.RLock()
	for _, id := range s.ordered {
		r := s.agents[id]
		if s.forgettable(r) {
			old = append(old, id)
			continue
		}
		if s.away[id] || r.Status == core.ManagedStarting && r.PID == 0 && r.ContainerID == "" && r.PodName == "" &&
			s.pending[id] == nil && now.Sub(r.CreatedAt) > unsureTime {
			unsure = append(unsure, id)
		}
	}
	s.mu.RUnlock()
	for _, id := range old {
		if err := s.forgetOld(ctx, id); err != nil {
			return err
		}
	}
	if err := s.settleUnsure(ctx, unsure); err != nil {
		return err
	}
	var failed error // the first: a runtime that cannot remove what is left is not to keep the others from it
	for _, src := range s.configured() {
		if ready, _ := src.ready(); !ready {
			continue
		}
		if err := s.prune(ctx, src); err != nil && runtime.ErrorCode(err) != runtime.CodeUnimplemented && failed == nil {
			failed = fmt.Errorf("runtime %s: %w", src.Name, core.AsError(translate(err, nil)))
		}
	}
	return failed
}

// prune has a runtime remove all that it has of agents that have no record here.
func (s *Service) prune(ctx context.Context, src *source) error {
	var keep []string
	s.mu.RLock()
	for _, id := range s.ordered {
		if s.agents[id].Runtime == src.Name {
			keep = append(keep, id)
		}
	}
	s.mu.RUnlock()
	report, err := src.Runtime.Prune(ctx, runtime.PruneOptions{Installation: s.opts.Installation, Keep: keep, Grace: s.opts.OrphanGrace})
	if err == nil && len(report.Stopped) > 0 {
		s.log.Warn("agents that are not known here were stopped", "runtime", src.Name, "agents", report.Stopped)
	}
	return err
}

// PruneRuntime has a runtime remove all that it has of agents that have no record here: their directories, logs and events.
// left says why that cannot be had of this runtime, which waiting does not change. An error while it is not ready.
func (s *Service) PruneRuntime(ctx context.Context, name string) (left string, err error) {
	src := s.source(name)
	if src == nil {
		return "it is not configured any more", nil
	}
	if ready, reason := src.ready(); !ready {
		return "", core.Unavailable("runtime_unavailable", "the runtime %s is not ready: %s", name, reason)
	}
	if err := s.prune(ctx, src); err != nil {
		if runtime.ErrorCode(err) == runtime.CodeUnimplemented {
			return "it removes nothing when it is asked to", nil
		}
		return "", core.AsError(translate(err, nil))
	}
	return "", nil
}

// forgettable reports whether the record of an agent is not kept any more. The caller holds mu.
func (s *Service) forgettable(r *core.ManagedAgentRecord) bool {
	return r.StoppedAt != nil && s.opts.Older(*r.StoppedAt, s.opts.KeepStopped) && s.pending[r.ID] == nil && s.restarting[r.ID] == 0
}

// forgetOld removes the record of an agent, unless it was started again meanwhile.
func (s *Service) forgetOld(ctx context.Context, id string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.RLock()
	r, ok := s.agents[id]
	ok = ok && s.forgettable(r)
	s.mu.RUnlock()
	if !ok {
		return nil
	}
	return s.remove(ctx, id)
}

// askSoon has askOften look now.
func (s *Service) askSoon() { pause.Wake(s.asks) }

// askOften looks for agents that cannot be reached, every few seconds while there are any.
func (s *Service) askOften() {
	for {
		due := make(chan struct{})
		timer := s.opts.Clock.AfterFunc(askInterval, func() { close(due) })
		select {
		case <-s.ctx.Done():
			timer.Stop()
			return
		case <-due:
		case <-s.asks:
			timer.Stop()
		}
		s.mu.RLock()
		away := slices.Sorted(maps.Keys(s.away))
		s.mu.RUnlock()
		if err := s.settleUnsure(s.ctx, away); err != nil && s.ctx.Err() == nil {
			s.log.Warn("agents that cannot be reached were not looked for", "error", err)
		}
	}
}

// Bounds of questions about agents that could not be reached.
const (
	settleTime   = time.Minute      // for all of them together
	settleOne    = 15 * time.Second // for one
	settleAtOnce = 32               // of one runtime
)

// settleUnsure finds out about agents that could not be reached, and about those whose spawn failed in a way that
// left open whether they run, and of which nothing was heard since. They are asked about at the same time, and in any order: those about
// which a runtime does not answer keep none of the others waiting for good.
func (s *Service) settleUnsure(ctx context.Context, ids []string) error {
	asking, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
	var group sync.WaitGroup
	failed := make(chan error, len(ids))
	slots := make(map[*source]chan struct{})
	for _, id := range ids {
		r, err := s.record(id)
		if err != nil {
			continue // it was removed meanwhile
		}
		src := s.source(r.Runtime)
		if src == nil {
			continue
		}
		if ready, _ := src.ready(); !ready {
			continue // recovery comes with the runtime
		}
		if slots[src] == nil {
			slots[src] = make(chan struct{}, settleAtOnce)
		}
		slot := slots[src]
		group.Go(func() {
			select {
			case slot <- struct{}{}:
				defer func() { <-slot }()
			case <-asking.Done():
				return
			}
			one, cancel := context.WithTimeout(asking, settleOne)
			defer cancel()
			found, err := src.Runtime.Recover(one, []runtime.Handle{handle(r)})
			if err != nil || len(found) != 1 {
				return // the next sweep tries again
			}
			failed <- s.recovered(ctx, src, id, found[0])
		})
	}
	group.Wait()
	close(failed)
	var all error
	for err := range failed {
		all = errors.Join(all, err)
	}
	return all
}

// ForgetManagedAgent removes the record of an agent that is stopped, before its time; what its runtime keeps of it goes with
// PruneRuntime, or the next look for agents that are not known. An unknown id is no error; CONFLICT while it is not stopped.
func (s *Service) ForgetManagedAgent(ctx context.Context, id string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.RLock()
	r, ok := s.agents[id]
	busy := ok && (r.StoppedAt == nil || s.pending[id] != nil || s.restarting[id] != 0)
	s.mu.RUnlock()
	switch {
	case busy:
		return core.Conflict("managed agent", id, string(r.Status), "agent %s is %s: stop it first", id, r.Status)
	case !ok:
		return nil
	}
	return s.remove(ctx, id)
}
