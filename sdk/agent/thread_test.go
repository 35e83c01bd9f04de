package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/agenttest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// threadHost is a host made of functions; nil ones do nothing. It keeps the threads that were spawned.
type threadHost struct {
	spawn   func(ctx context.Context, t *agent.Thread) error
	message func(ctx context.Context, t *agent.Thread, m agent.ThreadMessage) error
	stop    func(ctx context.Context, t *agent.Thread, s protocol.ThreadStop) error

	threads chan *agent.Thread
	stops   atomic.Int64
}

func (h *threadHost) Spawn(ctx context.Context, t *agent.Thread) error {
	if h.spawn != nil {
		if err := h.spawn(ctx, t); err != nil {
			return err
		}
	}
	h.threads <- t
	return nil
}

func (h *threadHost) Message(ctx context.Context, t *agent.Thread, m agent.ThreadMessage) error {
	if h.message != nil {
		return h.message(ctx, t, m)
	}
	return nil
}

func (h *threadHost) Answer(_ context.Context, _ *agent.Thread, a protocol.ThreadAnswer) error {
	if a.Choice == "panic" {
		panic("as told")
	}
	return nil
}

func (h *threadHost) Stop(ctx context.Context, t *agent.Thread, s protocol.ThreadStop) error {
	h.stops.Add(1)
	if h.stop != nil {
		return h.stop(ctx, t, s)
	}
	return nil
}

// runThreads runs an agent that hosts threads only, and returns its session.
func runThreads(t *testing.T, h *threadHost, opts agenttest.Options, change ...func(*agent.Options)) (*agenttest.Server, running, *agenttest.Conn) {
	t.Helper()
	h.threads = make(chan *agent.Thread, 100)
	if opts.MessagesPerSecond == 0 {
		opts.MessagesPerSecond = 1000000
	}
	srv := newServer(t, opts)
	a := run(t, srv, nil, append([]func(*agent.Options){func(o *agent.Options) {
		o.Capabilities = nil
		o.Threads = &agent.ThreadOptions{Max: 2, Types: []string{"claude"}, Host: h}
	}}, change...)...)
	return srv, a, accept(t, srv)
}

func spawnThread(t *testing.T, c *agenttest.Conn, id string) {
	t.Helper()
	must(t, c.Send(protocol.TypeThreadSpawn, id, protocol.ThreadSpawn{ThreadID: id, ExecutionID: "exec_1", AgentType: "claude"}))
}

func (h *threadHost) thread(t *testing.T) *agent.Thread {
	t.Helper()
	select {
	case th := <-h.threads:
		return th
	case <-testContext(t).Done():
		t.Fatal("no thread was spawned")
		return nil
	}
}

func nextStatus(t *testing.T, c *agenttest.Conn) (s protocol.ThreadStatus) {
	t.Helper()
	_, err := c.Next(testContext(t), protocol.TypeThreadStatus, &s)
	must(t, err)
	return s
}

func nextEvent(t *testing.T, c *agenttest.Conn) (e protocol.ThreadEvent, id string) {
	t.Helper()
	f, err := c.Next(testContext(t), protocol.TypeThreadEvent, &e)
	must(t, err)
	return e, f.ID
}

func TestThread_Offer(t *testing.T) {
	_, _, c := runThreads(t, &threadHost{}, agenttest.Options{})
	if got, _ := json.Marshal(c.Register.Config.Threads); string(got) != `{"max":2,"types":["claude"]}` {
		t.Errorf("offered %s", got)
	}
	if got := c.Register.Capabilities; len(got) != 1 || got[0] != agent.ThreadsCapability {
		t.Errorf("capabilities %q", got)
	}
	must(t, c.Task(task("t1", 1)))
	if e := nextError(t, c); !e.Retryable {
		t.Errorf("a task of a host was answered with %+v", e)
	}
}

func TestThread_Refusals(t *testing.T) {
	h := &threadHost{spawn: func(ctx context.Context, t *agent.Thread) error {
		switch {
		case strings.HasSuffix(t.Spec.ThreadID, "panic"):
			panic("as told")
		case strings.HasSuffix(t.Spec.ThreadID, "wait"):
			<-ctx.Done()
			return ctx.Err()
		case strings.HasSuffix(t.Spec.ThreadID, "fail"):
			return &agent.Error{Code: "NO_CLI", Message: "it is not installed"}
		}
		return nil
	}}
	_, _, c := runThreads(t, h, agenttest.Options{})
	for id, code := range map[string]string{"thread_panic": agent.CodePanic, "thread_fail": "NO_CLI"} {
		spawnThread(t, c, id)
		if s := nextStatus(t, c); s.Status != protocol.ThreadRefused || s.Code != code || s.ThreadID != id {
			t.Errorf("%s: %+v", id, s)
		}
	}
	spawnThread(t, c, "thread_wait")
	must(t, c.Send(protocol.TypeThreadStop, "", protocol.ThreadStop{ThreadID: "thread_wait"}))
	if s := nextStatus(t, c); s.Status != protocol.ThreadRefused || s.Code != agent.CodeThreadStopped {
		t.Errorf("stopped while it was made: %+v", s)
	}
	must(t, c.Send(protocol.TypeThreadInput, "", protocol.ThreadInput{ThreadID: "thread_x", InputID: "in_1", Message: "m"}))
	if s := nextStatus(t, c); s.Status != protocol.ThreadUnknown || s.InputID != "in_1" {
		t.Errorf("input for nobody: %+v", s)
	}
	spawnThread(t, c, "thread_1")
	spawnThread(t, c, "thread_1")
	nextStatus(t, c)
	for in, want := range map[string]string{
		`{"threadId":"thread_1","inputId":"in_1","answer":{"choice":"panic"}}`: agent.CodePanic,
		`{"threadId":"thread_1","inputId":"in_2","raw":"x"}`:                   agent.CodeNoTerminal,
	} {
		must(t, c.SendText([]byte(`{"type":"thread_input","payload":`+in+`}`)))
		s := nextStatus(t, c)
		for s.Status == protocol.ThreadAccepted { // the second spawn may have come late
			s = nextStatus(t, c)
		}
		if s.Status != protocol.ThreadRefused || s.Code != want {
			t.Errorf("%s: %+v", in, s)
		}
	}
	must(t, c.SendText([]byte(`{"type":"thread_input","payload":{"threadId":"thread_1","inputId":7}}`))) // is skipped
	must(t, c.SendText([]byte(`{"type":"thread_ack","payload":{"threadId":"thread_9","sequence":7}}`)))
	must(t, c.Sync(testContext(t)))
}

// What is told before Spawn returned comes after the word that the thread was accepted, and a message that the host
// does not tell of is told by the library.
func TestThread_MessageIsTaken(t *testing.T) {
	h := &threadHost{spawn: func(ctx context.Context, t *agent.Thread) error { return t.Ready(ctx) }}
	_, _, c := runThreads(t, h, agenttest.Options{})
	spawnThread(t, c, "thread_1")
	if s := nextStatus(t, c); s.Status != protocol.ThreadAccepted {
		t.Fatalf("status %+v", s)
	}
	if e, _ := nextEvent(t, c); e.Type != protocol.ThreadReady || e.Sequence != 1 || e.ExecutionID != "exec_1" || e.Data.OccurredAt.IsZero() {
		t.Fatalf("event %+v", e)
	}
	for range 2 {
		must(t, c.Send(protocol.TypeThreadInput, "", protocol.ThreadInput{ThreadID: "thread_1", InputID: "in_1", Message: "m"}))
	}
	if e, _ := nextEvent(t, c); e.Type != protocol.ThreadBusy || e.InputTaken != "in_1" {
		t.Fatalf("event %+v", e)
	}
	must(t, c.Send(protocol.TypeThreadStop, "", protocol.ThreadStop{ThreadID: "thread_1"}))
	if e, _ := nextEvent(t, c); e.Type != protocol.ThreadStopped || e.Sequence != 3 {
		t.Fatalf("event %+v", e)
	}
	th := h.thread(t)
	if err := th.Say(context.Background(), "more"); !errors.Is(err, agent.ErrThreadOver) {
		t.Fatalf("a thread that is over tells: %v", err)
	}
}

// An answer gets through while a message waits for the agent.
func TestThread_LanesAreApart(t *testing.T) {
	h := &threadHost{message: func(ctx context.Context, _ *agent.Thread, _ agent.ThreadMessage) error {
		<-ctx.Done()
		return context.Cause(ctx)
	}}
	_, _, c := runThreads(t, h, agenttest.Options{})
	spawnThread(t, c, "thread_1")
	nextStatus(t, c)
	must(t, c.Send(protocol.TypeThreadInput, "", protocol.ThreadInput{ThreadID: "thread_1", InputID: "in_1", Message: "m"}))
	for range 2 { // the repeat is answered from memory
		must(t, c.Send(protocol.TypeThreadInput, "", protocol.ThreadInput{
			ThreadID: "thread_1", InputID: "in_2", Answer: &protocol.ThreadAnswer{Choice: "allow"},
		}))
		if s := nextStatus(t, c); s.Status != protocol.ThreadTaken || s.InputID != "in_2" {
			t.Fatalf("status %+v", s)
		}
	}
}

// Tell blocks while too much waits, and goes on once the server has some of it.
func TestThread_BackPressure(t *testing.T) {
	h := &threadHost{}
	_, _, c := runThreads(t, h, agenttest.Options{})
	spawnThread(t, c, "thread_1")
	th := h.thread(t)
	const most = 1024
	for range most {
		must(t, th.Say(testContext(t), "x"))
	}
	short, cancel := context.WithCancelCause(context.Background())
	blocked := make(chan error, 1)
	go func() { blocked <- th.Say(short, "one more") }()
	for range most {
		nextEvent(t, c)
	}
	gaveUp := errors.New("gave up")
	cancel(gaveUp)
	if err := <-blocked; !errors.Is(err, gaveUp) {
		t.Fatalf("telling too much: %v", err)
	}
	go func() { blocked <- th.Say(context.Background(), "at last") }()
	must(t, c.Send(protocol.TypeThreadAck, "", protocol.ThreadAck{ThreadID: "thread_1", Sequence: 10}))
	must(t, <-blocked)
	if e, _ := nextEvent(t, c); e.Sequence != most+1 || e.Data.Text != "at last" {
		t.Fatalf("event %+v", e)
	}
}

func TestThread_RefusedEvents(t *testing.T) {
	h := &threadHost{}
	_, _, c := runThreads(t, h, agenttest.Options{})
	spawnThread(t, c, "thread_1")
	th := h.thread(t)
	refuse := func(id, code string) {
		must(t, c.Send(protocol.TypeError, id, protocol.Error{Code: code, Message: "m"}))
	}
	expect := func(seq uint64, text string) string {
		t.Helper()
		e, id := nextEvent(t, c)
		if e.Sequence != seq || !strings.HasPrefix(e.Data.Text, text) {
			t.Fatalf("event %+v, want %d %q", e, seq, text)
		}
		return id
	}
	for _, text := range []string{"a", "b", "c"} {
		must(t, th.Say(testContext(t), text))
	}
	expect(1, "a")
	id := expect(2, "b")
	expect(3, "c")
	must(t, c.Send(protocol.TypeThreadAck, "", protocol.ThreadAck{ThreadID: "thread_1", Sequence: 1}))
	for _, code := range []string{"CONFLICT", "RATE_LIMITED"} {
		refuse(id, code)
		expect(2, "b")
		expect(3, "c")
	}
	refuse("somebody else's", "RATE_LIMITED")
	expect(2, "b")
	expect(3, "c")
	refuse(id, "VALIDATION_ERROR")
	expect(2, "An event of this thread was refused")
	expect(3, "c")
	refuse(id, "NOT_FOUND")
	eventually(t, "the thread is stopped", func() bool { return h.stops.Load() == 1 })
	<-th.Context().Done()
	if cause := context.Cause(th.Context()); !errors.Is(cause, agent.ErrReassigned) {
		t.Fatalf("cause %v", cause)
	}
}

// An agent that ends takes its threads with it, and says so before it leaves.
func TestThread_GracefulEnd(t *testing.T) {
	h := &threadHost{}
	_, a, c := runThreads(t, h, agenttest.Options{})
	spawnThread(t, c, "thread_1")
	nextStatus(t, c)
	a.stop()
	must(t, a.end())
	if e, _ := nextEvent(t, c); e.Type != protocol.ThreadStopped || h.stops.Load() != 1 {
		t.Fatalf("event %+v after %d stops", e, h.stops.Load())
	}
	_, err := c.Next(testContext(t), protocol.TypeDisconnect, nil)
	must(t, err)
}

// A stop that fails is tried again; one with force comes through while another runs.
// adopting is a threadHost whose agents outlive the process.
type adopting struct{ *threadHost }

func (adopting) Adopt(context.Context, *agent.Thread, string) {}

// TestThread_UnkeptIsStopped checks that an agent which was spawned does not go on for a thread that was refused.
func TestThread_UnkeptIsStopped(t *testing.T) {
	h, state := &threadHost{}, filepath.Join(t.TempDir(), "state")
	_, _, c := runThreads(t, h, agenttest.Options{}, func(o *agent.Options) {
		o.StateFile = state + ".json"
		o.Threads.Host, o.Threads.StateDir = adopting{h}, state
	})
	must(t, os.WriteFile(state, nil, 0o600)) // no directory can be made there now
	spawnThread(t, c, "t1")
	h.thread(t)
	if s := nextStatus(t, c); s.Status != protocol.ThreadRefused || !strings.Contains(s.Message, "cannot be kept") {
		t.Errorf("status %+v", s)
	}
	eventually(t, "its agent is stopped", func() bool { return h.stops.Load() == 1 })
}

// TestThread_ForgottenWhileSpawning checks that an agent which was spawned for a thread that the server forgot meanwhile
// is stopped, although it was not there yet when the thread was given up.
func TestThread_ForgottenWhileSpawning(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	h := &threadHost{spawn: func(context.Context, *agent.Thread) error {
		close(begun)
		<-release // deaf to its context
		return nil
	}}
	srv, _, c := runThreads(t, h, agenttest.Options{})
	spawnThread(t, c, "t1")
	<-begun
	srv.Forget()
	c.Drop()
	accept(t, srv)
	eventually(t, "the thread is given up", func() bool { return h.stops.Load() == 1 })
	close(release)
	h.thread(t)
	eventually(t, "its agent is stopped", func() bool { return h.stops.Load() == 2 })
}

func TestThread_StopWithForce(t *testing.T) {
	h := &threadHost{stop: func(ctx context.Context, t *agent.Thread, s protocol.ThreadStop) error {
		if !s.Force {
			<-ctx.Done()
			return ctx.Err()
		}
		return t.Stopped(ctx, "killed")
	}}
	_, _, c := runThreads(t, h, agenttest.Options{})
	spawnThread(t, c, "thread_1")
	nextStatus(t, c)
	for i, force := range []bool{false, false, true, true} {
		must(t, c.Send(protocol.TypeThreadStop, "", protocol.ThreadStop{ThreadID: "thread_1", Force: force}))
		if i == 0 {
			eventually(t, "the first stop runs", func() bool { return h.stops.Load() == 1 })
		}
	}
	if e, _ := nextEvent(t, c); e.Type != protocol.ThreadStopped || e.Data.Reason != "killed" {
		t.Fatalf("event %+v", e)
	}
	if n := h.stops.Load(); n != 2 {
		t.Fatalf("stopped %d times", n)
	}
}

func TestThread_LargeEventsFit(t *testing.T) {
	h := &threadHost{}
	_, _, c := runThreads(t, h, agenttest.Options{MaxMessageBytes: 20000})
	spawnThread(t, c, "thread_1")
	th := h.thread(t)
	nextStatus(t, c)
	big := strings.Repeat("é\x01", 100000)
	for _, e := range []agent.ThreadEvent{
		{Type: protocol.ThreadMessage, Data: protocol.ThreadData{Text: big}},
		{Type: protocol.ThreadToolRunning, Data: protocol.ThreadData{Tool: &protocol.ThreadTool{Name: "Bash", Input: map[string]any{"a": big}}}},
		{Type: protocol.ThreadBlocked, Data: protocol.ThreadData{Prompt: &protocol.ThreadPrompt{ID: "p", Text: big, Input: map[string]any{"a": func() {}}}}},
	} {
		must(t, th.Tell(testContext(t), e))
		got, _ := nextEvent(t, c)
		if raw, _ := json.Marshal(got); len(raw) > 20000 || got.Type != e.Type {
			t.Errorf("%s: %d bytes", got.Type, len(raw))
		}
	}
	if err := th.Tell(testContext(t), agent.ThreadEvent{Type: protocol.ThreadError, Data: protocol.ThreadData{Reason: big}}); err == nil {
		t.Error("an event that cannot be cut was taken")
	}
	must(t, th.Say(testContext(t), "small"))
	if e, _ := nextEvent(t, c); e.Sequence != 4 {
		t.Errorf("what was not taken left a gap: %+v", e)
	}
}

// TestThread_EventBeyondALimitThatShrank checks that an event which the server would have taken before it was started anew does
// not end each session from then on.
func TestThread_EventBeyondALimitThatShrank(t *testing.T) {
	h := &threadHost{}
	srv, _, c := runThreads(t, h, agenttest.Options{MaxMessageBytes: 100000})
	spawnThread(t, c, "thread_1")
	th := h.thread(t)
	nextStatus(t, c)
	must(t, th.Say(testContext(t), strings.Repeat("x", 20000)))
	nextEvent(t, c)
	srv.SetMaxMessageBytes(10000)
	c.Drop()
	c = accept(t, srv)
	if e, _ := nextEvent(t, c); e.Sequence != 1 || len(e.Data.Text) > 10000 {
		t.Errorf("event %d has %d bytes of text", e.Sequence, len(e.Data.Text))
	}
}

func TestThread_Options(t *testing.T) {
	good := agent.Options{URL: "http://127.0.0.1:1", Name: "n"}
	for words, o := range map[string]agent.ThreadOptions{
		"":                   {Max: 1, Types: []string{"a"}, Host: &threadHost{}},
		"max is 0":           {Types: []string{"a"}, Host: &threadHost{}},
		"types are empty":    {Max: 1, Host: &threadHost{}},
		"host is nil":        {Max: 1, Types: []string{"a"}},
		"a ThreadAdopter":    {Max: 1, Types: []string{"a"}, Host: &threadHost{}, StateDir: "/x"},
		"needs a state file": {Max: 1, Types: []string{"a"}, Host: &threadHost{}, StateDir: "/x"},
	} {
		opts := good
		opts.Threads = &o
		if _, err := agent.New(opts); (words == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got %v", words, err)
		}
	}
}

// Forty lines are enough to host threads.
func ExampleThreadHost() {
	var _ agent.ThreadHost = shout{}
	fmt.Println("a host")
	// Output: a host
}

// shout hosts threads that answer in capitals.
type shout struct{}

func (shout) Spawn(ctx context.Context, t *agent.Thread) error { return t.Ready(ctx) }

func (shout) Message(ctx context.Context, t *agent.Thread, m agent.ThreadMessage) error {
	return errors.Join(
		t.Busy(ctx, m),
		t.TurnComplete(ctx, 1, strings.ToUpper(m.Text)),
		t.Ready(ctx),
	)
}

func (shout) Answer(context.Context, *agent.Thread, protocol.ThreadAnswer) error {
	return errors.New("nothing is asked")
}

func (shout) Stop(context.Context, *agent.Thread, protocol.ThreadStop) error { return nil }
