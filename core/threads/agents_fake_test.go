package threads_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// fakeAgents is managed agents in memory. They outlive the service under test, as runtimes do.
type fakeAgents struct {
	core.ManagedAgentService
	store *memStore

	mu      sync.Mutex // guards all below
	infos   []core.RuntimeInfo
	fresh   []core.RuntimeInfo // what a new look finds; nil: infos
	records []*core.ManagedAgentRecord
	taken   map[string]string // key of an input -> text
	order   []string          // texts, as they were taken
	specs   []core.ManagedAgentSpec
	stopped []core.ManagedAgentStop
	revived int

	// script says what an agent does with a message or an answer; nil: a turn that says "done".
	script func(a *scripted, text string)
	// spawn, send, restart, answer and stop decide what becomes of a call, if they are not nil.
	spawn   func(spec core.ManagedAgentSpec) error
	send    func(in core.ManagedAgentInput) error
	restart func() error
	answer  func() error
	told    func()            // called without mu once an agent took an answer, before the call returns
	login   func(text string) // takes the answer to a login; nil: NO_PROMPT
	stop    func(id string) error
	notice  string // reason of the starts of agents that were lost
	// begin is what an agent does once its process runs; nil: it gets ready.
	begin func(a *scripted)
	held  chan struct{} // not nil: streams of events hand over no more until it is closed
}

// scripted is an agent while its script runs. Its methods tell events.
type scripted struct {
	f *fakeAgents
	r *core.ManagedAgentRecord
}

func newFakeAgents(store *memStore) *fakeAgents {
	f := &fakeAgents{
		store: store, taken: map[string]string{},
		infos: []core.RuntimeInfo{{Name: "local", Ready: true, Types: []string{"claude", "codex", "shell"}}},
	}
	store.agents = f.all
	return f
}

func (f *fakeAgents) all() []*core.ManagedAgentRecord {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []*core.ManagedAgentRecord
	for _, r := range f.records {
		c := *r
		list = append(list, &c)
	}
	return list
}

func (f *fakeAgents) find(id string) *core.ManagedAgentRecord {
	for _, r := range f.records {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// tell is an event of an agent, with its record as it is then. The caller holds mu.
func (s *scripted) tell(kind core.EventType, sig core.AgentSignal) {
	switch kind {
	case core.EventManagedReady:
		s.r.Status = core.ManagedReady
	case core.EventManagedLogin:
		s.r.Status = core.ManagedError
	case core.EventManagedStopped:
		now := time.Now()
		s.r.Status, s.r.StoppedAt, s.r.StatusReason, s.r.ExitCode = core.ManagedError, &now, sig.Reason, sig.ExitCode
	case core.EventManagedTurnComplete:
		s.r.Turn++
		sig.Turn = s.r.Turn
	case core.EventManagedStarted:
		s.r.StoppedAt, s.r.Status, s.r.PID = nil, core.ManagedStarting, 4711
	default:
		s.r.Status = core.ManagedBusy
	}
	sig.AgentID = s.r.ID
	if sig.Status == "" {
		sig.Status = s.r.Status
	}
	raw, err := json.Marshal(sig)
	if err != nil {
		panic(err)
	}
	s.f.store.tell(core.Event{Type: kind, Time: time.Now(), Subject: s.r.ID, Data: raw})
}

// start is what an agent does once its process runs.
func (s *scripted) start() {
	if s.f.begin != nil {
		s.f.begin(s)
		return
	}
	s.tell(core.EventManagedReady, core.AgentSignal{})
}

func (s *scripted) busy() { s.tell(core.EventManagedBusy, core.AgentSignal{}) }

func (s *scripted) say(text string) { s.tell(core.EventManagedMessage, core.AgentSignal{Text: text}) }

func (s *scripted) ask(id, kind, tool, text string) {
	prompt, err := json.Marshal(map[string]any{
		"id": id, "kind": kind, "text": text, "tool": tool, "options": []map[string]string{{"id": "allow", "label": "Yes"}, {"id": "deny", "label": "No"}},
	})
	if err != nil {
		panic(err)
	}
	s.r.Prompt = prompt
	s.tell(core.EventManagedBlocked, core.AgentSignal{Prompt: prompt})
}

// end ends a turn.
func (s *scripted) end(text string) {
	s.tell(core.EventManagedTurnComplete, core.AgentSignal{Text: text, DurationMs: 5})
	s.tell(core.EventManagedReady, core.AgentSignal{})
}

// fail ends a turn with an error of the model.
func (s *scripted) fail(code string, retryable bool) {
	s.tell(core.EventManagedTurnComplete, core.AgentSignal{
		Text:        "API Error: no answer", // an older runtime's
		TurnOutcome: wire.TurnOutcome{Error: &wire.TurnError{Code: code, Message: "the model said no", Retryable: retryable}},
	})
	s.tell(core.EventManagedReady, core.AgentSignal{})
}

// exit ends the process.
func (s *scripted) exit(reason string, code int) {
	s.tell(core.EventManagedStopped, core.AgentSignal{Reason: reason, ExitCode: &code})
}

func (s *scripted) lose() { s.tell(core.EventManagedStopped, core.AgentSignal{Reason: "lost"}) }

// do has an agent do something by itself.
func (f *fakeAgents) do(id string, fn func(s *scripted)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if id == "" {
		id = f.records[len(f.records)-1].ID
	}
	fn(&scripted{f: f, r: f.find(id)})
}

func (f *fakeAgents) Runtimes(context.Context) []core.RuntimeInfo { return f.infos }

func (f *fakeAgents) LookAtRuntimes(context.Context) []core.RuntimeInfo {
	if f.fresh != nil {
		return f.fresh
	}
	return f.infos
}

func (f *fakeAgents) FindManagedAgent(_ context.Context, id string) (*core.ManagedAgent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.find(id)
	if r == nil {
		return nil, core.NotFound("managed agent", id)
	}
	a := r.ManagedAgent
	return &a, nil
}

func (f *fakeAgents) SpawnManagedAgent(_ context.Context, spec core.ManagedAgentSpec) (*core.ManagedAgent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.spawn != nil {
		if err := f.spawn(spec); err != nil {
			return nil, err
		}
	}
	f.specs = append(f.specs, spec)
	r := &core.ManagedAgentRecord{Spec: spec, Wanted: true, ManagedAgent: core.ManagedAgent{
		ID: fmt.Sprintf("magent_%04d", len(f.records)+1), Name: spec.Name, Type: spec.Type, Status: core.ManagedStarting,
		Runtime: "local", SessionID: "session-1",
	}}
	f.records = append(f.records, r)
	s := &scripted{f: f, r: r}
	s.tell(core.EventManagedStarted, core.AgentSignal{})
	a := r.ManagedAgent
	s.start()
	return &a, nil
}

func (f *fakeAgents) SendManagedAgent(ctx context.Context, id string, in core.ManagedAgentInput) (core.ManagedAgentReply, error) {
	if ctx.Err() != nil {
		return core.ManagedAgentReply{}, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.find(id)
	switch {
	case r == nil:
		return core.ManagedAgentReply{}, core.NotFound("managed agent", id)
	case r.Gone():
		return core.ManagedAgentReply{}, runtimeError(core.CodeConflict, "NOT_RUNNING")
	}
	if _, known := f.taken[in.Key]; known && in.Key != "" {
		return core.ManagedAgentReply{Sent: true}, nil
	}
	if r.LoginURL != "" && in.Key != "" {
		return core.ManagedAgentReply{}, runtimeError(core.CodeConflict, "AUTH_REQUIRED")
	}
	if f.send != nil {
		if err := f.send(in); err != nil {
			return core.ManagedAgentReply{}, err
		}
	}
	if in.Message == "" {
		f.taken[in.Key] = in.Raw
		f.order = append(f.order, in.Raw+fmt.Sprint(in.Keys))
		return core.ManagedAgentReply{Sent: true}, nil
	}
	if r.Status != core.ManagedReady && r.LoginURL == "" {
		return core.ManagedAgentReply{}, runtimeError(core.CodeConflict, "BLOCKED")
	}
	f.taken[in.Key] = in.Message
	f.order = append(f.order, in.Message)
	s := &scripted{f: f, r: r}
	if f.script != nil {
		f.script(s, in.Message)
		return core.ManagedAgentReply{Sent: true}, nil
	}
	s.busy()
	s.end("done")
	return core.ManagedAgentReply{Sent: true}, nil
}

func (f *fakeAgents) AnswerManagedAgent(_ context.Context, id string, a core.ManagedAgentAnswer) (*core.ManagedAgent, error) {
	f.mu.Lock()
	told := func() {}
	defer func() { f.mu.Unlock(); told() }()
	r := f.find(id)
	var open struct {
		ID string `json:"id"`
	}
	if r != nil && r.LoginURL != "" && a.PromptID == "login" && f.login != nil {
		f.login(a.Text)
		c := r.ManagedAgent
		return &c, nil
	}
	if r == nil || json.Unmarshal(r.Prompt, &open) != nil || open.ID != a.PromptID {
		return nil, runtimeError(core.CodeConflict, "NO_PROMPT")
	}
	if f.answer != nil {
		if err := f.answer(); err != nil {
			return nil, err
		}
	}
	if f.told != nil {
		told = f.told
	}
	r.Prompt = nil
	s := &scripted{f: f, r: r}
	s.tell(core.EventManagedUnblocked, core.AgentSignal{Answered: a.Choice})
	if f.script != nil {
		f.script(s, "answer "+a.PromptID+" "+a.Choice+a.Text)
	}
	c := r.ManagedAgent
	return &c, nil
}

func (f *fakeAgents) RestartManagedAgent(_ context.Context, id string, _ core.ManagedAgentRestart) (*core.ManagedAgent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.restart != nil {
		if err := f.restart(); err != nil {
			return nil, err
		}
	}
	r := f.find(id)
	f.revived++
	s := &scripted{f: f, r: r}
	s.tell(core.EventManagedStarted, core.AgentSignal{Reason: f.notice})
	a := r.ManagedAgent
	s.start()
	return &a, nil
}

func (f *fakeAgents) StopManagedAgent(_ context.Context, id string, opts core.ManagedAgentStop) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := f.find(id)
	if r == nil {
		return core.NotFound("managed agent", id)
	}
	if f.stop != nil {
		if err := f.stop(id); err != nil {
			return err
		}
	}
	f.stopped = append(f.stopped, opts)
	r.Wanted = false
	if !r.Gone() {
		(&scripted{f: f, r: r}).tell(core.EventManagedStopped, core.AgentSignal{Reason: "stopped"})
	}
	return nil
}

func (f *fakeAgents) ManagedAgentEvents(ctx context.Context, id string, after uint64) (core.EventStream, error) {
	stream, err := f.store.Follow(ctx, id, after)
	return heldStream{EventStream: stream, f: f}, err
}

// heldStream is a stream that may be slower than what is stored.
type heldStream struct {
	core.EventStream
	f *fakeAgents
}

func (s heldStream) Next(ctx context.Context) (core.Event, error) {
	e, err := s.EventStream.Next(ctx)
	s.f.mu.Lock()
	held := s.f.held
	s.f.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-ctx.Done():
			return core.Event{}, ctx.Err()
		}
	}
	return e, err
}

func (f *fakeAgents) messages() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.order)
}

// count is how many messages were taken.
func (f *fakeAgents) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.order)
}

func (f *fakeAgents) running() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, r := range f.records {
		if !r.Gone() {
			n++
		}
	}
	return n
}

func runtimeError(code core.Code, runtime string) error {
	return &core.Error{Code: code, Message: runtime, Details: map[string]any{"runtimeCode": runtime}}
}
