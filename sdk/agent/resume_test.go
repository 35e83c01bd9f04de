package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/agenttest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// gate is a handler whose calls are counted, and which answers when the test says so.
type gate struct {
	calls   atomic.Int64
	release chan any // what the next call returns; an error is returned as such
	causes  chan error
}

func newGate() *gate { return &gate{release: make(chan any, 100), causes: make(chan error, 100)} }

func (g *gate) handle(ctx context.Context, _ *agent.Task) (any, error) {
	g.calls.Add(1)
	select {
	case v := <-g.release:
		if err, ok := v.(error); ok {
			return nil, err
		}
		return v, nil
	case <-ctx.Done():
		g.causes <- context.Cause(ctx)
		return nil, ctx.Err()
	}
}

func (g *gate) cause(t *testing.T) error {
	t.Helper()
	select {
	case err := <-g.causes:
		return err
	case <-testContext(t).Done():
		t.Fatal("the handler was not cancelled")
		return nil
	}
}

func TestAgent_ResumeKeepsRunningTask(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	g := newGate()
	a := run(t, srv, g.handle)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	eventually(t, "runs", func() bool { return g.calls.Load() == 1 })
	c.Drop()

	c2 := accept(t, srv)
	want := &protocol.Resume{AgentID: c.Registered.AgentID, Token: c.Registered.ResumeToken, Tasks: []string{"t1"}}
	if !reflect.DeepEqual(c2.Register.Resume, want) {
		t.Fatalf("resume %+v, want %+v", c2.Register.Resume, want)
	}
	if !c2.Registered.Resumed || a.ID() != c.Registered.AgentID {
		t.Errorf("id changed from %s to %s", c.Registered.AgentID, a.ID())
	}
	g.release <- "done"
	if r := nextResult(t, c2); string(r.Result) != `"done"` {
		t.Errorf("result %s", r.Result)
	}
	if n := g.calls.Load(); n != 1 {
		t.Errorf("worked %d times", n)
	}
}

// An agent without tasks lists none, which is not the same as no list: the server repeats cancels to an agent that has none.
func TestAgent_ResumeWithoutTasks(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	run(t, srv, echo)
	accept(t, srv).Drop()
	if got := accept(t, srv).Register.Resume.Tasks; got == nil || len(got) > 0 {
		t.Errorf("resume lists %#v", got)
	}
}

func TestAgent_AnswerIsKeptUntilAcknowledged(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	var calls atomic.Int64
	run(t, srv, func(ctx context.Context, task *agent.Task) (any, error) {
		calls.Add(1)
		return echo(ctx, task)
	})
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	nextResult(t, c)
	for range 3 { // each connection dies before the acknowledgement
		c.Drop()
		c = accept(t, srv)
		if got := c.Register.Resume.Tasks; !reflect.DeepEqual(got, []string{"t1"}) {
			t.Errorf("resume lists %v", got)
		}
		if r := nextResult(t, c); r.TaskID != "t1" || r.Attempt != 1 {
			t.Errorf("sent again %+v", r)
		}
	}
	must(t, c.Ack("t1"))
	must(t, c.Task(task("t2", 1))) // answered after the acknowledgement was read
	nextResult(t, c)
	must(t, c.Ack("t2"))
	must(t, c.Task(task("t3", 1)))
	nextResult(t, c)
	c.Drop()
	c = accept(t, srv)
	if got := c.Register.Resume.Tasks; !reflect.DeepEqual(got, []string{"t3"}) {
		t.Errorf("resume lists %v, want only what is not acknowledged", got)
	}
	if n := calls.Load(); n != 3 {
		t.Errorf("worked %d times on 3 tasks", n)
	}
}

func TestAgent_AnswerOfATimeWithoutConnection(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	g := newGate()
	a := run(t, srv, g.handle)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	eventually(t, "runs", func() bool { return g.calls.Load() == 1 })
	c.Drop()
	g.release <- "late"
	eventually(t, "answered", func() bool { return a.Stats().Unacknowledged == 1 })
	c = accept(t, srv)
	if r := nextResult(t, c); string(r.Result) != `"late"` {
		t.Errorf("result %s", r.Result)
	}
}

func TestAgent_NotResumed(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	g := newGate()
	a := run(t, srv, g.handle)
	c := accept(t, srv)
	must(t, c.Task(task("answered", 1)))
	g.release <- "kept"
	nextResult(t, c)
	must(t, c.Task(task("running", 1)))
	eventually(t, "runs", func() bool { return g.calls.Load() == 2 })
	srv.Forget()
	c.Drop()
	c = accept(t, srv)
	if c.Registered.Resumed {
		t.Fatal("resumed")
	}
	if err := g.cause(t); !errors.Is(err, agent.ErrReassigned) {
		t.Errorf("cause %v", err)
	}
	if r := nextResult(t, c); r.TaskID != "answered" {
		t.Errorf("sent again %+v", r)
	}
	if a.ID() != c.Registered.AgentID {
		t.Errorf("id %s, want the new %s", a.ID(), c.Registered.AgentID)
	}
	must(t, c.Task(task("running", 2))) // the new agent may get the task it lost: it works on it anew
	g.release <- "again"
	if r := nextResult(t, c); r.TaskID != "running" || r.Attempt != 2 {
		t.Errorf("got %+v", r)
	}
}

func TestAgent_SameTaskTwice(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	g := newGate()
	a := run(t, srv, g.handle)
	c := accept(t, srv)

	must(t, c.Task(task("t1", 1)))
	eventually(t, "runs", func() bool { return g.calls.Load() == 1 })
	must(t, c.Task(task("t1", 2))) // while it runs: only the attempt is taken over
	must(t, c.Task(task("t2", 1))) // read after the frame above
	eventually(t, "t2 runs", func() bool { return g.calls.Load() == 2 })
	g.release <- "x"
	g.release <- "x"
	for range 2 {
		if r := nextResult(t, c); r.TaskID == "t1" && r.Attempt != 2 {
			t.Errorf("attempt %d, want the highest", r.Attempt)
		}
	}
	must(t, c.Task(task("t1", 3))) // answered, not acknowledged: the answer is sent again
	if r := nextResult(t, c); r.TaskID != "t1" || r.Attempt != 3 {
		t.Errorf("got %+v", r)
	}
	must(t, c.Ack("t1"))
	eventually(t, "acknowledged", func() bool { return a.Stats().Settled == 1 })
	must(t, c.Task(task("t1", 4))) // acknowledged: answered from memory
	if r := nextResult(t, c); r.TaskID != "t1" || r.Attempt != 4 || string(r.Result) != `"x"` {
		t.Errorf("got %+v", r)
	}
	if n := g.calls.Load(); n != 2 {
		t.Errorf("worked %d times on 2 tasks", n)
	}
}

func TestAgent_RetryableErrorIsTriedAgain(t *testing.T) {
	for _, acked := range []bool{true, false} {
		t.Run(fmt.Sprintf("acknowledged=%t", acked), func(t *testing.T) {
			srv := newServer(t, agenttest.Options{})
			g := newGate()
			a := run(t, srv, g.handle)
			c := accept(t, srv)
			must(t, c.Task(task("t1", 1)))
			g.release <- agent.Retryable(errors.New("busy"))
			nextError(t, c)
			if acked {
				must(t, c.Ack("t1"))
				eventually(t, "settled", func() bool { return a.Stats().Settled == 1 })
			}
			must(t, c.Task(task("t1", 2)))
			must(t, c.Ack("t1")) // of the first attempt, late: it must not settle the second
			g.release <- "ok"
			if r := nextResult(t, c); r.Attempt != 2 || string(r.Result) != `"ok"` {
				t.Errorf("got %+v", r)
			}
		})
	}
}

func TestAgent_FinalErrorIsNotTriedAgain(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	g := newGate()
	a := run(t, srv, g.handle)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	g.release <- errors.New("never")
	nextError(t, c)
	must(t, c.Ack("t1"))
	eventually(t, "settled", func() bool { return a.Stats().Settled == 1 })
	must(t, c.Task(task("t1", 2)))
	if e := nextError(t, c); e.Attempt != 2 || g.calls.Load() != 1 {
		t.Errorf("got %+v after %d calls", e, g.calls.Load())
	}
}

func TestAgent_StateFile(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	path := filepath.Join(t.TempDir(), "state.json")
	g := newGate()
	withState := func(o *agent.Options) { o.StateFile = path }
	run(t, srv, g.handle, withState)
	c := accept(t, srv)
	eventually(t, "saved", func() bool { _, err := os.Stat(path); return err == nil })
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v: the file holds a credential", info.Mode())
	}

	// A second agent on a copy of the file stands for the process that was started anew after a crash.
	crashed := filepath.Join(t.TempDir(), "state.json")
	data, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(crashed, data, 0o600))
	b := run(t, srv, g.handle, func(o *agent.Options) { o.StateFile = crashed })
	c2 := accept(t, srv)
	if r := c2.Register.Resume; r == nil || r.AgentID != c.Registered.AgentID || r.Tasks == nil || len(r.Tasks) != 0 {
		t.Errorf("resume %+v, want the session and an empty list of tasks", r)
	}
	eventually(t, "saved anew", func() bool {
		data, err := os.ReadFile(crashed)
		return err == nil && strings.Contains(string(data), `"`+c2.Registered.ResumeToken+`"`)
	})
	b.stop()
	must(t, b.end())

	// After a graceful end too: a registration token of few uses is used up otherwise.
	run(t, srv, g.handle, func(o *agent.Options) { o.StateFile = crashed })
	c3 := accept(t, srv)
	if r := c3.Register.Resume; r == nil || r.AgentID != c2.Registered.AgentID || r.Token != c2.Registered.ResumeToken {
		t.Errorf("resume %+v after a graceful end, want the last session %+v", r, c2.Registered)
	}
}

// TestAgent_StateFileOfATimeWithoutServer checks that an agent which is started anew while the server is away has its session.
func TestAgent_StateFileOfATimeWithoutServer(t *testing.T) {
	srv := agenttest.NewServer(agenttest.Options{})
	path := filepath.Join(t.TempDir(), "state.json")
	a := run(t, srv, echo, func(o *agent.Options) { o.StateFile = path })
	accept(t, srv)
	eventually(t, "saved", func() bool { _, err := os.Stat(path); return err == nil })
	srv.Close()
	eventually(t, "lost", func() bool { return !a.Connected() })
	a.stop()
	must(t, a.end())
	if _, err := os.Stat(path); err != nil {
		t.Errorf("the session is forgotten, though the server holds it for a resume: %v", err)
	}
}

// TestAgent_LimitThatShrank checks that what a server took before it was started anew with a smaller limit does not end
// each session from then on.
func TestAgent_LimitThatShrank(t *testing.T) {
	srv := newServer(t, agenttest.Options{MaxMessageBytes: 100000})
	big := strings.Repeat("x", 20000)
	run(t, srv, func(ctx context.Context, task *agent.Task) (any, error) {
		switch task.TaskID {
		case "asks":
			_, err := task.Ask(ctx, agent.Message{Content: big})
			return nil, err
		case "fails":
			return nil, &agent.Error{Code: "BIG", Message: "m", Details: map[string]any{"text": big}}
		}
		return big, nil
	})
	c := accept(t, srv)
	for _, id := range []string{"answers", "fails", "asks"} {
		must(t, c.Task(task(id, 1)))
	}
	nextResult(t, c)
	nextError(t, c)
	nextMessage(t, c)
	srv.SetMaxMessageBytes(10000)
	c.Drop()
	c = accept(t, srv)
	got := map[string]string{}
	for range 3 {
		e := nextError(t, c)
		got[e.TaskID] = e.Error.Code
		if e.Error.Details != nil {
			t.Errorf("%s: the details are sent again", e.TaskID)
		}
	}
	want := map[string]string{"answers": agent.CodeResultTooLarge, "fails": "BIG", "asks": agent.CodeAgentError}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if types := c.Types(); len(types) != 0 {
		t.Errorf("sent too: %v", types)
	}
}

func TestAgent_StateFileOfOthers(t *testing.T) {
	for name, content := range map[string]string{
		"broken":      `{"server":`,
		"otherServer": `{"server":"ws://elsewhere/api/agents/connect","name":"tester","agentId":"a","token":"t"}`,
		"otherName":   `{"server":"SERVER","name":"someone","agentId":"a","token":"t"}`,
		"empty":       ``,
	} {
		t.Run(name, func(t *testing.T) {
			srv := newServer(t, agenttest.Options{})
			path := filepath.Join(t.TempDir(), "state.json")
			must(t, os.WriteFile(path, []byte(content), 0o600))
			run(t, srv, echo, func(o *agent.Options) { o.StateFile = path })
			c := accept(t, srv)
			if c.Register.Resume != nil {
				t.Errorf("resume %+v", c.Register.Resume)
			}
			var saved struct{ AgentID string }
			eventually(t, "replaced", func() bool {
				data, err := os.ReadFile(path)
				return err == nil && json.Unmarshal(data, &saved) == nil && saved.AgentID == c.Registered.AgentID
			})
		})
	}
}
