package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/agenttest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience bounds every wait of these tests; nothing waits for it to pass.
const patience = 20 * time.Second

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func newServer(t *testing.T, opts agenttest.Options) *agenttest.Server {
	t.Helper()
	srv := agenttest.NewServer(opts)
	t.Cleanup(srv.Close)
	return srv
}

// running is an agent under test.
type running struct {
	*agent.Agent
	stop context.CancelFunc
	end  func() error // waits for Run and returns its error
}

// run starts an agent with quick reconnects. It is stopped at the end of the test.
func run(t *testing.T, srv *agenttest.Server, handler agent.Handler, change ...func(*agent.Options)) running {
	t.Helper()
	opts := agent.Options{
		URL: srv.URL, Name: "tester", Capabilities: []string{"testing"}, Handler: handler,
		MaxConcurrentTasks: 4, ReconnectMin: time.Millisecond, ReconnectMax: 20 * time.Millisecond,
	}
	for _, c := range change {
		c(&opts)
	}
	a, err := agent.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- a.Run(ctx) }()
	end := sync.OnceValue(func() error { return <-result })
	t.Cleanup(func() {
		cancel()
		_ = end()
	})
	return running{a, cancel, end}
}

func accept(t *testing.T, srv *agenttest.Server) *agenttest.Conn {
	t.Helper()
	c, err := srv.Accept(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func task(id string, attempt int) protocol.Task {
	return protocol.Task{
		TaskID: id, ExecutionID: "exec-" + id, PatternName: "p", PatternVersion: "1.0.0", Capability: "testing",
		Input: json.RawMessage(`{"text":"hello"}`), Timeout: 30000, Priority: "normal", Attempt: attempt,
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func nextResult(t *testing.T, c *agenttest.Conn) protocol.TaskResult {
	t.Helper()
	var r protocol.TaskResult
	_, err := c.Next(testContext(t), protocol.TypeTaskResult, &r)
	must(t, err)
	return r
}

func nextError(t *testing.T, c *agenttest.Conn) protocol.TaskError {
	t.Helper()
	var r protocol.TaskError
	_, err := c.Next(testContext(t), protocol.TypeTaskError, &r)
	must(t, err)
	return r
}

// eventually waits for a condition that has no channel to wait on.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for ctx := testContext(t); !holds(); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("it never came: %s", what)
		}
	}
}

func echo(_ context.Context, t *agent.Task) (any, error) { return t.Input, nil }

func TestAgent_Result(t *testing.T) {
	for _, inline := range []bool{false, true} {
		t.Run(fmt.Sprintf("inline=%t", inline), func(t *testing.T) {
			srv := newServer(t, agenttest.Options{})
			a := run(t, srv, echo, func(o *agent.Options) {
				o.Inline, o.Region, o.Metadata = inline, "north", map[string]any{"model": "m1"}
			})
			c := accept(t, srv)
			if c.Register.Name != "tester" || c.Register.Region != "north" || c.Register.Config.MaxConcurrentTasks != 4 ||
				c.Register.Metadata["model"] != "m1" || c.Register.Resume != nil {
				t.Errorf("registered as %+v", c.Register)
			}
			must(t, c.Task(task("t1", 3)))
			var r protocol.TaskResult
			f, err := c.Next(testContext(t), protocol.TypeTaskResult, &r)
			must(t, err)
			if f.ID != "f-t1" {
				t.Errorf("the answer has frame id %q, want that of the task", f.ID)
			}
			if r.TaskID != "t1" || r.ExecutionID != "exec-t1" || r.Attempt != 3 || r.Status != "completed" ||
				string(r.Result) != `{"text":"hello"}` {
				t.Errorf("result %+v %s", r, r.Result)
			}
			if a.ID() != c.Registered.AgentID || !a.Connected() {
				t.Errorf("id %q connected %t", a.ID(), a.Connected())
			}
			must(t, c.Ack("t1"))
			eventually(t, "settled", func() bool { return a.Stats().Settled == 1 && a.Stats().Unacknowledged == 0 })
		})
	}
}

func TestAgent_ManyTasksInOneRead(t *testing.T) {
	for _, inline := range []bool{false, true} {
		t.Run(fmt.Sprintf("inline=%t", inline), func(t *testing.T) {
			srv := newServer(t, agenttest.Options{})
			run(t, srv, echo, func(o *agent.Options) { o.Inline, o.MaxConcurrentTasks = inline, 250 })
			c := accept(t, srv)
			const n = 500
			go func() {
				for i := range n {
					_ = c.Task(task(fmt.Sprint("t", i), 1))
				}
			}()
			seen := map[string]bool{}
			for range n {
				r := nextResult(t, c)
				if seen[r.TaskID] {
					t.Fatalf("two results of %s", r.TaskID)
				}
				seen[r.TaskID] = true
				must(t, c.Ack(r.TaskID))
			}
		})
	}
}

func TestAgent_Errors(t *testing.T) {
	srv := newServer(t, agenttest.Options{MaxMessageBytes: 4096})
	run(t, srv, func(_ context.Context, task *agent.Task) (any, error) {
		switch task.TaskID {
		case "plain":
			return nil, errors.New("no idea")
		case "retryable":
			return nil, agent.Retryable(fmt.Errorf("wrapped: %w", errors.New("busy")))
		case "typed":
			return nil, &agent.Error{Code: "MODEL_DOWN", Message: "down", Details: map[string]any{"host": "h1"}, Retryable: true}
		case "badDetails":
			return nil, &agent.Error{Code: "X", Message: "y", Details: map[string]any{"f": func() {}}}
		case "panic":
			panic("boom")
		case "unencodable":
			return make(chan int), nil
		case "brokenRaw":
			return json.RawMessage(`{"a":`), nil
		case "notUTF8":
			return json.RawMessage("\"\xff\""), nil
		case "large":
			return make([]byte, 8000), nil
		case "largeError":
			task.Progress(strings.Repeat("x", 8000)) // dropped
			return nil, agent.Retryable(errors.New(strings.Repeat("é", 4000)))
		case "largeDetails":
			return nil, &agent.Error{Code: "X", Message: "y", Details: map[string]any{"k": strings.Repeat("x", 8000)}}
		}
		var in struct{ Text int }
		return nil, task.Bind(&in)
	})
	c := accept(t, srv)
	for _, tt := range []struct {
		id, code, message string
		retryable         bool
	}{
		{"plain", agent.CodeAgentError, "no idea", false},
		{"retryable", agent.CodeAgentError, "wrapped: busy", true},
		{"typed", "MODEL_DOWN", "down", true},
		{"badDetails", "X", "y", false},
		{"panic", agent.CodePanic, "the handler panicked: boom", false},
		{"unencodable", agent.CodeBadResult, "the result is not JSON: json: unsupported type: chan int", false},
		{"brokenRaw", agent.CodeBadResult, "", false},
		{"notUTF8", agent.CodeBadResult, "the result is not valid UTF-8", false},
		{"large", agent.CodeResultTooLarge, "", false},
		{"largeError", agent.CodeAgentError, strings.Repeat("é", 512) + "...", true},
		{"largeDetails", "X", "y", false},
		{"bind", agent.CodeAgentError, "", false},
	} {
		t.Run(tt.id, func(t *testing.T) {
			must(t, c.Task(task(tt.id, 2)))
			e := nextError(t, c)
			if e.TaskID != tt.id || e.Error.Code != tt.code || e.Retryable != tt.retryable || e.Attempt != 2 {
				t.Errorf("got %+v", e)
			}
			if tt.message != "" && e.Error.Message != tt.message {
				t.Errorf("message %q, want %q", e.Error.Message, tt.message)
			}
			must(t, c.Ack(tt.id))
		})
	}
	if types := c.Types(); len(types) != 0 {
		t.Errorf("sent too: %v", types)
	}
}

func TestAgent_Progress(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	run(t, srv, func(_ context.Context, task *agent.Task) (any, error) {
		task.Progress(`half "way"`)
		if err := task.ProgressData(map[string]int{"percent": 50}); err != nil {
			return nil, err
		}
		if err := task.ProgressData(func() {}); err == nil {
			return nil, errors.New("a func was taken for JSON")
		}
		return 1, nil
	})
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	var p protocol.TaskProgress
	_, err := c.Next(testContext(t), protocol.TypeTaskProgress, &p)
	must(t, err)
	if p.TaskID != "t1" || p.Text != `half "way"` {
		t.Errorf("progress %+v", p)
	}
	_, err = c.Next(testContext(t), protocol.TypeTaskProgress, &p)
	must(t, err)
	if string(p.Data) != `{"percent":50}` {
		t.Errorf("progress data %s", p.Data)
	}
	if r := nextResult(t, c); string(r.Result) != "1" {
		t.Errorf("result %s", r.Result)
	}
}

// TestAgent_EmptyProgressIsNotSent checks that chunks without text, as language models give them, are kept from the server: it
// takes such a frame for a bad one, and a hundred of them end the session for good.
func TestAgent_EmptyProgressIsNotSent(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	run(t, srv, func(_ context.Context, task *agent.Task) (any, error) {
		task.Progress("")
		return 1, nil
	})
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	nextResult(t, c)
	if types := c.Types(); len(types) != 0 {
		t.Errorf("sent too: %v", types)
	}
}

// TestAgent_ProgressIsBounded: an agent that reports every step must not be thrown out for flooding.
func TestAgent_ProgressIsBounded(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	run(t, srv, func(_ context.Context, task *agent.Task) (any, error) {
		for range 2000 {
			task.Progress("step")
		}
		return 1, nil
	})
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	nextResult(t, c)
	if n := len(c.Types()); n == 0 || n > 400 { // 40 in each second the loop took
		t.Errorf("%d progress frames", n)
	}
}

func TestAgent_MaxConcurrentTasks(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	var mu sync.Mutex
	active, most := 0, 0
	release := make(chan struct{})
	a := run(t, srv, func(context.Context, *agent.Task) (any, error) {
		mu.Lock()
		active++
		most = max(most, active)
		mu.Unlock()
		<-release
		mu.Lock()
		active--
		mu.Unlock()
		return true, nil
	}, func(o *agent.Options) { o.MaxConcurrentTasks = 2 })
	c := accept(t, srv)
	for i := range 6 {
		must(t, c.Task(task(fmt.Sprint("t", i), 1)))
	}
	eventually(t, "two run, four wait", func() bool { s := a.Stats(); return s.Running == 2 && s.Queued == 4 })
	eventually(t, "both are in the handler", func() bool { mu.Lock(); defer mu.Unlock(); return active == 2 })
	close(release)
	for range 6 {
		nextResult(t, c)
	}
	mu.Lock()
	defer mu.Unlock()
	if most != 2 {
		t.Errorf("%d handlers ran at once, want 2", most)
	}
}

func TestAgent_Overload(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	release := make(chan struct{})
	run(t, srv, func(context.Context, *agent.Task) (any, error) { <-release; return true, nil },
		func(o *agent.Options) { o.MaxConcurrentTasks = 1 })
	c := accept(t, srv)
	for i := range 100 {
		must(t, c.Task(task(fmt.Sprint("t", i), 1)))
	}
	if e := nextError(t, c); e.Error.Code != agent.CodeOverloaded || !e.Retryable {
		t.Errorf("got %+v", e)
	}
	close(release)
	nextResult(t, c)
}
