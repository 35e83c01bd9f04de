package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// memory is a store in memory with the transactions the agents package uses.
type memory struct {
	core.Tx // nil: a call of any other method is a mistake and panics

	mu      sync.Mutex // guards all below
	agents  map[string]*core.AgentRecord
	events  []core.Event
	updates int
	after   []func()      // of the transaction that runs
	shown   func()        // called after each commit before Update returns, as subscribers get the events; nil: nothing is
	fail    error         // what Update returns, writing nothing
	block   chan struct{} // non-nil: Update waits for it or its context
}

func newMemory() *memory { return &memory{agents: map[string]*core.AgentRecord{}} }

func (m *memory) Update(ctx context.Context, fn func(core.Tx) error) error {
	m.mu.Lock()
	block := m.block
	m.mu.Unlock()
	if block != nil {
		select {
		case <-block:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	m.updates++
	m.after = nil
	if err := fn(m); err != nil {
		return err
	}
	for _, fn := range m.after {
		fn()
	}
	if m.shown != nil {
		m.shown()
	}
	return nil
}

func (m *memory) AfterCommit(fn func()) { m.after = append(m.after, fn) }

// PutAgent stores a copy through JSON, as a real store does.
func (m *memory) PutAgent(a *core.AgentRecord) error {
	raw, err := json.Marshal(a)
	if err != nil {
		return err
	}
	var stored core.AgentRecord
	if err := json.Unmarshal(raw, &stored); err != nil {
		return err
	}
	m.agents[a.ID] = &stored
	return nil
}

func (m *memory) DeleteAgent(id string) error {
	delete(m.agents, id)
	return nil
}

func (m *memory) Append(events ...core.Event) error {
	m.events = append(m.events, events...)
	return nil
}

func (m *memory) AllAgents(context.Context) ([]*core.AgentRecord, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.agents)), nil
}

func (m *memory) agent(id string) (core.AgentRecord, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.agents[id]
	if !ok {
		return core.AgentRecord{}, false
	}
	return *r, true
}

func (m *memory) setFail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

// eventData returns the data of all events of a type.
func (m *memory) eventData(t *testing.T, kind core.EventType) []map[string]any {
	t.Helper()
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []map[string]any
	for _, e := range m.events {
		if e.Type != kind {
			continue
		}
		if e.ID == "" || e.Subject == "" || e.Time.IsZero() {
			t.Errorf("event without id, subject or time: %+v", e)
		}
		var data map[string]any
		if err := json.Unmarshal(e.Data, &data); err != nil {
			t.Fatalf("event data: %v", err)
		}
		out = append(out, data)
	}
	return out
}

var errFull = errors.New("no space left")

// sink records what the service tells the engine. With settle it settles each report at once.
type sink struct {
	settle bool
	svc    interface {
		Release(agentID, taskID, cancel string)
	} // with settle: releases the slot too

	mu       sync.Mutex // guards all below
	reports  []core.TaskReport
	progress []string
	lost     map[string][]string
	capacity int
	messages []core.TaskMessage
	replies  []core.MessageReply
}

func newSink() *sink { return &sink{settle: true, lost: map[string][]string{}} }

func (s *sink) TaskReported(r core.TaskReport) {
	s.mu.Lock()
	s.reports = append(s.reports, r)
	settle, svc := s.settle, s.svc
	s.mu.Unlock()
	if settle {
		if svc != nil {
			svc.Release(r.AgentID, r.TaskID, "")
		}
		r.Settled()
	}
}

func (s *sink) TaskProgressed(agentID, taskID string, data json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress = append(s.progress, agentID+" "+taskID+" "+string(data))
}

func (s *sink) AgentLost(agentID string, tasks []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, twice := s.lost[agentID]; twice {
		panic("AgentLost was called twice for " + agentID)
	}
	slices.Sort(tasks)
	s.lost[agentID] = tasks
}

func (s *sink) MessageReceived(m core.TaskMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, m)
}

func (s *sink) MessageReplied(r core.MessageReply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replies = append(s.replies, r)
}

func (s *sink) MessageWithdrawn(agentID, taskID, askID string) {
	panic("connected agents withdraw nothing: " + agentID + " " + taskID + " " + askID)
}

func (s *sink) said() []core.TaskMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.messages)
}

func (s *sink) replied() []core.MessageReply {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.replies)
}

func (s *sink) CapacityChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capacity++
}

func (s *sink) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle = false
}

func (s *sink) all() []core.TaskReport {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.reports)
}

func (s *sink) lostTasks(agentID string) ([]string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tasks, ok := s.lost[agentID]
	return tasks, ok
}

func (s *sink) capacities() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.capacity
}

// advance moves the clock second by second, as the sweep expects time to pass.
func advance(clock *coretest.Clock, d time.Duration) {
	for ; d > 0; d -= time.Second {
		clock.Advance(min(d, time.Second))
	}
}
