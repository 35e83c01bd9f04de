package agents

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/wardroom/wardroom/core"
)

// saveChunk bounds the records of one transaction.
const saveChunk = 500

// save stores the agents that changed, each with the events that wait for it, in one transaction per chunk.
// With wait it waits for a save of the same agent that is under way; else it leaves that agent to the next
// sweep. After an error everything stays to be saved.
func (s *Service) save(ctx context.Context, list []*agent, wait bool) error {
	for start := 0; start < len(list); start += saveChunk {
		if err := s.saveSome(ctx, list[start:min(start+saveChunk, len(list))], wait); err != nil {
			return err
		}
	}
	return nil
}

// pending is what save writes for one agent.
type pending struct {
	agent  *agent
	record *core.AgentRecord
	events []core.Event
	unsure *unsure
}

// unsure are events of an agent whose commit failed, and which may be stored all the same.
type unsure struct {
	events []core.Event
	stored atomic.Bool // known once the store takes writes
}

// due returns the events that are to be stored now. It is called once the store takes writes.
func (p *pending) due() []core.Event {
	if p.unsure == nil || p.unsure.stored.Load() {
		return p.events
	}
	return slices.Concat(p.unsure.events, p.events)
}

func (s *Service) saveSome(ctx context.Context, list []*agent, wait bool) error {
	var work []pending
	defer func() {
		for _, p := range work {
			p.agent.saving.Unlock()
		}
	}()
	for _, a := range list {
		if wait {
			a.saving.Lock()
		} else if !a.saving.TryLock() {
			continue
		}
		a.mu.Lock()
		if !a.changed {
			a.mu.Unlock()
			a.saving.Unlock()
			continue
		}
		work = append(work, pending{agent: a, record: a.record(), events: a.events, unsure: a.unsure})
		a.changed, a.events, a.unsure = false, nil, nil
		a.mu.Unlock()
	}
	if len(work) == 0 {
		return nil
	}
	written := make([]*unsure, len(work))
	err := s.store.Update(ctx, func(tx core.Tx) error {
		for i, p := range work {
			w := &unsure{events: p.due()}
			written[i] = w
			if err := tx.PutAgent(p.record); err != nil {
				return err
			}
			if err := tx.Append(w.events...); err != nil {
				return err
			}
			tx.AfterCommit(func() { w.stored.Store(true) })
		}
		return nil
	})
	if err == nil {
		return nil
	}
	for i, p := range work {
		p.agent.mu.Lock()
		p.agent.changed = true
		if errors.Is(err, core.ErrInDoubt) {
			p.agent.unsure = written[i]
		} else {
			p.agent.unsure, p.agent.events = p.unsure, append(p.events, p.agent.events...)
		}
		p.agent.mu.Unlock()
	}
	return err
}

// saveAll stores every agent that is not gone, with its last sign of life, and whatever else waits.
func (s *Service) saveAll(ctx context.Context) error {
	list := s.all()
	for _, a := range list {
		a.mu.Lock()
		if a.presence != gone {
			a.changed = true
		}
		a.mu.Unlock()
	}
	return s.save(ctx, list, true)
}
