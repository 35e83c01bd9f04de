package pattern_test

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// memory is a pattern.Store in memory. A transaction works on a copy that replaces the state at its end.
type memory struct {
	mu    sync.Mutex // guards all below
	state memoryState
	reads int    // FindDefinition calls
	fail  error  // what Update returns, once, after running its function
	trip  int    // the write of a transaction that fails, counted from 1; 0: none
	shown func() // called after each commit before Update returns, as subscribers get the events; nil: nothing is
}

type memoryState struct {
	patterns    map[string]map[string]*core.Pattern
	definitions map[string]string
	claims      map[string]string
	events      []core.Event
}

func newMemory() *memory {
	return &memory{state: memoryState{
		patterns:    map[string]map[string]*core.Pattern{},
		definitions: map[string]string{},
		claims:      map[string]string{},
	}}
}

func (m *memory) Update(_ context.Context, fn func(core.Tx) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	tx := &memoryTx{trip: m.trip, state: memoryState{
		patterns:    map[string]map[string]*core.Pattern{},
		definitions: maps.Clone(m.state.definitions),
		claims:      maps.Clone(m.state.claims),
		events:      append([]core.Event{}, m.state.events...),
	}}
	for name, versions := range m.state.patterns {
		tx.state.patterns[name] = maps.Clone(versions)
	}
	if err := fn(tx); err != nil {
		return err
	}
	if err := m.fail; err != nil {
		m.fail = nil
		return err
	}
	m.state = tx.state
	for _, fn := range tx.after {
		fn()
	}
	if m.shown != nil {
		m.shown()
	}
	return nil
}

func (m *memory) AllPatterns(context.Context) ([]*core.Pattern, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []*core.Pattern
	for _, versions := range m.state.patterns {
		for _, p := range versions {
			all = append(all, p)
		}
	}
	return all, nil
}

func (m *memory) FindDefinition(_ context.Context, hash string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	source, ok := m.state.definitions[hash]
	if !ok {
		return "", core.NotFound("definition", hash)
	}
	return source, nil
}

func (m *memory) events() []core.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state.events
}

// memoryTx has the methods that patterns need; the others panic.
type memoryTx struct {
	core.Tx
	after []func()
	state memoryState
	trip  int
}

// write counts a call, and fails if it is the one to trip over.
func (t *memoryTx) write() error {
	t.trip--
	if t.trip == 0 {
		return errDisk
	}
	return nil
}

func (t *memoryTx) AfterCommit(fn func()) { t.after = append(t.after, fn) }

func (t *memoryTx) PutPattern(p *core.Pattern) error {
	if err := t.write(); err != nil {
		return err
	}
	if t.state.patterns[p.Name] == nil {
		t.state.patterns[p.Name] = map[string]*core.Pattern{}
	}
	stored := *p
	stored.Definition = nil
	t.state.patterns[p.Name][p.Version] = &stored
	return nil
}

func (t *memoryTx) DeletePattern(name, version string) error {
	if err := t.write(); err != nil {
		return err
	}
	delete(t.state.patterns[name], version)
	return nil
}

func (t *memoryTx) FindPatternVersions(name string) ([]*core.Pattern, error) {
	if err := t.write(); err != nil {
		return nil, err
	}
	var all []*core.Pattern
	for _, p := range t.state.patterns[name] {
		all = append(all, p)
	}
	return all, nil
}

func (t *memoryTx) PutDefinition(hash, source string) error {
	if err := t.write(); err != nil {
		return err
	}
	t.state.definitions[hash] = source
	return nil
}

func (t *memoryTx) Append(events ...core.Event) error {
	if err := t.write(); err != nil {
		return err
	}
	t.state.events = append(t.state.events, events...)
	return nil
}

func (t *memoryTx) ClaimIdempotency(claim *core.IdempotencyClaim, resourceID string, _ time.Time) error {
	if err := t.write(); err != nil {
		return err
	}
	if claim == nil {
		return nil
	}
	if _, taken := t.state.claims[claim.Key]; taken {
		return core.Conflict("idempotencyKey", claim.Key, "", "taken")
	}
	t.state.claims[claim.Key] = resourceID
	return nil
}

var errDisk = errors.New("disk")
