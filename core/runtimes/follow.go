package runtimes

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// follow keeps in touch with one runtime until the service closes: it recovers its agents, and stores its events.
func (s *Service) follow(src *source) {
	grace := s.opts.Clock.AfterFunc(firstGrace, src.settle)
	defer grace.Stop()
	retry := pause.Backoff{First: defaultRetry, Most: maxRetry}
	for s.ctx.Err() == nil {
		worked, err := s.attend(src)
		if s.ctx.Err() != nil {
			return
		}
		if worked {
			retry.Reset()
		}
		reason := runtime.AsError(err).Message
		if src.State != nil {
			if ready, why := src.State(); !ready {
				reason = why
			}
		}
		src.set(false, reason)
		src.settle()
		s.log.Debug("runtime is not reachable", "runtime", src.Name, "error", err)
		s.pause(src, retry.Next())
	}
}

// pause waits until it is worth trying again.
func (s *Service) pause(src *source, d time.Duration) {
	due, stop := pause.After(s.opts.Clock, d)
	defer stop()
	select {
	case <-s.ctx.Done():
	case <-due:
	case <-src.Changed:
	}
}

// attend connects to the runtime and follows it until that fails. worked reports whether it got as far as events.
func (s *Service) attend(src *source) (worked bool, err error) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	if err := s.settle(ctx, src); err != nil {
		return false, err
	}
	asking, done := s.within(ctx, settleTime)
	caps, err := src.Runtime.Capabilities(asking)
	done()
	if err != nil {
		return false, err
	}
	src.setCapabilities(caps)
	retry, stuck := pause.Backoff{First: defaultRetry, Most: maxRetry}, 0
	for {
		if err := s.recover(ctx, src); err != nil {
			return worked, err
		}
		before := src.position
		opened, err := s.readEvents(ctx, src)
		worked = worked || opened
		if runtime.ErrorCode(err) != runtime.CodeLagged {
			return worked, err
		}
		// The runtime is there, and so is what it knows: it is read again at once, and work is not refused meanwhile.
		s.log.Debug("events of a runtime were missed", "runtime", src.Name, "after", src.position.Seq)
		if stuck++; src.position.Log != before.Log || src.position.Seq > before.Seq {
			stuck = 0
			retry.Reset()
		}
		if stuck < 2 {
			continue
		}
		s.pause(src, retry.Next())
		if ctx.Err() != nil {
			return worked, ctx.Err()
		}
	}
}

// readEvents stores the events of a runtime until they break off. opened reports whether they could be followed.
func (s *Service) readEvents(ctx context.Context, src *source) (opened bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := src.Runtime.Events(ctx, runtime.EventOptions{After: src.position.Seq, Log: src.position.Log})
	if err != nil {
		return false, err
	}
	defer func() { _ = stream.Close() }()
	if ready, _ := src.ready(); !ready {
		s.log.Info("runtime is ready", "runtime", src.Name)
	}
	src.set(true, "")
	src.settle()
	events := make(chan runtime.Event, applyBatch)
	failed := make(chan error, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			e, err := stream.Next()
			if err != nil {
				failed <- err
				return
			}
			select {
			case events <- e:
			case <-ctx.Done():
				failed <- ctx.Err()
				return
			}
		}
	}()
	err = s.consume(ctx, src, events, failed)
	cancel()
	_ = stream.Close()
	<-done
	return true, err
}

// consume stores events as they come, as many at once as are there.
func (s *Service) consume(ctx context.Context, src *source, events <-chan runtime.Event, failed <-chan error) error {
	batch := make([]runtime.Event, 0, applyBatch)
	for {
		batch = batch[:0]
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-events:
			batch = append(batch, e)
		case err := <-failed:
			// What came before the failure is stored first.
			for {
				select {
				case e := <-events:
					batch = append(batch, e)
					continue
				default:
				}
				break
			}
			if len(batch) > 0 {
				if applyErr := s.apply(ctx, src, batch); applyErr != nil {
					return applyErr
				}
			}
			return err
		}
		for len(batch) < applyBatch {
			select {
			case e := <-events:
				batch = append(batch, e)
				continue
			default:
			}
			break
		}
		if err := s.apply(ctx, src, batch); err != nil {
			return err
		}
	}
}

// apply stores events, what follows from them for their agents, and the position behind them, in one
// transaction. Events of agents that we do not know move the position and nothing else.
func (s *Service) apply(ctx context.Context, src *source, batch []runtime.Event) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	now := s.opts.Clock.Now()
	changed := make(map[string]*core.ManagedAgentRecord)
	fresh := make(map[string]bool) // whose prompt the policy has looked at
	ends := make(map[string]int)   // turns that ended last
	var events []core.Event
	for i := range batch {
		e := &batch[i]
		next := changed[e.AgentID]
		if next == nil {
			old, err := s.record(e.AgentID)
			if err != nil || old.Runtime != src.Name {
				continue
			}
			clone := *old
			next = &clone
		}
		e.Agent.Seq = cmp.Or(e.Agent.Seq, e.Seq)
		open := next.Prompt
		take(next, &e.Agent, now)
		if e.Type == runtime.EventTurnComplete {
			endTurn(next, e)
			ends[e.AgentID] = e.Turn
		}
		said, _ := status(&e.Agent, next.Wanted)
		ruling := left(next, open, e)
		if ruling == nil {
			ruling = s.rule(ctx, next, e)
		}
		if ruling != nil {
			next.Ruling, fresh[e.AgentID] = ruling, true
		}
		if event, ok := stored(e, said, ruling); ok {
			event.By = causeOf(next, event.Type)
			events = append(events, s.withNotice(next, event)...)
		}
		changed[e.AgentID] = next
	}
	last := &batch[len(batch)-1]
	position := core.RuntimePosition{Runtime: src.Name, Seq: last.Seq}
	if len(last.Log) <= runtime.MaxLog {
		position.Log = last.Log
	}
	show := func() {
		for _, r := range changed {
			s.put(r)
			if s.isAway(r.ID) { // its runtime hears of it again, or the event is an old one
				s.askSoon()
			}
		}
	}
	err := s.opts.Store.Update(ctx, func(tx core.Tx) error {
		for _, r := range changed {
			if err := tx.PutManagedAgent(r); err != nil {
				return err
			}
		}
		if err := tx.PutRuntimePosition(position); err != nil {
			return err
		}
		tx.AfterCommit(show)
		return tx.Append(events...)
	})
	then := func() {
		src.position = position
		s.turnsEnded(changed, ends)
		for id, r := range changed {
			if fresh[id] && ruled(r) {
				s.answerRuled(id, *r.Ruling)
			}
		}
	}
	if err != nil {
		if err = s.outcome(err, s.hasPosition(position)); err != nil {
			if errors.Is(err, core.ErrInDoubt) {
				src.doubted = &doubted{position: position, agents: changed, then: then}
			}
			return err
		}
		show()
	}
	then()
	return nil
}

// turnsEnded notes turns whose end can be read as an event from now on.
func (s *Service) turnsEnded(changed map[string]*core.ManagedAgentRecord, ends map[string]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id := range changed {
		if s.agents[id] != nil {
			s.ended[id] = max(s.ended[id], ends[id])
		}
	}
	close(s.moved)
	s.moved = make(chan struct{})
}
