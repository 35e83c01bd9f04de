package runtime_test

import (
	"context"
	"io"
	"sync"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// fake is a Runtime that records its calls, and answers what the test set.
type fake struct {
	runtime.Unimplemented
	asked any
	agent runtime.Agent
	caps  runtime.Capabilities
	sent  runtime.SendResult
	meter runtime.Metrics
	found []runtime.Recovered
	prune runtime.PruneReport
	err   error
	open  func(opts runtime.AttachOptions) runtime.Terminal
	lines runtime.LogStream
	event runtime.EventStream
}

func (f *fake) Capabilities(context.Context) (runtime.Capabilities, error) { return f.caps, f.err }

func (f *fake) Spawn(_ context.Context, spec runtime.Spec) (runtime.Agent, error) {
	f.asked = spec
	return f.agent, f.err
}

func (f *fake) Stop(_ context.Context, id string, opts runtime.StopOptions) error {
	f.asked = []any{id, opts}
	return f.err
}

func (f *fake) Restart(_ context.Context, id string, _ runtime.RestartOptions) (runtime.Agent, error) {
	f.asked = id
	return f.agent, f.err
}

func (f *fake) Inspect(ctx context.Context, id string) (runtime.Agent, error) {
	f.asked = id
	if id == "wait" {
		<-ctx.Done()
		return runtime.Agent{}, ctx.Err()
	}
	return f.agent, f.err
}

func (f *fake) List(_ context.Context, filter runtime.ListFilter) ([]runtime.Agent, error) {
	f.asked = filter
	return []runtime.Agent{f.agent, f.agent}, f.err
}

func (f *fake) Send(_ context.Context, id string, in runtime.Input) (runtime.SendResult, error) {
	f.asked = []any{id, in}
	return f.sent, f.err
}

func (f *fake) Answer(_ context.Context, id string, answer runtime.Answer) error {
	f.asked = []any{id, answer}
	return f.err
}

func (f *fake) Attach(_ context.Context, id string, opts runtime.AttachOptions) (runtime.Terminal, error) {
	f.asked = []any{id, opts}
	if f.err != nil {
		return nil, f.err
	}
	return f.open(opts), nil
}

func (f *fake) Logs(_ context.Context, id string, opts runtime.LogOptions) (runtime.LogStream, error) {
	f.asked = []any{id, opts}
	return f.lines, f.err
}

func (f *fake) Metrics(_ context.Context, id string) (runtime.Metrics, error) {
	f.asked = id
	return f.meter, f.err
}

func (f *fake) Events(_ context.Context, opts runtime.EventOptions) (runtime.EventStream, error) {
	f.asked = opts
	return f.event, f.err
}

func (f *fake) Recover(_ context.Context, handles []runtime.Handle) ([]runtime.Recovered, error) {
	f.asked = handles
	return f.found, f.err
}

func (f *fake) Prune(_ context.Context, opts runtime.PruneOptions) (runtime.PruneReport, error) {
	f.asked = opts
	return f.prune, f.err
}

// list yields items, then an error, or waits for Close without one.
type list[T any] struct {
	items []T
	err   error
	done  chan struct{}
	once  sync.Once
}

func newList[T any](err error, items ...T) *list[T] {
	return &list[T]{items: items, err: err, done: make(chan struct{})}
}

func (l *list[T]) Next() (T, error) {
	var none T
	if len(l.items) > 0 {
		item := l.items[0]
		l.items = l.items[1:]
		return item, nil
	}
	if l.err != nil {
		return none, l.err
	}
	<-l.done
	return none, io.EOF
}

func (l *list[T]) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// screen is a Terminal made of frames, which keeps what is typed.
type screen struct {
	*list[runtime.Frame]
	mu     sync.Mutex
	typed  []byte
	sizes  [][2]int
	refuse error
}

func newScreen(err error, frames ...runtime.Frame) *screen {
	return &screen{list: newList(err, frames...)}
}

func (s *screen) Recv() (runtime.Frame, error) { return s.Next() }

func (s *screen) Input(p []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.typed = append(s.typed, p...)
	return s.refuse
}

func (s *screen) Resize(cols, rows int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizes = append(s.sizes, [2]int{cols, rows})
	return s.refuse
}

func (s *screen) state() (string, [][2]int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.typed), s.sizes
}
