package conformance

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/runtimetest"
)

// mutant is a runtime that breaks one promise.
type mutant struct {
	runtime.Runtime
	calls atomic.Int64

	capabilities func(*runtime.Capabilities, int64)
	spawn        func(runtime.Runtime, runtime.Spec) runtime.Spec
	stop         func(runtime.Runtime, string) error
	inspect      func(*runtime.Agent, error) error
	send         func(runtime.Runtime, string, runtime.Input) runtime.Input
	terminal     func(runtime.Terminal) runtime.Terminal
	event        func(*runtime.Event)
	events       func(*runtime.EventOptions)
	log          func(*runtime.LogLine)
	recovered    func([]runtime.Recovered)
	attach       func(*runtime.AttachOptions)
	prune        func(*runtime.PruneOptions)
}

func (m *mutant) Capabilities(ctx context.Context) (runtime.Capabilities, error) {
	c, err := m.Runtime.Capabilities(ctx)
	if m.capabilities != nil {
		m.capabilities(&c, m.calls.Add(1))
	}
	return c, err
}

func (m *mutant) Spawn(ctx context.Context, spec runtime.Spec) (runtime.Agent, error) {
	if m.spawn != nil {
		spec = m.spawn(m.Runtime, spec)
	}
	return m.Runtime.Spawn(ctx, spec)
}

func (m *mutant) Stop(ctx context.Context, id string, o runtime.StopOptions) error {
	if m.stop != nil {
		if err := m.stop(m.Runtime, id); err != nil {
			return err
		}
	}
	return m.Runtime.Stop(ctx, id, o)
}

func (m *mutant) Inspect(ctx context.Context, id string) (runtime.Agent, error) {
	agent, err := m.Runtime.Inspect(ctx, id)
	if m.inspect != nil {
		err = m.inspect(&agent, err)
	}
	return agent, err
}

func (m *mutant) Send(ctx context.Context, id string, in runtime.Input) (runtime.SendResult, error) {
	if m.send != nil {
		in = m.send(m.Runtime, id, in)
	}
	return m.Runtime.Send(ctx, id, in)
}

func (m *mutant) Attach(ctx context.Context, id string, o runtime.AttachOptions) (runtime.Terminal, error) {
	if m.attach != nil {
		m.attach(&o)
	}
	t, err := m.Runtime.Attach(ctx, id, o)
	if err == nil && m.terminal != nil {
		t = m.terminal(t)
	}
	return t, err
}

func (m *mutant) Events(ctx context.Context, o runtime.EventOptions) (runtime.EventStream, error) {
	if m.events != nil {
		m.events(&o)
	}
	s, err := m.Runtime.Events(ctx, o)
	if err == nil && m.event != nil {
		s = eventMutant{s, m.event}
	}
	return s, err
}

func (m *mutant) Logs(ctx context.Context, id string, o runtime.LogOptions) (runtime.LogStream, error) {
	s, err := m.Runtime.Logs(ctx, id, o)
	if err == nil && m.log != nil {
		s = logMutant{s, m.log}
	}
	return s, err
}

func (m *mutant) Recover(ctx context.Context, handles []runtime.Handle) ([]runtime.Recovered, error) {
	results, err := m.Runtime.Recover(ctx, handles)
	if m.recovered != nil {
		m.recovered(results)
	}
	return results, err
}

func (m *mutant) Prune(ctx context.Context, o runtime.PruneOptions) (runtime.PruneReport, error) {
	if m.prune != nil {
		m.prune(&o)
	}
	return m.Runtime.Prune(ctx, o)
}

type eventMutant struct {
	runtime.EventStream
	change func(*runtime.Event)
}

func (s eventMutant) Next() (runtime.Event, error) {
	event, err := s.EventStream.Next()
	s.change(&event)
	return event, err
}

type logMutant struct {
	runtime.LogStream
	change func(*runtime.LogLine)
}

func (s logMutant) Next() (runtime.LogLine, error) {
	line, err := s.LogStream.Next()
	s.change(&line)
	return line, err
}

// frameMutant changes the frames with data; it counts them.
type frameMutant struct {
	runtime.Terminal
	frames int
	change func(n int, f *runtime.Frame) (drop bool)
	free   bool // takes whatever size and input
}

func (t *frameMutant) Recv() (runtime.Frame, error) {
	for {
		frame, err := t.Terminal.Recv()
		if err != nil || len(frame.Data) == 0 || t.change == nil {
			return frame, err
		}
		if t.frames++; !t.change(t.frames, &frame) {
			return frame, nil
		}
	}
}

func (t *frameMutant) Input(p []byte) error {
	if err := t.Terminal.Input(p); err != nil && !t.free {
		return err
	}
	return nil
}

func (t *frameMutant) Resize(cols, rows int) error {
	if err := t.Terminal.Resize(cols, rows); err != nil && !t.free {
		return err
	}
	return nil
}

func frames(change func(n int, f *runtime.Frame) bool) func(runtime.Terminal) runtime.Terminal {
	return func(t runtime.Terminal) runtime.Terminal { return &frameMutant{Terminal: t, change: change} }
}

func free(t runtime.Terminal) runtime.Terminal { return &frameMutant{Terminal: t, free: true} }

// A suite is worth what it catches: each promise that is broken fails its check.
func TestBrokenPromisesAreCaught(t *testing.T) {
	stopped := map[string]bool{}
	var seq uint64
	for name, test := range map[string]struct {
		check string
		make  *mutant
	}{
		"says something else each time": {"capabilities/stable", &mutant{capabilities: func(c *runtime.Capabilities, n int64) { c.MaxAgents = int(n) }}},
		"knows everybody":               {"unknown/not-found", &mutant{inspect: func(*runtime.Agent, error) error { return nil }}},
		"fails with a foreign error":    {"unknown/not-found", &mutant{inspect: func(*runtime.Agent, error) error { return errors.New("x") }}},
		"corrects bad specs": {"spawn/invalid", &mutant{spawn: func(_ runtime.Runtime, s runtime.Spec) runtime.Spec {
			if s.Workdir != "" {
				s.Workdir = ""
			}
			return s
		}}},
		"forgets names":           {"spawn/ready", &mutant{spawn: func(_ runtime.Runtime, s runtime.Spec) runtime.Spec { s.Name = ""; return s }}},
		"cannot tell specs apart": {"spawn/idempotent", &mutant{spawn: func(_ runtime.Runtime, s runtime.Spec) runtime.Spec { s.Name = ""; return s }}},
		"stops once": {"stop/idempotent", &mutant{stop: func(_ runtime.Runtime, id string) error {
			if stopped[id] {
				return runtime.Errorf(runtime.CodeNotRunning, "stopped already")
			}
			stopped[id] = true
			return nil
		}}},
		"delivers twice": {"send/once", &mutant{send: func(rt runtime.Runtime, id string, in runtime.Input) runtime.Input {
			if in.Message != "" {
				_, _ = rt.Send(context.Background(), id, in)
			}
			return in
		}}},
		"takes an interrupt for a word": {"send/interrupt", &mutant{send: func(_ runtime.Runtime, _ string, in runtime.Input) runtime.Input {
			if in.Interrupt {
				in = runtime.Input{Raw: "x"}
			}
			return in
		}}},
		"forgets ids of messages": {"send/repeat", &mutant{send: func(_ runtime.Runtime, _ string, in runtime.Input) runtime.Input { in.ID = ""; return in }}},
		"drops a frame":           {"output/complete", &mutant{terminal: frames(func(n int, _ *runtime.Frame) bool { return n == 20 })}},
		"counts wrongly":          {"output/complete", &mutant{terminal: frames(func(n int, f *runtime.Frame) bool { f.Offset += uint64(n / 10); return false })}},
		"cuts characters": {"output/unicode", &mutant{terminal: frames(func(_ int, f *runtime.Frame) bool {
			if i := bytes.IndexByte(f.Data, 0xe2); i >= 0 {
				f.Data = f.Data[:i+1]
			}
			return false
		})}},
		"forgets offsets":           {"output/resume", &mutant{attach: func(o *runtime.AttachOptions) { o.From = nil }}},
		"takes input from readers":  {"viewer/read-only", &mutant{terminal: free}},
		"takes any size":            {"viewer/resize", &mutant{terminal: free}},
		"repeats the seq of events": {"events/order", &mutant{event: func(e *runtime.Event) { e.Seq = max(1, seq) }}},
		"loses the agent of events": {"events/order", &mutant{event: func(e *runtime.Event) { e.Agent.ID = "" }}},
		"does not look at the log":  {"events/log", &mutant{events: func(o *runtime.EventOptions) { o.Log = "" }}},
		"begins a log each time":    {"events/log", &mutant{event: func(e *runtime.Event) { e.Log = rand.Text() }}},
		"has no order in its log": {"logs/select", &mutant{log: func(l *runtime.LogLine) {
			l.Timestamp = time.Unix(1<<32-l.Timestamp.Unix(), 0).Add(-time.Duration(l.Timestamp.Nanosecond()))
		}}},
		"mixes up what it recovered": {"recover/known", &mutant{recovered: func(r []runtime.Recovered) { slices.Reverse(r) }}},
		"prunes in a dry run":        {"prune/selects", &mutant{prune: func(o *runtime.PruneOptions) { o.DryRun = false }}},
		"remembers what it pruned":   {"prune/forgets", &mutant{prune: func(o *runtime.PruneOptions) { o.DryRun = true }}},
		"prunes what is to be kept":  {"prune/selects", &mutant{prune: func(o *runtime.PruneOptions) { o.Keep = nil }}},
	} {
		t.Run(name, func(t *testing.T) {
			world := runtimetest.NewWorld()
			defer world.Close()
			m := test.make
			m.Runtime = world.Runtime()
			s := newSuite(RuntimeOptions{Runtime: m, Spec: func(id string) runtime.Spec { return runtime.Spec{ID: id, Type: runtimetest.Type} }})
			all := runtimeChecks()
			i := slices.IndexFunc(all, func(c check[*suite]) bool { return c.name == test.check })
			if i < 0 {
				t.Fatalf("there is no check %s", test.check)
			}
			result := perform(t.Context(), all[i], s, 5*time.Second)
			if result.Err == nil || result.Skipped != "" {
				t.Errorf("a runtime that %s passes %s", name, test.check)
			}
		})
	}
}

func TestNamesOfChecksAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range runtimeChecks() {
		if seen[c.name] || c.about == "" || c.run == nil {
			t.Errorf("the check %q is there twice, or not complete", c.name)
		}
		seen[c.name] = true
	}
}

func TestPanicIsAFailure(t *testing.T) {
	c := check[int]{name: "x", run: func(context.Context, int) error { panic("over the edge") }}
	if result := perform(t.Context(), c, 0, time.Second); result.Err == nil || result.Duration <= 0 {
		t.Errorf("the result is %+v", result)
	}
}
