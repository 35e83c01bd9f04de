package roles_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// fake is managed agents in memory, with their records and events. It outlives the service under test, as the
// runtimes and the store do.
type fake struct {
	mu       sync.Mutex // guards all below
	wake     chan struct{}
	runtimes []core.RuntimeInfo
	records  []*core.ManagedAgentRecord
	events   map[string][]core.Event
	seq      uint64
	specs    []core.ManagedAgentSpec
	sends    []sent
	answers  []core.ManagedAgentAnswer
	stopped  []string

	// spawn, send, answer and stop decide what becomes of a call, if they are not nil.
	spawn  func(spec core.ManagedAgentSpec) error
	send   func(ctx context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error)
	answer func(answer core.ManagedAgentAnswer) error
	stop   func(id string) error
}

// sent is one call of SendManagedAgent.
type sent struct {
	id string
	in core.ManagedAgentInput
}

func newFake() *fake {
	return &fake{
		wake: make(chan struct{}), events: make(map[string][]core.Event),
		runtimes: []core.RuntimeInfo{{Name: "local", Ready: true, Types: []string{"claude", "codex", "gemini"}}},
	}
}

func (f *fake) do(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn()
	close(f.wake)
	f.wake = make(chan struct{})
}

func (f *fake) record(id string) *core.ManagedAgentRecord {
	for _, r := range f.records {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// tell makes an event of an agent, with the record as it is then.
func (f *fake) tell(id string, kind core.EventType, data map[string]any) {
	f.do(func() { f.told(id, kind, data) })
}

func (f *fake) told(id string, kind core.EventType, data map[string]any) {
	if data == nil {
		data = map[string]any{}
	}
	r := f.record(id)
	switch kind {
	case core.EventManagedReady:
		r.Status, r.Prompt = core.ManagedReady, nil
	case core.EventManagedBusy, core.EventManagedBlocked, core.EventManagedQuestion, core.EventManagedUnblocked:
		r.Status = core.ManagedBusy
	case core.EventManagedLogin:
		r.Status = core.ManagedError
	case core.EventManagedTurnComplete:
		r.Status = core.ManagedReady
		r.Turn = data["turn"].(int)
	case core.EventManagedStopped:
		now := time.Now()
		r.Status, r.StoppedAt = core.ManagedError, &now
	}
	data["agentId"], data["status"] = id, r.Status
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	f.seq++
	f.events[id] = append(f.events[id], core.Event{Seq: f.seq, Type: kind, Subject: id, Data: raw})
}

// turn is a whole turn of an agent.
func (f *fake) turn(id, text string) core.ManagedAgentReply {
	var n int
	f.do(func() {
		n = f.record(id).Turn + 1
		f.told(id, core.EventManagedBusy, nil)
		f.told(id, core.EventManagedTurnComplete, map[string]any{"turn": n, "text": text})
		f.told(id, core.EventManagedReady, nil)
	})
	return core.ManagedAgentReply{Sent: true, Response: &core.ManagedAgentResponse{Text: text, Turn: n}}
}

// begun is a turn that goes on: it ends when end is called, or its caller leaves.
func (f *fake) begun(ctx context.Context, id string, end <-chan string) (core.ManagedAgentReply, error) {
	f.tell(id, core.EventManagedBusy, nil)
	select {
	case text := <-end:
		var n int
		f.do(func() {
			n = f.record(id).Turn + 1
			f.told(id, core.EventManagedTurnComplete, map[string]any{"turn": n, "text": text})
			f.told(id, core.EventManagedReady, nil)
		})
		return core.ManagedAgentReply{Sent: true, Response: &core.ManagedAgentResponse{Text: text, Turn: n}}, nil
	case <-ctx.Done():
		return core.ManagedAgentReply{}, ctx.Err()
	}
}

func (f *fake) sentTo(id string) []core.ManagedAgentInput {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []core.ManagedAgentInput
	for _, s := range f.sends {
		if s.id == id {
			list = append(list, s.in)
		}
	}
	return list
}

func (f *fake) given() []core.ManagedAgentAnswer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.answers)
}

func (f *fake) stops() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.stopped)
}

func (f *fake) spawned() []core.ManagedAgentSpec {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.specs)
}

func (f *fake) FindManagedAgents(context.Context, core.ManagedAgentFilter) ([]*core.ManagedAgent, core.PageInfo, error) {
	return nil, core.PageInfo{}, errors.New("not for roles")
}

func (f *fake) FindManagedAgent(_ context.Context, id string) (*core.ManagedAgent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.record(id)
	if r == nil {
		return nil, core.NotFound("managed agent", id)
	}
	a := r.ManagedAgent
	return &a, nil
}

func (f *fake) SpawnManagedAgent(_ context.Context, spec core.ManagedAgentSpec) (*core.ManagedAgent, error) {
	f.mu.Lock()
	f.specs = append(f.specs, spec)
	decide := f.spawn
	f.mu.Unlock()
	if decide != nil {
		if err := decide(spec); err != nil {
			return nil, err
		}
	}
	a := f.add(spec)
	return &a, nil
}

// add stores an agent that is starting.
func (f *fake) add(spec core.ManagedAgentSpec) (a core.ManagedAgent) {
	f.do(func() {
		r := &core.ManagedAgentRecord{Spec: spec, Wanted: true, ManagedAgent: core.ManagedAgent{
			ID: fmt.Sprintf("magent_%d", len(f.records)+1), Name: spec.Name, Type: spec.Type, Status: core.ManagedStarting,
		}}
		f.records = append(f.records, r)
		f.told(r.ID, core.EventManagedStarted, nil)
		a = r.ManagedAgent
	})
	return a
}

func (f *fake) SendManagedAgent(ctx context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
	f.mu.Lock()
	f.sends = append(f.sends, sent{id, in})
	decide := f.send
	r := f.record(id)
	f.mu.Unlock()
	if r == nil {
		return core.ManagedAgentReply{}, core.NotFound("managed agent", id)
	}
	if decide != nil {
		return decide(ctx, id, in)
	}
	if len(in.Keys) > 0 || in.Interrupt || !in.ExpectResponse {
		return core.ManagedAgentReply{Sent: true}, nil
	}
	return f.turn(id, "done"), nil
}

func (f *fake) AnswerManagedAgent(_ context.Context, id string, answer core.ManagedAgentAnswer) (*core.ManagedAgent, error) {
	f.mu.Lock()
	f.answers = append(f.answers, answer)
	decide := f.answer
	f.mu.Unlock()
	if decide != nil {
		if err := decide(answer); err != nil {
			return nil, err
		}
	}
	f.tell(id, core.EventManagedUnblocked, nil)
	return &core.ManagedAgent{ID: id}, nil
}

func (f *fake) RestartManagedAgent(context.Context, string, core.ManagedAgentRestart) (*core.ManagedAgent, error) {
	return nil, errors.New("not for roles")
}

func (f *fake) StopManagedAgent(_ context.Context, id string, _ core.ManagedAgentStop) error {
	f.mu.Lock()
	f.stopped = append(f.stopped, id)
	decide, r := f.stop, f.record(id)
	if r != nil {
		r.Wanted = false
	}
	f.mu.Unlock()
	if r == nil {
		return core.NotFound("managed agent", id)
	}
	if decide != nil {
		if err := decide(id); err != nil {
			return err
		}
	}
	f.do(func() {
		if r.StoppedAt == nil {
			f.told(id, core.EventManagedStopped, map[string]any{"reason": "stopped"})
		}
	})
	return nil
}

func (f *fake) ManagedAgentLogs(context.Context, string, core.LogOptions) (core.LogStream, error) {
	return nil, errors.New("not for roles")
}

func (f *fake) ManagedAgentMetrics(context.Context, string) (core.ManagedAgentMetrics, error) {
	return core.ManagedAgentMetrics{}, errors.New("not for roles")
}

func (f *fake) ManagedAgentScreen(context.Context, string) (core.ManagedAgentScreen, error) {
	return core.ManagedAgentScreen{}, errors.New("not for roles")
}

func (f *fake) ServeTerminal(http.ResponseWriter, *http.Request, string, bool) error {
	return errors.New("not for roles")
}

func (f *fake) Runtimes(context.Context) []core.RuntimeInfo {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.runtimes)
}

func (f *fake) LookAtRuntimes(ctx context.Context) []core.RuntimeInfo { return f.Runtimes(ctx) }

func (f *fake) AllManagedAgents(ctx context.Context) ([]*core.ManagedAgentRecord, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []*core.ManagedAgentRecord
	for _, r := range f.records {
		c := *r
		list = append(list, &c)
	}
	return list, nil
}

func (f *fake) Events(_ context.Context, subject string, after uint64, limit int) (page []core.Event, more bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.events[subject] {
		if e.Seq <= after {
			continue
		}
		if len(page) == limit {
			return page, true, nil
		}
		page = append(page, e)
	}
	return page, false, nil
}

func (f *fake) ManagedAgentEvents(_ context.Context, id string, after uint64) (core.EventStream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.record(id) == nil {
		return nil, core.NotFound("managed agent", id)
	}
	return &stream{f: f, id: id, after: after}, nil
}

// stream is the events of one agent.
type stream struct {
	f     *fake
	id    string
	after uint64
}

func (s *stream) Next(ctx context.Context) (core.Event, error) {
	for {
		s.f.mu.Lock()
		wake := s.f.wake
		var next *core.Event
		for i := range s.f.events[s.id] {
			if e := &s.f.events[s.id][i]; e.Seq > s.after {
				next = e
				break
			}
		}
		s.f.mu.Unlock()
		if next != nil {
			s.after = next.Seq
			return *next, nil
		}
		select {
		case <-wake:
		case <-ctx.Done():
			return core.Event{}, ctx.Err()
		}
	}
}

func (s *stream) Close() {}
