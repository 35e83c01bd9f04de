package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/storetest"
)

// memory is a store in memory, with looks into it.
type memory struct{ *storetest.Memory }

func newMemory(tb testing.TB) memory { return memory{storetest.NewMemory(tb)} }

func (m memory) agent(id string) (core.AgentRecord, bool) {
	all, err := m.AllAgents(context.Background())
	if err != nil {
		panic(err)
	}
	for _, r := range all {
		if r.ID == id {
			return *r, true
		}
	}
	return core.AgentRecord{}, false
}

// eventData returns the data of all events of a type.
func (m memory) eventData(t *testing.T, kind core.EventType) []map[string]any {
	t.Helper()
	var out []map[string]any
	for _, e := range m.Appended() {
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
