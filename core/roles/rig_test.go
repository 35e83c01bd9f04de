package roles_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/roles"
	"github.com/wardroom/wardroom/sdk/wire"
)

// rig is a service on fake agents, with a sink that remembers.
type rig struct {
	t        *testing.T
	fake     *fake
	*threads // or nil
	clock    *coretest.Clock
	step     time.Duration                                                          // of pass
	approve  func(agentID string, prompt json.RawMessage) (core.PromptRuling, bool) // the policy, or nil
	*sink
	roles *roles.Service
}

// sink records its calls.
type sink struct {
	mu        sync.Mutex // guards all below
	born      []pendingSpawn
	reports   []core.TaskReport
	progress  []string
	lost      []loss
	messages  []core.TaskMessage
	replies   []core.MessageReply
	withdrawn []string
	used      []string
	changes   int
	unsettled bool // reports are not settled
}

type pendingSpawn struct {
	spec     core.RoleSpec
	id, kind string
	err      error
}

type loss struct {
	id    string
	tasks []string
}

func (s *sink) do(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

func (s *sink) MessageUsed(execution, agent, message string, usage *wire.Usage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = append(s.used, fmt.Sprint(execution, " ", agent, " ", message, " ", usage.InputTokens))
}

func (s *sink) RoleSpawned(spec core.RoleSpec, id, kind string, err error) {
	s.do(func() { s.born = append(s.born, pendingSpawn{spec, id, kind, err}) })
}

func (s *sink) TaskReported(r core.TaskReport) {
	settle := false
	s.do(func() {
		s.reports = append(s.reports, r)
		settle = !s.unsettled
	})
	if settle {
		r.Settled()
	}
}

func (s *sink) TaskProgressed(_, _ string, data json.RawMessage) {
	s.do(func() { s.progress = append(s.progress, string(data)) })
}

func (s *sink) AgentLost(id string, tasks []string) {
	s.do(func() { s.lost = append(s.lost, loss{id, tasks}) })
}

func (s *sink) MessageReceived(m core.TaskMessage) {
	s.do(func() { s.messages = append(s.messages, m) })
}
func (s *sink) MessageReplied(r core.MessageReply) { s.do(func() { s.replies = append(s.replies, r) }) }
func (s *sink) CapacityChanged()                   {}

func (s *sink) MessageWithdrawn(_, _, askID string) {
	s.do(func() { s.withdrawn = append(s.withdrawn, askID) })
}

// newRig opens a service on fresh fakes.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, fake: newFake(), clock: coretest.NewClock(), step: 50 * time.Millisecond}
	r.open()
	t.Cleanup(func() { r.roles.Close() })
	return r
}

// open starts a life of the service, with a sink of its own.
func (r *rig) open() {
	r.t.Helper()
	told := &sink{}
	r.sink = told
	options := roles.Options{
		Agents: r.fake, Store: r.fake, Clock: r.clock,
		Changed: func() { told.do(func() { told.changes++ }) }, Approve: r.approve,
	}
	if r.threads != nil {
		options.Threads = r.threads
	}
	r.roles = roles.New(options)
	r.roles.SetSink(told)
	if err := r.roles.Open(r.t.Context()); err != nil {
		r.t.Fatal(err)
	}
}

// again ends the life of the service and starts the next.
func (r *rig) again() {
	r.t.Helper()
	r.roles.Close()
	r.open()
}

// wait waits until cond holds of the sink.
func (r *rig) wait(what string, cond func() bool) {
	r.t.Helper()
	coretest.WaitFor(r.t, what, func() (ok bool) {
		r.sink.do(func() { ok = cond() })
		return ok
	})
}

// pass lets time pass until cond holds, in small steps: for what comes after pauses.
func (r *rig) pass(what string, cond func() bool) {
	r.t.Helper()
	coretest.WaitFor(r.t, what, func() (ok bool) {
		r.clock.Advance(r.step)
		r.sink.do(func() { ok = cond() })
		return ok
	})
}

func spec(number int, types ...string) core.RoleSpec {
	if len(types) == 0 {
		types = []string{"claude"}
	}
	return core.RoleSpec{ExecutionID: "exec_1", Role: "coder", Instance: number, Types: types, Approval: "standard", Capabilities: []string{"code"}}
}

// spawn brings an agent to its first prompt.
func (r *rig) spawn(number int) string {
	r.t.Helper()
	before := 0
	r.sink.do(func() { before = len(r.born) })
	r.roles.Spawn(spec(number))
	id := r.starting()
	r.fake.tell(id, core.EventManagedReady, nil)
	r.wait("the agent to serve its role", func() bool { return len(r.born) == before+1 })
	if b := r.born[before]; b.err != nil || b.id != id {
		r.t.Fatalf("spawned %+v", b)
	}
	return id
}

// starting waits for an agent that was started and is not ready.
func (r *rig) starting() (id string) {
	r.t.Helper()
	coretest.WaitFor(r.t, "an agent to be started", func() bool {
		r.fake.mu.Lock()
		defer r.fake.mu.Unlock()
		i := slices.IndexFunc(r.fake.records, func(a *core.ManagedAgentRecord) bool {
			return a.Status == core.ManagedStarting && a.StoppedAt == nil
		})
		if i >= 0 {
			id = r.fake.records[i].ID
		}
		return i >= 0
	})
	return id
}

// sends waits until an agent got so many inputs.
func (r *rig) sends(id string, n int) []core.ManagedAgentInput {
	r.t.Helper()
	coretest.WaitFor(r.t, "the agent's inputs", func() bool { return len(r.fake.sentTo(id)) >= n })
	return r.fake.sentTo(id)
}

func task(id string) core.Task {
	return core.Task{
		ID: id, ExecutionID: "exec_1", PatternName: "p", Step: "0", Role: "coder", Attempt: 1,
		Input: json.RawMessage(`{"task":"Do ` + id + `","role":"coder","step":"0","type":"assign"}`),
	}
}

// failure is an error of a runtime.
func failure(code core.Code, runtimeCode string, unavailable bool) error {
	return &core.Error{Code: code, Message: runtimeCode, Details: map[string]any{"runtimeCode": runtimeCode}, Unavailable: unavailable}
}

func runtimeCode(err error) string {
	var e *core.Error
	if !errors.As(err, &e) {
		return ""
	}
	code, _ := e.Details["runtimeCode"].(string)
	return code
}
