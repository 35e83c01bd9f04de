package edge_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeRuntime is a runtime whose agents answer each message with its text. It keeps every event.
type fakeRuntime struct {
	runtime.Unimplemented
	mu     sync.Mutex // guards all below
	agents map[string]*runtime.Agent
	specs  map[string]runtime.Spec
	events []runtime.Event
	sent   map[string]int // deliveries by id of the input
	typed  []string
	change chan struct{} // closed and replaced with each event
	down   bool          // every call is UNAVAILABLE
	blocks bool          // a message leads to a prompt
	lossy  bool          // the first answer to each message is lost
	late   bool          // a message is taken, and its turn begins when finishLate is called
}

func newFakeRuntime() *fakeRuntime {
	return &fakeRuntime{
		agents: map[string]*runtime.Agent{}, specs: map[string]runtime.Spec{}, sent: map[string]int{}, change: make(chan struct{}),
	}
}

// emit makes something happen. Called with mu held.
func (f *fakeRuntime) emit(id string, status runtime.Status, e runtime.Event) {
	a := f.agents[id]
	e.Seq, e.AgentID, e.Time, e.Source = uint64(len(f.events)+1), id, time.Unix(1000, 0).UTC(), runtime.SourceHook
	a.Status, a.Seq, a.SessionID = status, e.Seq, "session-"+id
	e.Agent = *a
	f.events = append(f.events, e)
	close(f.change)
	f.change = make(chan struct{})
}

// running returns an agent, or why there is none. Called with mu held.
func (f *fakeRuntime) running(id string) (*runtime.Agent, error) {
	switch a := f.agents[id]; {
	case f.down:
		return nil, runtime.Errorf(runtime.CodeUnavailable, "the runtime is not there")
	case a == nil:
		return nil, runtime.NotFound(id)
	default:
		return a, nil
	}
}

func (f *fakeRuntime) Capabilities(context.Context) (runtime.Capabilities, error) {
	return runtime.Capabilities{Name: "fake", Types: []string{"claude"}, Recover: true}, nil
}

func (f *fakeRuntime) Spawn(_ context.Context, spec runtime.Spec) (runtime.Agent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if spec.Type == "broken" {
		return runtime.Agent{}, &runtime.Error{Code: runtime.CodeCLINotFound, Message: "broken is not installed", Hint: "install it"}
	}
	if a := f.agents[spec.ID]; a != nil {
		return *a, nil
	}
	f.specs[spec.ID] = spec
	f.agents[spec.ID] = &runtime.Agent{ID: spec.ID, Type: spec.Type, Labels: spec.Labels, Workdir: spec.Workdir}
	f.emit(spec.ID, runtime.StatusStarting, runtime.Event{Type: runtime.EventStarted})
	f.emit(spec.ID, runtime.StatusReady, runtime.Event{Type: runtime.EventReady})
	return *f.agents[spec.ID], nil
}

func (f *fakeRuntime) Inspect(_ context.Context, id string) (runtime.Agent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, err := f.running(id)
	if err != nil {
		return runtime.Agent{}, err
	}
	return *a, nil
}

func (f *fakeRuntime) List(_ context.Context, filter runtime.ListFilter) ([]runtime.Agent, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []runtime.Agent
	for _, a := range f.agents {
		fits := true
		for key, value := range filter.Labels {
			fits = fits && a.Labels[key] == value
		}
		if fits {
			list = append(list, *a)
		}
	}
	return list, nil
}

func (f *fakeRuntime) Send(_ context.Context, id string, in runtime.Input) (runtime.SendResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, err := f.running(id)
	switch {
	case err != nil:
		return runtime.SendResult{}, err
	case a.Status == runtime.StatusStopped:
		return runtime.SendResult{}, runtime.Errorf(runtime.CodeNotRunning, "it has ended")
	case f.sent[in.ID] > 0:
		return runtime.SendResult{Sent: true}, nil
	}
	f.sent[in.ID]++
	if in.Message == "" {
		f.typed = append(f.typed, in.Raw+fmt.Sprint(in.Keys))
		return runtime.SendResult{Sent: true}, nil
	}
	a.Turn++
	if f.late {
		return runtime.SendResult{Sent: true}, nil
	}
	f.emit(id, runtime.StatusBusy, runtime.Event{Type: runtime.EventBusy})
	if f.blocks {
		prompt := &runtime.Prompt{ID: "p1", Kind: runtime.PromptApproval, Text: "may it?", Tool: "Bash",
			Options: []runtime.Option{{ID: "allow", Label: "Allow"}}}
		f.emit(id, runtime.StatusBlocked, runtime.Event{Type: runtime.EventBlocked, Prompt: prompt})
		return runtime.SendResult{Sent: true}, nil
	}
	f.finish(a, in.Message)
	if f.lossy {
		return runtime.SendResult{}, runtime.Errorf(runtime.CodeDeliveryUnknown, "the answer was lost")
	}
	return runtime.SendResult{Sent: true}, nil
}

// finishLate begins and ends the turn of a message that was taken.
func (f *fakeRuntime) finishLate(id, text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.emit(id, runtime.StatusBusy, runtime.Event{Type: runtime.EventBusy})
	f.finish(f.agents[id], text)
}

// finish ends a turn. Called with mu held.
func (f *fakeRuntime) finish(a *runtime.Agent, text string) {
	f.emit(a.ID, runtime.StatusBusy, runtime.Event{Type: runtime.EventToolRunning, Tool: &runtime.ToolCall{Name: "Bash"}})
	f.emit(a.ID, runtime.StatusBusy, runtime.Event{Type: runtime.EventTurnComplete, Text: text, Turn: a.Turn})
	f.emit(a.ID, runtime.StatusReady, runtime.Event{Type: runtime.EventReady})
}

func (f *fakeRuntime) Answer(_ context.Context, id string, answer runtime.Answer) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, err := f.running(id)
	if err != nil {
		return err
	}
	if a.Status != runtime.StatusBlocked {
		return runtime.Errorf(runtime.CodeNoPrompt, "nothing is asked")
	}
	f.emit(id, runtime.StatusBusy, runtime.Event{Type: runtime.EventUnblocked, Answered: answer.Choice})
	f.finish(a, "answered "+answer.Choice)
	return nil
}

func (f *fakeRuntime) Stop(_ context.Context, id string, opts runtime.StopOptions) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, err := f.running(id)
	if err != nil || a.Status == runtime.StatusStopped {
		return err
	}
	reason := runtime.ReasonStopped
	if opts.Force {
		reason = runtime.ReasonKilled
	}
	a.Reason = reason
	f.emit(id, runtime.StatusStopped, runtime.Event{Type: runtime.EventStopped, Reason: reason, Exit: &runtime.Exit{Code: 143}})
	return nil
}

func (f *fakeRuntime) Events(ctx context.Context, opts runtime.EventOptions) (runtime.EventStream, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return nil, runtime.Errorf(runtime.CodeUnavailable, "the runtime is not there")
	}
	return &fakeStream{f: f, ctx: ctx, opts: opts}, nil
}

// setDown makes the runtime unreachable, or not.
func (f *fakeRuntime) setDown(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
	close(f.change)
	f.change = make(chan struct{})
}

func (f *fakeRuntime) deliveries() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	out := map[string]int{}
	for id, n := range f.sent {
		out[id] = n
	}
	return out
}

func (f *fakeRuntime) spec(id string) (runtime.Spec, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s, ok := f.specs[id]
	return s, ok
}

func (f *fakeRuntime) keys() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.typed)
}

// fakeStream yields events. It ends when the runtime is down.
type fakeStream struct {
	f    *fakeRuntime
	ctx  context.Context
	opts runtime.EventOptions
}

func (s *fakeStream) Next() (runtime.Event, error) {
	for {
		s.f.mu.Lock()
		change, down := s.f.change, s.f.down
		for _, e := range s.f.events {
			if !down && e.Seq > s.opts.After && (s.opts.AgentID == "" || e.AgentID == s.opts.AgentID) {
				s.opts.After = e.Seq
				s.f.mu.Unlock()
				return e, nil
			}
		}
		s.f.mu.Unlock()
		if down {
			return runtime.Event{}, io.ErrUnexpectedEOF
		}
		select {
		case <-change:
		case <-s.ctx.Done():
			return runtime.Event{}, s.ctx.Err()
		}
	}
}

func (s *fakeStream) Close() error { return nil }
