package runtime_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

func TestLogs(t *testing.T) {
	lines := []runtime.LogLine{
		{Timestamp: noon, Stream: runtime.StreamTerminal, Line: "a"}, {Stream: runtime.StreamOutput, Line: "b\xff"},
	}
	f := &fake{lines: newList(io.EOF, slices.Clone(lines)...)} // the stream reads on while the test goes on
	rt, ctx := dial(t, f), testContext(t)
	opts := runtime.LogOptions{Tail: 5, Since: noon, Follow: true}
	stream, err := rt.Logs(ctx, "a", opts)
	if err != nil {
		t.Fatal(err)
	}
	if want := []any{"a", opts}; !reflect.DeepEqual(f.asked, want) {
		t.Errorf("asked %+v", f.asked)
	}
	lines[1].Line = "b\uFFFD"
	for _, want := range lines {
		if got, err := stream.Next(); err != nil || got != want {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	for range 2 {
		if _, err := stream.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("the end: %v", err)
		}
	}
	if err := stream.Close(); err != nil {
		t.Error(err)
	}
}

func TestEvents(t *testing.T) {
	event := runtime.Event{
		Seq: 7, Log: "log-1", AgentID: "a", Type: runtime.EventTurnComplete, Time: noon, Source: runtime.SourceHook, Agent: fullAgent(),
		Prompt: fullAgent().Prompt, Answered: "allow", Tool: &runtime.ToolCall{Name: "Bash", Input: map[string]any{"a": "b"}},
		Text: "done", Turn: 2, DurationMs: 3, LoginURL: "http://x", Reason: "r",
		TurnOutcome: runtime.TurnOutcome{Interrupted: true, Refused: true, Error: &runtime.TurnError{Code: "C", Message: "m", Retryable: true}, Usage: &runtime.Usage{Model: "m", InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4, Requests: 5, CostUSD: new(0.25)}},
		Exit:        &runtime.Exit{Code: 1, Reason: "x"},
	}
	filled(t, event)
	f := &fake{event: newList(error(runtime.Errorf(runtime.CodeLagged, "too slow")), event)}
	rt, ctx := dial(t, f), testContext(t)
	opts := runtime.EventOptions{AgentID: "a", After: 6, Log: "log-1", Live: true}
	stream, err := rt.Events(ctx, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	if f.asked != opts {
		t.Errorf("asked %+v", f.asked)
	}
	if got, err := stream.Next(); err != nil || !reflect.DeepEqual(got, event) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, event)
	}
	if _, err := stream.Next(); runtime.ErrorCode(err) != runtime.CodeLagged {
		t.Errorf("the end: %v", err)
	}
}

// What a plugin counts of a turn is believed within bounds: the record of a turn could not be kept as JSON otherwise.
func TestOddUsage(t *testing.T) {
	for name, cost := range map[string]float64{"NaN": math.NaN(), "Infinite": math.Inf(1), "Negative": -1, "Huge": 1e300} {
		t.Run(name, func(t *testing.T) {
			odd := runtime.Event{Type: runtime.EventTurnComplete, TurnOutcome: runtime.TurnOutcome{Usage: &runtime.Usage{InputTokens: -1, OutputTokens: math.MaxInt64, CostUSD: &cost}}}
			rt, ctx := dial(t, &fake{event: newList(nil, odd)}), testContext(t)
			stream, err := rt.Events(ctx, runtime.EventOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = stream.Close() }()
			got, err := stream.Next()
			if err != nil {
				t.Fatal(err)
			}
			if want := (runtime.Usage{OutputTokens: wire.MaxTurnTokens}); *got.Usage != want {
				t.Errorf("got %+v", *got.Usage)
			}
			if _, err := json.Marshal(got.Usage); err != nil {
				t.Error(err)
			}
		})
	}
}

// Whichever side ends a stream, both ends of it end: goleak looks for what stays.
func TestStreamsEnd(t *testing.T) {
	for _, by := range []string{"Cancel", "Close"} {
		t.Run(by, func(t *testing.T) {
			logs, events, term := newList[runtime.LogLine](nil), newList[runtime.Event](nil), newScreen(nil)
			rt := dial(t, &fake{lines: logs, event: events, open: func(runtime.AttachOptions) runtime.Terminal { return term }})
			ctx, cancel := context.WithCancel(testContext(t))
			defer cancel()
			l, err := rt.Logs(ctx, "a", runtime.LogOptions{Follow: true})
			if err != nil {
				t.Fatal(err)
			}
			e, err := rt.Events(ctx, runtime.EventOptions{})
			if err != nil {
				t.Fatal(err)
			}
			v, err := rt.Attach(ctx, "a", runtime.AttachOptions{})
			if err != nil {
				t.Fatal(err)
			}
			ends := make(chan error, 3)
			go func() { _, err := l.Next(); ends <- err }()
			go func() { _, err := e.Next(); ends <- err }()
			go func() { _, err := v.Recv(); ends <- err }()
			if by == "Cancel" {
				cancel()
			} else {
				for _, c := range []io.Closer{l, e, v, v} {
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				}
			}
			for range 3 {
				err := within(t, "the end of a stream", ends)
				if by == "Close" && !errors.Is(err, io.EOF) || by == "Cancel" && !errors.Is(err, context.Canceled) {
					t.Errorf("ended with %v", err)
				}
			}
			within(t, "the end of the logs at the runtime", logs.done)
			within(t, "the end of the events at the runtime", events.done)
			within(t, "the end of the terminal at the runtime", term.done)
			if err := v.Input([]byte("x")); err == nil {
				t.Error("an ended terminal takes input")
			}
		})
	}
}

func TestAttach(t *testing.T) {
	big := []byte(strings.Repeat("0123456789abcdef", 20<<10)) // 320 KiB: five messages
	frames := []runtime.Frame{
		{Data: big, Offset: 1 << 40, Repaint: true, Cols: 120, Rows: 40},
		{Data: []byte("a\xff"), Offset: 1<<40 + 2, Lost: 3},
		{Cols: 80, Rows: 25, Offset: 1<<40 + 2},
		{Offset: 1<<40 + 2, Exit: &runtime.Exit{Code: 130, Reason: "stopped"}},
	}
	term := newScreen(io.EOF, frames...)
	f := &fake{open: func(runtime.AttachOptions) runtime.Terminal { return term }}
	rt, ctx := dial(t, f), testContext(t)
	from := uint64(9)
	opts := runtime.AttachOptions{ReadOnly: true, From: &from, Tail: 100, Cols: 80, Rows: 25}
	filled(t, opts)
	v, err := rt.Attach(ctx, "a", opts)
	if err != nil {
		t.Fatal(err)
	}
	if want := []any{"a", opts}; !reflect.DeepEqual(f.asked, want) {
		t.Errorf("asked %+v", f.asked)
	}
	for i, want := range frames {
		got, err := v.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Data, want.Data) {
			t.Errorf("frame %d: %d bytes, want %d", i, len(got.Data), len(want.Data))
		}
		got.Data, want.Data = nil, nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("frame %d: got %+v", i, got)
		}
	}
	if _, err := v.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("after the exit: %v", err)
	}
	if err := v.Input([]byte("x")); runtime.ErrorCode(err) != runtime.CodeForbidden {
		t.Errorf("input on a read-only terminal: %v", err)
	}
}

func TestAttachTyping(t *testing.T) {
	term := newScreen(nil)
	rt, ctx := dial(t, &fake{open: func(runtime.AttachOptions) runtime.Terminal { return term }}), testContext(t)
	v, err := rt.Attach(ctx, "a", runtime.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	long := strings.Repeat("x", 200<<10)
	if err := v.Input([]byte(long)); err != nil {
		t.Fatal(err)
	}
	if err := v.Resize(80, 25); err != nil {
		t.Fatal(err)
	}
	for _, size := range [][2]int{{0, 1}, {1, 0}, {1001, 1}, {1, 100000}} {
		if err := v.Resize(size[0], size[1]); runtime.ErrorCode(err) != runtime.CodeInvalidArgument {
			t.Errorf("resize to %v: %v", size, err)
		}
	}
	eventually(t, "the typing and the size", func() bool {
		typed, sizes := term.state()
		return typed == long && len(sizes) == 1 && sizes[0] == [2]int{80, 25}
	})
}

// What was typed last arrives, also when the viewer leaves at once.
func TestAttachTypesAndLeaves(t *testing.T) {
	var term *screen
	rt, ctx := dial(t, &fake{open: func(runtime.AttachOptions) runtime.Terminal { return term }}), testContext(t)
	for i := range 50 {
		term = newScreen(nil)
		v, err := rt.Attach(ctx, "a", runtime.AttachOptions{})
		if err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat("x", 40<<10)
		if err := v.Input([]byte(long)); err != nil {
			t.Fatal(err)
		}
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := v.Recv(); !errors.Is(err, io.EOF) {
			t.Fatalf("Recv after Close: %v", err)
		}
		if typed, _ := term.state(); typed != long {
			t.Fatalf("round %d: of %d bytes %d arrived", i, len(long), len(typed))
		}
	}
}

// A refused input does not end the terminal; the next call tells of it.
func TestAttachInputFails(t *testing.T) {
	term := newScreen(nil, runtime.Frame{Data: []byte("a")})
	term.refuse = runtime.Errorf(runtime.CodeNotRunning, "it has ended")
	rt, ctx := dial(t, &fake{open: func(runtime.AttachOptions) runtime.Terminal { return term }}), testContext(t)
	v, err := rt.Attach(ctx, "a", runtime.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan error, 1)
	go func() {
		for {
			if _, err := v.Recv(); err != nil {
				received <- err
				return
			}
		}
	}()
	eventually(t, "the refusal", func() bool {
		err := v.Input([]byte("x"))
		return runtime.ErrorCode(err) == runtime.CodeNotRunning && err.Error() == "NOT_RUNNING: it has ended"
	})
	_ = v.Close()
	if err := within(t, "the end", received); !errors.Is(err, io.EOF) {
		t.Errorf("ended with %v", err)
	}
}

func TestAttachFails(t *testing.T) {
	term := newScreen(error(runtime.Errorf(runtime.CodeUnavailable, "the holder is gone")))
	rt, ctx := dial(t, &fake{open: func(runtime.AttachOptions) runtime.Terminal { return term }}), testContext(t)
	v, err := rt.Attach(ctx, "a", runtime.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := v.Recv(); runtime.ErrorCode(err) != runtime.CodeUnavailable {
		t.Errorf("got %v", err)
	}
	if _, err := v.Recv(); !errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
	eventually(t, "the end of input", func() bool { return v.Input([]byte("x")) != nil })
}

// stuck is a terminal whose program does not read: Input waits until the terminal is closed.
type stuck struct {
	*screen
	typing chan struct{}
}

func (s *stuck) Input([]byte) error {
	close(s.typing)
	<-s.done
	return nil
}

func TestAttachEndsWhileInputWaits(t *testing.T) {
	term := &stuck{newScreen(nil), make(chan struct{})}
	rt := dial(t, &fake{open: func(runtime.AttachOptions) runtime.Terminal { return term }})
	v, err := rt.Attach(testContext(t), "a", runtime.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := v.Input([]byte("x")); err != nil {
		t.Fatal(err)
	}
	within(t, "the typing", term.typing)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	within(t, "the end of the terminal at the runtime", term.done)
}

// A viewer that does not read holds up nobody else.
func TestStalledViewer(t *testing.T) {
	data := bytes.Repeat([]byte("x"), 32<<10)
	open := func(runtime.AttachOptions) runtime.Terminal { return &endless{data: data, done: make(chan struct{})} }
	rt, ctx := dial(t, &fake{open: open}), testContext(t)
	stalled, err := rt.Attach(ctx, "a", runtime.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stalled.Close() }()
	v, err := rt.Attach(ctx, "a", runtime.AttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	for range 1000 {
		if _, err := v.Recv(); err != nil {
			t.Fatal(err)
		}
	}
}

// endless sends the same for ever.
type endless struct {
	data []byte
	done chan struct{}
	once sync.Once
}

func (e *endless) Recv() (runtime.Frame, error) {
	select {
	case <-e.done:
		return runtime.Frame{}, io.EOF
	default:
		return runtime.Frame{Data: e.data}, nil
	}
}
func (e *endless) Input([]byte) error    { return nil }
func (e *endless) Resize(int, int) error { return nil }
func (e *endless) Close() error {
	e.once.Do(func() { close(e.done) })
	return nil
}

func eventually(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	deadline, tick := time.NewTimer(15*time.Second), time.NewTicker(time.Millisecond)
	defer deadline.Stop()
	defer tick.Stop()
	for !ok() {
		select {
		case <-deadline.C:
			tb.Fatalf("%s: not in time", what)
		case <-tick.C:
		}
	}
}
