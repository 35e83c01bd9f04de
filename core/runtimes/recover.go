package runtimes

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// recover finds the agents of a runtime again, after a start of ours or of the runtime. An agent that the runtime
// has no trace of is lost; one that should have stopped meanwhile, or was given up, is stopped.
func (s *Service) recover(ctx context.Context, src *source) error {
	var handles []runtime.Handle
	s.mu.RLock()
	for _, id := range s.ordered {
		r := s.agents[id]
		if r.Runtime == src.Name && (!r.Gone() || r.GivenUp) && s.pending[id] == nil {
			handles = append(handles, handle(r))
		}
	}
	s.mu.RUnlock()
	if len(handles) == 0 {
		return nil
	}
	asking, cancel := s.within(ctx, settleTime)
	found, err := src.Runtime.Recover(asking, handles)
	late := asking.Err() != nil && ctx.Err() == nil
	cancel()
	if late && err != nil {
		s.log.Warn("a runtime does not answer about its agents together; each is asked for", "runtime", src.Name, "agents", len(handles))
		return s.recoverEach(ctx, src, handles)
	}
	if err != nil {
		return err
	}
	for i, f := range found {
		if i >= len(handles) {
			break
		}
		if err := s.recovered(ctx, src, handles[i].ID, f); err != nil {
			return err
		}
	}
	s.log.Info("agents were looked for", "runtime", src.Name, "agents", len(handles))
	return nil
}

// recoverEach is recover by one question an agent. Those about which the runtime does not answer are away; an error if it answers
// about none.
func (s *Service) recoverEach(ctx context.Context, src *source, handles []runtime.Handle) error {
	var group sync.WaitGroup
	slots, failed := make(chan struct{}, settleAtOnce), make(chan error, len(handles))
	var answered atomic.Bool
	for _, h := range handles {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			one, cancel := s.within(ctx, settleOne)
			defer cancel()
			found, err := src.Runtime.Recover(one, []runtime.Handle{h})
			if err != nil || len(found) != 1 {
				s.setAway(h.ID, true)
				return
			}
			answered.Store(true)
			failed <- s.recovered(ctx, src, h.ID, found[0])
		})
	}
	group.Wait()
	close(failed)
	if !answered.Load() {
		return runtime.Errorf(runtime.CodeTimeout, "the runtime does not answer about its agents")
	}
	var all error
	for err := range failed {
		all = errors.Join(all, err)
	}
	return all
}

// within returns a context that ends after d by the clock of the service.
func (s *Service) within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	timer := s.opts.Clock.AfterFunc(d, cancel)
	return ctx, func() {
		timer.Stop()
		cancel()
	}
}

// about reports whether an answer of a runtime is about an agent, and about no other: the answers have the order of the question,
// which a runtime may have got wrong.
func about(f runtime.Recovered, id string) bool {
	switch {
	case f.Handle.ID != "" && f.Handle.ID != id:
		return false
	case f.Agent != nil:
		return f.Agent.ID == id
	}
	return f.Error != nil
}

// recovered stores what became of one agent.
func (s *Service) recovered(ctx context.Context, src *source, id string, f runtime.Recovered) error {
	if !about(f, id) {
		f = runtime.Recovered{Error: runtime.Errorf(runtime.CodeInternal, "the runtime answered with another agent, or with nothing")}
	}
	if f.Error != nil && f.Error.Code != runtime.CodeNotFound && f.Error.Code != runtime.CodeInvalidHandle {
		// The others, and the runtime, are not to suffer for it.
		s.log.Warn("an agent could not be recovered yet", "agent", id, "error", f.Error)
		s.setAway(id, true)
		return nil
	}
	s.setAway(id, false)
	now := s.opts.Clock.Now()
	r, err := s.change(ctx, id, func(r *core.ManagedAgentRecord) ([]core.Event, bool) {
		over := r.GivenUp
		r.GivenUp = false
		if f.Agent != nil {
			// The events of what it did meanwhile follow in the stream; the record knows it already. A runtime that
			// lost its state counts from 1 again, so what was seen before does not count any more.
			r.SnapshotSeq = f.Agent.Seq
			take(r, f.Agent, now)
			return nil, true
		}
		if over { // its end is stored already
			return nil, true
		}
		lose(r, runtime.ReasonLost, now)
		return s.stopped(r, now), true
	})
	if err == nil && !r.Gone() && r.Wanted && ruled(r) { // we went down before it was given
		s.answerRuled(id, *r.Ruling)
	}
	if err != nil || r.Gone() || r.Wanted {
		return err
	}
	// A stop was under way when we or the runtime went down.
	s.wg.Go(func() { // within a goroutine that Close waits for
		err := src.Runtime.Stop(s.ctx, id, runtime.StopOptions{})
		if err != nil && runtime.ErrorCode(err) != runtime.CodeNotFound && s.ctx.Err() == nil {
			s.log.Warn("an agent could not be stopped yet", "agent", id, "error", err)
			s.setAway(id, true)
		}
	})
	return nil
}

// stopped returns the events of the end of an agent of which its runtime has none.
func (s *Service) stopped(r *core.ManagedAgentRecord, now time.Time) []core.Event {
	return s.withNotice(r, core.Event{
		Type: core.EventManagedStopped, Time: now, Subject: r.ID, By: causeOf(r, core.EventManagedStopped),
		Data: encode(eventData{AgentID: r.ID, Status: r.Status, Source: runtime.SourceHost, Reason: r.StatusReason, OccurredAt: now}),
	})
}

// setAway notes whether an agent is out of reach of its runtime.
func (s *Service) setAway(id string, away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if away {
		s.away[id] = true
		return
	}
	delete(s.away, id)
}

// isAway reports whether an agent is out of reach of its runtime.
func (s *Service) isAway(id string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.away[id]
}
