package runtimes_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// fake is a runtime in memory. Its log of events outlives restarts of whoever reads it, and it can be taken away.
type fake struct {
	ending sync.Mutex // held over a stop; taken before mu

	mu     sync.Mutex // guards all below
	wake   chan struct{}
	down   bool
	agents map[string]runtime.Agent
	specs  map[string]runtime.Spec
	events []runtime.Event
	log    string // id of the log that they are in; empty: the runtime is an old one, which does not know it
	spawn  func(runtime.Spec) error
	// waiting, if there is one, is told of each send, which then waits for its caller to leave.
	waiting chan struct{}
	// slow, if there is one, holds up Capabilities until it is closed.
	slow      chan struct{}
	send      func(id string, in runtime.Input) (runtime.SendResult, error)
	answer    func(a runtime.Answer) error // decides of an answer that an agent would take, if it is not nil
	answered  func(id string)              // called behind an answer that was taken, if it is not nil
	types     []string
	isolation *runtime.Isolation
	missing   []string
	frames    []runtime.Frame // that a terminal shows; nil: there are none
	images    bool
	limits    bool
	sick      string // why it takes no new agents
	stops     []string
	stuck     string                                        // id of an agent that cannot be reached
	silent    bool                                          // Recover does not answer about it
	mute      bool                                          // Recover does not answer at all
	garble    func([]runtime.Recovered) []runtime.Recovered // makes the answer of Recover another one; nil: it stays
	pruned    []runtime.PruneOptions
	pruning   error // what Prune answers
	lagged    int   // so many reads of events are answered with LAGGED, each after one event
	reads     int   // of events
	lives     int   // of agents
}

func newFake(types ...string) *fake {
	return &fake{
		wake: make(chan struct{}), agents: make(map[string]runtime.Agent), specs: make(map[string]runtime.Spec), types: types,
	}
}

// change runs fn under the lock and wakes readers of events.
func (f *fake) change(fn func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn()
	close(f.wake)
	f.wake = make(chan struct{})
}

// tell makes an event that leaves the agent as change makes it.
func (f *fake) tell(id string, kind runtime.EventType, change func(a *runtime.Agent, e *runtime.Event)) {
	f.change(func() {
		a := f.agents[id]
		a.ID = id
		e := runtime.Event{Type: kind, AgentID: id, Time: time.Now(), Source: runtime.SourceHook}
		if change != nil {
			change(&a, &e)
		}
		e.Seq, e.Log = uint64(len(f.events))+1, f.log
		a.Seq = e.Seq
		f.agents[id] = a
		e.Agent = a
		f.events = append(f.events, e)
	})
}

// endTurn is the end of a turn.
func (f *fake) endTurn(id string, turn int) {
	f.tell(id, runtime.EventTurnComplete, func(a *runtime.Agent, e *runtime.Event) {
		a.Status, a.Turn, e.Turn = runtime.StatusReady, turn, turn
	})
}

func (f *fake) takes() (bool, string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.sick == "", f.sick
}

// lose makes the runtime one that has forgotten its agents and events, and is away.
func (f *fake) lose(log string) {
	f.change(func() {
		f.down, f.log, f.events = true, log, nil
		clear(f.agents)
	})
}

func (f *fake) setDown(down bool) { f.change(func() { f.down = down }) }

func (f *fake) check() error {
	if f.down {
		return runtime.Errorf(runtime.CodeUnavailable, "the runtime is away")
	}
	return nil
}

func (f *fake) Capabilities(ctx context.Context) (runtime.Capabilities, error) {
	if f.slow != nil {
		select {
		case <-f.slow:
		case <-ctx.Done():
			return runtime.Capabilities{}, ctx.Err()
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return runtime.Capabilities{Name: "fake", Types: f.types, MaxAgents: 3, MissingTypes: f.missing, Isolation: f.isolation, Images: f.images, Limits: f.limits}, f.check()
}

func (f *fake) Spawn(_ context.Context, spec runtime.Spec) (runtime.Agent, error) {
	f.mu.Lock()
	err, hook := f.check(), f.spawn
	f.mu.Unlock()
	if err == nil && hook != nil {
		err = hook(spec)
	}
	if err != nil {
		return runtime.Agent{}, err
	}
	f.mu.Lock()
	f.specs[spec.ID] = spec
	f.mu.Unlock()
	f.tell(spec.ID, runtime.EventStarted, func(a *runtime.Agent, _ *runtime.Event) {
		*a = runtime.Agent{
			ID: spec.ID, Type: spec.Type, Status: runtime.StatusStarting, PID: 42 + f.lives, Workdir: "/srv/code",
			Handle: runtime.Handle{ID: spec.ID, Data: []byte("h")},
		}
		f.lives++
	})
	return f.Inspect(context.Background(), spec.ID)
}

func (f *fake) Inspect(_ context.Context, id string) (runtime.Agent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, ok := f.agents[id]
	if err := f.check(); err != nil {
		return a, err
	}
	if !ok {
		return a, runtime.NotFound(id)
	}
	return a, nil
}

func (f *fake) Stop(_ context.Context, id string, _ runtime.StopOptions) error {
	f.ending.Lock() // an agent stops once
	defer f.ending.Unlock()
	f.mu.Lock()
	a, ok := f.agents[id]
	err := f.check()
	f.stops = append(f.stops, id)
	f.mu.Unlock()
	if err != nil {
		return err
	}
	if !ok {
		return runtime.NotFound(id)
	}
	if a.Status == runtime.StatusStopped {
		return nil
	}
	f.tell(id, runtime.EventStopped, func(a *runtime.Agent, e *runtime.Event) {
		a.Status, a.Reason = runtime.StatusStopped, runtime.ReasonStopped
		e.Reason = a.Reason
	})
	return nil
}

func (f *fake) Restart(ctx context.Context, id string, _ runtime.RestartOptions) (runtime.Agent, error) {
	f.mu.Lock()
	spec, ok := f.specs[id]
	f.mu.Unlock()
	if !ok {
		return runtime.Agent{}, runtime.NotFound(id)
	}
	return f.Spawn(ctx, spec)
}

func (f *fake) List(context.Context, runtime.ListFilter) ([]runtime.Agent, error) { return nil, nil }

func (f *fake) Send(ctx context.Context, id string, in runtime.Input) (runtime.SendResult, error) {
	f.mu.Lock()
	err, hook := f.check(), f.send
	f.mu.Unlock()
	if f.waiting != nil {
		f.waiting <- struct{}{}
		<-ctx.Done()
		return runtime.SendResult{}, runtime.Errorf(runtime.CodeCanceled, "the caller has left")
	}
	if err != nil || hook == nil {
		return runtime.SendResult{Sent: err == nil}, err
	}
	return hook(id, in)
}

func (f *fake) Answer(_ context.Context, id string, a runtime.Answer) error {
	f.mu.Lock()
	agent, decide, answered := f.agents[id], f.answer, f.answered
	f.mu.Unlock()
	if agent.Prompt == nil || a.PromptID != "" && a.PromptID != agent.Prompt.ID {
		return runtime.Errorf(runtime.CodeNoPrompt, "nothing is asked")
	}
	if decide != nil {
		if err := decide(a); err != nil {
			return err
		}
	}
	if answered != nil {
		defer answered(id)
	}
	f.tell(id, runtime.EventUnblocked, func(agent *runtime.Agent, e *runtime.Event) {
		agent.Status, agent.Prompt, e.Answered = runtime.StatusBusy, nil, a.Choice
	})
	return nil
}

func (f *fake) Attach(ctx context.Context, _ string, opts runtime.AttachOptions) (runtime.Terminal, error) {
	if f.frames != nil {
		return &fakeTerminal{ctx: ctx, opts: opts, frames: f.frames}, nil
	}
	return nil, runtime.Errorf(runtime.CodeUnimplemented, "no terminal")
}

// fakeTerminal shows some frames, and then nothing for as long as its viewer waits.
type fakeTerminal struct {
	ctx    context.Context
	opts   runtime.AttachOptions
	frames []runtime.Frame
}

func (t *fakeTerminal) Recv() (runtime.Frame, error) {
	if len(t.frames) == 0 {
		<-t.ctx.Done()
		return runtime.Frame{}, t.ctx.Err()
	}
	frame := t.frames[0]
	t.frames = t.frames[1:]
	return frame, nil
}

func (t *fakeTerminal) Input([]byte) error    { return runtime.Errorf(runtime.CodeForbidden, "read-only") }
func (t *fakeTerminal) Resize(int, int) error { return errors.New("a look resizes nothing") }
func (t *fakeTerminal) Close() error          { return nil }

func (f *fake) Logs(context.Context, string, runtime.LogOptions) (runtime.LogStream, error) {
	return &fakeLog{lines: []runtime.LogLine{{Stream: runtime.StreamOutput, Line: "hello"}}}, nil
}

type fakeLog struct{ lines []runtime.LogLine }

func (l *fakeLog) Next() (runtime.LogLine, error) {
	if len(l.lines) == 0 {
		return runtime.LogLine{}, io.EOF
	}
	line := l.lines[0]
	l.lines = l.lines[1:]
	return line, nil
}

func (l *fakeLog) Close() error { return nil }

func (f *fake) Metrics(context.Context, string) (runtime.Metrics, error) {
	return runtime.Metrics{MemoryBytes: 7}, nil
}

func (f *fake) Events(ctx context.Context, opts runtime.EventOptions) (runtime.EventStream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.check(); err != nil {
		return nil, err
	}
	if n := len(f.events); n == 0 || opts.After > f.events[n-1].Seq || f.log != "" && opts.Log != "" && opts.Log != f.log {
		opts.After = 0 // of another log: see runtime.EventOptions
	}
	f.reads++
	return &fakeEvents{f: f, ctx: ctx, after: opts.After}, nil
}

type fakeEvents struct {
	f     *fake
	ctx   context.Context
	after uint64
	told  bool // an event
}

func (s *fakeEvents) Next() (runtime.Event, error) {
	for {
		s.f.mu.Lock()
		wake, err := s.f.wake, s.f.check()
		if s.told && s.f.lagged > 0 {
			s.f.lagged--
			s.f.mu.Unlock()
			return runtime.Event{}, runtime.Errorf(runtime.CodeLagged, "events were missed: read again after the last one that was seen")
		}
		for _, e := range s.f.events {
			if e.Seq > s.after && err == nil {
				s.told = true
				s.after = e.Seq
				s.f.mu.Unlock()
				return e, nil
			}
		}
		s.f.mu.Unlock()
		if err != nil {
			return runtime.Event{}, err
		}
		select {
		case <-wake:
		case <-s.ctx.Done():
			return runtime.Event{}, s.ctx.Err()
		}
	}
}

func (s *fakeEvents) Close() error { return nil }

func (f *fake) Recover(ctx context.Context, handles []runtime.Handle) ([]runtime.Recovered, error) {
	f.mu.Lock()
	if f.mute || f.silent && slices.ContainsFunc(handles, func(h runtime.Handle) bool { return h.ID == f.stuck }) {
		f.mu.Unlock()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	defer f.mu.Unlock()
	if err := f.check(); err != nil {
		return nil, err
	}
	var out []runtime.Recovered
	for _, h := range handles {
		if h.ID == f.stuck {
			out = append(out, runtime.Recovered{Handle: h, Error: runtime.Errorf(runtime.CodeUnavailable, "out of reach")})
		} else if a, ok := f.agents[h.ID]; ok {
			out = append(out, runtime.Recovered{Handle: h, Agent: &a})
		} else {
			out = append(out, runtime.Recovered{Handle: h, Error: runtime.NotFound(h.ID)})
		}
	}
	if f.garble != nil {
		out = f.garble(out)
	}
	return out, nil
}

func (f *fake) Prune(_ context.Context, opts runtime.PruneOptions) (runtime.PruneReport, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	opts.Keep = slices.Clone(opts.Keep)
	f.pruned = append(f.pruned, opts)
	return runtime.PruneReport{}, f.pruning
}
