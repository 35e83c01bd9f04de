package runtimes_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// memory is a store in memory that can fail at a chosen moment.
type memory struct {
	mu        sync.Mutex // guards all below
	agents    map[string]core.ManagedAgentRecord
	positions map[string]uint64
	events    []core.Event
	fail      bool
	// shown is called with the events of a commit before Update returns, as subscribers get them, if it is set.
	shown func([]core.Event)
}

func newMemory() *memory {
	return &memory{agents: make(map[string]core.ManagedAgentRecord), positions: make(map[string]uint64)}
}

var errDisk = errors.New("the disk is gone")

func (m *memory) setFail(fail bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = fail
}

func (m *memory) Update(_ context.Context, fn func(tx core.Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail {
		return errDisk
	}
	t := &memoryTx{m: m, agents: maps.Clone(m.agents), positions: maps.Clone(m.positions), events: slices.Clone(m.events)}
	if err := fn(t); err != nil {
		return err
	}
	fresh := t.events[len(m.events):]
	m.agents, m.positions, m.events = t.agents, t.positions, t.events
	for _, fn := range t.after {
		fn()
	}
	if m.shown != nil && len(fresh) > 0 {
		m.shown(fresh)
	}
	return nil
}

func (m *memory) AllManagedAgents(context.Context) ([]*core.ManagedAgentRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*core.ManagedAgentRecord
	for _, id := range slices.Sorted(maps.Keys(m.agents)) {
		r := m.agents[id]
		all = append(all, &r)
	}
	return all, nil
}

func (m *memory) RuntimePositions(context.Context) (map[string]uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.positions), nil
}

// kinds returns the types of an agent's events, in order.
func (m *memory) kinds(id string) []core.EventType {
	m.mu.Lock()
	defer m.mu.Unlock()
	var kinds []core.EventType
	for _, e := range m.events {
		if e.Subject == id {
			kinds = append(kinds, e.Type)
		}
	}
	return kinds
}

func (m *memory) Stream(context.Context, string, uint64, func(core.Event) bool) (core.EventStream, error) {
	return nil, errors.New("no streams here")
}

type memoryTx struct {
	core.Tx   // what is not needed is not there
	m         *memory
	agents    map[string]core.ManagedAgentRecord
	positions map[string]uint64
	events    []core.Event
	after     []func()
}

func (t *memoryTx) AfterCommit(fn func()) { t.after = append(t.after, fn) }

func (t *memoryTx) PutManagedAgent(r *core.ManagedAgentRecord) error {
	t.agents[r.ID] = *r
	return nil
}

func (t *memoryTx) DeleteManagedAgent(id string) error {
	delete(t.agents, id)
	return nil
}

func (t *memoryTx) PutRuntimePosition(p core.RuntimePosition) error {
	t.positions[p.Runtime] = p.Seq
	return nil
}

func (t *memoryTx) Append(events ...core.Event) error {
	t.events = append(t.events, events...)
	return nil
}

func (t *memoryTx) ClaimIdempotency(*core.IdempotencyClaim, string, time.Time) error { return nil }
