package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/agenttest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// asker asks once for each task and returns the reply, or the error's text.
func asker(ctx context.Context, t *agent.Task) (any, error) {
	reply, err := t.Ask(ctx, agent.Message{Topic: "design", To: "cto", Content: map[string]string{"text": "why?"}})
	if err != nil {
		return nil, err
	}
	var text string
	if err := reply.Bind(&text); err != nil {
		return nil, err
	}
	return reply.From + " says " + text, nil
}

func nextMessage(t *testing.T, c *agenttest.Conn) (string, protocol.Message) {
	t.Helper()
	var m protocol.Message
	e, err := c.Next(testContext(t), protocol.TypeMessage, &m)
	must(t, err)
	if e.ID == "" {
		t.Fatal("a message without an id")
	}
	return e.ID, m
}

func sendReply(t *testing.T, c *agenttest.Conn, askID, text string) {
	t.Helper()
	raw, err := json.Marshal(text)
	must(t, err)
	must(t, c.Send(protocol.TypeMessageReply, askID, protocol.MessageReply{MessageID: "msg_1", TaskID: "t1", From: "cto", Content: raw}))
}

func refuse(t *testing.T, c *agenttest.Conn, askID, code string) {
	t.Helper()
	must(t, c.Send(protocol.TypeError, askID, protocol.Error{Code: code, Message: "no"}))
}

func nextReply(t *testing.T, c *agenttest.Conn) protocol.MessageReply {
	t.Helper()
	var r protocol.MessageReply
	_, err := c.Next(testContext(t), protocol.TypeMessageReply, &r)
	must(t, err)
	return r
}

func TestAsk(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	run(t, srv, asker)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	id, m := nextMessage(t, c)
	if m.TaskID != "t1" || m.MessageType != "question" || m.Topic != "design" || m.To != "cto" || string(m.Content) != `{"text":"why?"}` {
		t.Errorf("message %+v", m)
	}
	sendReply(t, c, "ask-of-another", "nonsense")
	sendReply(t, c, id, "because")
	sendReply(t, c, id, "twice")
	if r := nextResult(t, c); string(r.Result) != `"cto says because"` {
		t.Errorf("result %s", r.Result)
	}
}

// An unanswered message is sent again by each session, under the same id.
func TestAsk_SurvivesReconnects(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	run(t, srv, asker)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	id, _ := nextMessage(t, c)
	for range 3 {
		c.Drop()
		c = accept(t, srv)
		if again, _ := nextMessage(t, c); again != id {
			t.Fatalf("sent again as %s, first as %s", again, id)
		}
	}
	sendReply(t, c, id, "because")
	nextResult(t, c)
}

func TestAsk_NewProcessNewIDs(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	seen := map[string]bool{}
	for range 2 {
		a := run(t, srv, asker)
		c := accept(t, srv)
		must(t, c.Task(task("t1", 1)))
		id, _ := nextMessage(t, c)
		if seen[id] {
			t.Fatalf("two agents use the id %s", id)
		}
		seen[id] = true
		a.stop()
		must(t, a.end())
	}
}

func TestAsk_Ends(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(t *testing.T, srv *agenttest.Server, c *agenttest.Conn, a running, askID string)
		want func(err error) bool
	}{
		{"refused", func(t *testing.T, _ *agenttest.Server, c *agenttest.Conn, _ running, id string) {
			refuse(t, c, id, "VALIDATION_ERROR")
		}, func(err error) bool {
			var refused *agent.MessageError
			return errors.As(err, &refused) && refused.Code == "VALIDATION_ERROR" && refused.Message == "no"
		}},
		{"cancelled", func(t *testing.T, _ *agenttest.Server, c *agenttest.Conn, _ running, _ string) {
			must(t, c.Cancel("t1", "not needed"))
		}, func(err error) bool {
			var cancelled *agent.CancelledError
			return errors.As(err, &cancelled) && cancelled.Reason == "not needed"
		}},
		{"reassigned", func(t *testing.T, srv *agenttest.Server, c *agenttest.Conn, _ running, _ string) {
			srv.Forget()
			c.Drop()
			accept(t, srv)
		}, func(err error) bool { return errors.Is(err, agent.ErrReassigned) }},
		{"stopped", func(_ *testing.T, _ *agenttest.Server, _ *agenttest.Conn, a running, _ string) {
			a.stop()
		}, func(err error) bool { return errors.Is(err, agent.ErrStopped) }},
	} {
		for _, whose := range []string{"the handler's context", "a context of its own"} {
			t.Run(tt.name+" with "+whose, func(t *testing.T) {
				srv := newServer(t, agenttest.Options{})
				errs := make(chan error, 1)
				a := run(t, srv, func(ctx context.Context, task *agent.Task) (any, error) {
					if whose != "the handler's context" {
						ctx = context.Background()
					}
					_, err := task.Ask(ctx, agent.Message{Content: 1})
					errs <- err
					return nil, err
				})
				c := accept(t, srv)
				must(t, c.Task(task("t1", 1)))
				id, _ := nextMessage(t, c)
				tt.end(t, srv, c, a, id)
				select {
				case err := <-errs:
					if !tt.want(err) {
						t.Errorf("error %v", err)
					}
				case <-testContext(t).Done():
					t.Fatal("Ask did not return")
				}
			})
		}
	}
}

func TestAsk_Impossible(t *testing.T) {
	srv := newServer(t, agenttest.Options{MaxMessageBytes: 5000})
	kept := make(chan *agent.Task, 1)
	errs := make(chan error, 10)
	run(t, srv, func(ctx context.Context, task *agent.Task) (any, error) {
		ask := func(ctx context.Context, content any) {
			_, err := task.Ask(ctx, agent.Message{Content: content})
			errs <- err
		}
		ask(ctx, func() {})
		ask(ctx, json.RawMessage("\"\xff\""))
		ask(ctx, string(make([]byte, 5000)))
		gone, cancel := context.WithCancelCause(ctx)
		cancel(errors.New("my own reason"))
		ask(gone, 1)
		errs <- task.Tell(ctx, agent.Message{Content: func() {}})
		kept <- task
		return 1, nil
	})
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	nextResult(t, c)
	for i, refused := range []bool{true, true, true, false, true} {
		err := <-errs
		var bad *agent.MessageError
		if errors.As(err, &bad) != refused || err == nil {
			t.Errorf("%d: error %v", i, err)
		}
	}
	over := <-kept
	if _, err := over.Ask(testContext(t), agent.Message{Content: 1}); !errors.Is(err, agent.ErrTaskOver) {
		t.Errorf("asked after the task: %v", err)
	}
	if err := over.Tell(testContext(t), agent.Message{Content: 1}); !errors.Is(err, agent.ErrTaskOver) {
		t.Errorf("told after the task: %v", err)
	}
	if types := c.Types(); len(types) != 0 {
		t.Errorf("sent %v", types)
	}
}

func TestAsk_Inline(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	run(t, srv, func(ctx context.Context, task *agent.Task) (any, error) {
		if err := task.Tell(ctx, agent.Message{Content: "on it"}); err != nil {
			return nil, err
		}
		_, err := task.Ask(ctx, agent.Message{Content: 1})
		return errors.Is(err, agent.ErrInline), nil
	}, func(o *agent.Options) { o.Inline = true })
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	if _, m := nextMessage(t, c); m.MessageType != "feedback" || string(m.Content) != `"on it"` {
		t.Errorf("told %+v", m)
	}
	if r := nextResult(t, c); string(r.Result) != "true" {
		t.Errorf("result %s", r.Result)
	}
}

// What the server dropped for its rate, or does not know yet, is sent again.
func TestAsk_SentAgainWhenItHelps(t *testing.T) {
	for _, code := range []string{"RATE_LIMITED", "NOT_FOUND"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			srv := newServer(t, agenttest.Options{})
			run(t, srv, asker)
			c := accept(t, srv)
			must(t, c.Task(task("t1", 1)))
			must(t, c.Task(task("t2", 1)))
			first, _ := nextMessage(t, c)
			second, _ := nextMessage(t, c)
			refuse(t, c, first, code)
			again := map[string]bool{}
			want := 1
			if code == "RATE_LIMITED" { // the other was sent in the same second: it may be gone too
				want = 2
			}
			for range want {
				id, _ := nextMessage(t, c)
				again[id] = true
			}
			if !again[first] || (want == 2 && !again[second]) {
				t.Errorf("sent again %v, first sent %s and %s", again, first, second)
			}
			sendReply(t, c, first, "because")
			nextResult(t, c)
			refuse(t, c, second, "CONFLICT")
			nextError(t, c)
		})
	}
}

// What was told is sent again when the server dropped it for its rate, or does not know the task yet.
func TestTell_SentAgainWhenItHelps(t *testing.T) {
	for _, code := range []string{"RATE_LIMITED", "NOT_FOUND"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			srv := newServer(t, agenttest.Options{})
			end := make(chan struct{})
			run(t, srv, func(ctx context.Context, task *agent.Task) (any, error) {
				for _, content := range []string{"first", "second"} {
					if err := task.Tell(ctx, agent.Message{Content: content}); err != nil {
						return nil, err
					}
				}
				select {
				case <-end:
				case <-ctx.Done():
				}
				return 1, nil
			})
			c := accept(t, srv)
			must(t, c.Task(task("t1", 1)))
			first, _ := nextMessage(t, c)
			second, _ := nextMessage(t, c)
			refuse(t, c, first, code)
			want := map[string]string{first: `"first"`}
			if code == "RATE_LIMITED" { // the other was sent in the same second: it may be gone too
				want[second] = `"second"`
			}
			again := map[string]string{}
			for range want {
				id, m := nextMessage(t, c)
				again[id] = string(m.Content)
			}
			if !maps.Equal(again, want) {
				t.Errorf("told again %v, want %v", again, want)
			}
			close(end)
			nextResult(t, c)
		})
	}
}

func TestTell(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	begin := make(chan struct{})
	told := make(chan error, 3)
	end := make(chan struct{})
	run(t, srv, func(ctx context.Context, task *agent.Task) (any, error) {
		told <- task.Tell(ctx, agent.Message{Type: "escalation", To: "cto", Content: "first"})
		<-begin
		told <- task.Tell(ctx, agent.Message{Content: "second"})
		<-end
		return 1, nil
	})
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	must(t, <-told)
	id, m := nextMessage(t, c)
	if m.TaskID != "t1" || m.MessageType != "escalation" || m.To != "cto" || string(m.Content) != `"first"` {
		t.Errorf("told %+v", m)
	}
	c.Drop()
	close(begin)
	c = accept(t, srv)
	must(t, <-told)
	if again, m := nextMessage(t, c); again != id || string(m.Content) != `"first"` {
		t.Errorf("told again %s %+v, want %s", again, m, id)
	}
	if _, m := nextMessage(t, c); string(m.Content) != `"second"` || m.MessageType != "feedback" {
		t.Errorf("told %+v", m)
	}
	close(end)
	nextResult(t, c)
	c.Drop()
	c = accept(t, srv)
	nextResult(t, c) // what was told comes before the answer, while the task is open
	if types := c.Types(); len(types) != 2 {
		t.Errorf("sent besides the answer: %v", types)
	}
}

func TestMessages_NotTooFast(t *testing.T) {
	srv := newServer(t, agenttest.Options{MessagesPerSecond: 20})
	var sent atomic.Int64
	run(t, srv, func(ctx context.Context, task *agent.Task) (any, error) {
		for i := range 1000 {
			if err := task.Tell(ctx, agent.Message{Content: i}); err != nil {
				return nil, err
			}
			sent.Add(1)
		}
		return 1, nil
	})
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1)))
	// A share of 8 a second, and as many at once: the ninth waits.
	for range 9 {
		nextMessage(t, c)
	}
	must(t, c.Cancel("t1", "enough"))
	if n := sent.Load(); n > 100 {
		t.Errorf("%d messages were sent at once", n)
	}
}

func delivery(id string, wantsReply bool) protocol.MessageDelivery {
	return protocol.MessageDelivery{
		MessageID: id, ExecutionID: "e1", TaskID: "t9", From: "developer", MessageType: "question", Topic: "design",
		Content: json.RawMessage(`{"text":"why?"}`), WantsReply: wantsReply,
	}
}

func deliver(t *testing.T, c *agenttest.Conn, m protocol.MessageDelivery) {
	t.Helper()
	must(t, c.Send(protocol.TypeMessage, m.MessageID, m))
}

func TestOnMessage(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	var mu sync.Mutex
	seen := map[string]int{}
	run(t, srv, echo, func(o *agent.Options) {
		o.OnMessage = func(_ context.Context, m *agent.Incoming) (any, error) {
			mu.Lock()
			seen[m.MessageID]++
			n := seen[m.MessageID]
			mu.Unlock()
			switch m.MessageID {
			case "fails":
				if n == 1 {
					return nil, errors.New("not now")
				}
			case "panics":
				panic("at the disco")
			case "odd":
				return func() {}, nil
			}
			var in struct{ Text string }
			if err := m.Bind(&in); err != nil {
				return nil, err
			}
			return map[string]string{"answer": "to " + in.Text + " of " + m.From}, nil
		}
	})
	c := accept(t, srv)
	deliver(t, c, delivery("msg_1", true))
	if r := nextReply(t, c); r.MessageID != "msg_1" || string(r.Content) != `{"answer":"to why? of developer"}` {
		t.Errorf("reply %+v %s", r, r.Content)
	}
	deliver(t, c, delivery("msg_1", true)) // again: answered from memory
	if r := nextReply(t, c); r.MessageID != "msg_1" || string(r.Content) != `{"answer":"to why? of developer"}` {
		t.Errorf("reply %+v %s", r, r.Content)
	}
	deliver(t, c, delivery("msg_2", false)) // only told that it arrived
	if r := nextReply(t, c); r.MessageID != "msg_2" || r.Content != nil {
		t.Errorf("reply %+v %s", r, r.Content)
	}
	for _, id := range []string{"", "panics", "odd", "fails"} { // no reply
		deliver(t, c, delivery(id, true))
	}
	eventually(t, "the handler failed", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return seen["fails"] == 1
	})
	var r protocol.MessageReply
	eventually(t, "an answer on another try", func() bool { // it is still at work until its error was noted
		deliver(t, c, delivery("fails", true))
		mu.Lock()
		defer mu.Unlock()
		return seen["fails"] == 2
	})
	if r = nextReply(t, c); r.MessageID != "fails" {
		t.Errorf("reply %+v", r)
	}
	mu.Lock()
	defer mu.Unlock()
	if seen["msg_1"] != 1 || seen["msg_2"] != 1 || seen[""] != 0 {
		t.Errorf("handled %v", seen)
	}
}

func TestOnMessage_WithoutHandler(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	run(t, srv, echo)
	c := accept(t, srv)
	deliver(t, c, delivery("question", true))
	deliver(t, c, delivery("note", false))
	if r := nextReply(t, c); r.MessageID != "note" || r.Content != nil {
		t.Errorf("reply %+v", r)
	}
}

// At most so many handlers run at once; the others wait, and none is lost.
func TestOnMessage_Concurrency(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	var running, most, calls atomic.Int64
	release := make(chan struct{})
	run(t, srv, echo, func(o *agent.Options) {
		o.MaxConcurrentMessages = 2
		o.OnMessage = func(ctx context.Context, m *agent.Incoming) (any, error) {
			calls.Add(1)
			n := running.Add(1)
			defer running.Add(-1)
			for old := most.Load(); n > old && !most.CompareAndSwap(old, n); old = most.Load() {
			}
			select {
			case <-release:
				return m.MessageID, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	})
	c := accept(t, srv)
	for i := range 20 {
		deliver(t, c, delivery(fmt.Sprint("msg_", i), true))
	}
	eventually(t, "two at work", func() bool { return running.Load() == 2 })
	deliver(t, c, delivery("msg_0", true)) // known, and not taken twice
	close(release)
	got := map[string]int{}
	for range 21 { // the repeat is answered again, as its first answer might have been lost
		got[nextReply(t, c).MessageID]++
	}
	if len(got) != 20 || got["msg_0"] != 2 || calls.Load() != 20 || most.Load() > 2 {
		t.Errorf("%d calls, at most %d at once, replies %v", calls.Load(), most.Load(), got)
	}
}

// What waits is bounded; the rest is dropped, and comes again when the server sends it again.
func TestOnMessage_Flood(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	release := make(chan struct{})
	var calls atomic.Int64
	run(t, srv, echo, func(o *agent.Options) {
		o.MaxConcurrentMessages = 1
		o.OnMessage = func(ctx context.Context, _ *agent.Incoming) (any, error) {
			calls.Add(1)
			select {
			case <-release:
				return nil, errors.New("no reply") // replies would be sent at their pace
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	})
	c := accept(t, srv)
	const most = 1 + 1024
	for i := range most + 100 {
		deliver(t, c, delivery(fmt.Sprint("msg_", i), true))
	}
	must(t, c.Sync(testContext(t)))
	close(release)
	eventually(t, "all that waited were handled", func() bool { return calls.Load() == most })
	deliver(t, c, delivery(fmt.Sprint("msg_", most+1), true))
	eventually(t, "room for another", func() bool { return calls.Load() == most+1 })
}

// A message whose handler outlives the connection is answered on the next; with another session it is dropped.
func TestOnMessage_AcrossReconnects(t *testing.T) {
	srv := newServer(t, agenttest.Options{})
	release := make(chan string)
	causes := make(chan error, 1)
	run(t, srv, echo, func(o *agent.Options) {
		o.OnMessage = func(ctx context.Context, _ *agent.Incoming) (any, error) {
			select {
			case text := <-release:
				return text, nil
			case <-ctx.Done():
				causes <- context.Cause(ctx)
				return nil, ctx.Err()
			}
		}
	})
	c := accept(t, srv)
	deliver(t, c, delivery("msg_1", true))
	must(t, c.Sync(testContext(t)))
	c.Drop()
	c = accept(t, srv)
	must(t, c.Sync(testContext(t)))
	release <- "late"
	if r := nextReply(t, c); string(r.Content) != `"late"` {
		t.Errorf("reply %s", r.Content)
	}
	deliver(t, c, delivery("msg_2", true))
	must(t, c.Sync(testContext(t)))
	srv.Forget()
	c.Drop()
	c = accept(t, srv)
	select {
	case err := <-causes:
		if !errors.Is(err, agent.ErrReassigned) {
			t.Errorf("cause %v", err)
		}
	case <-testContext(t).Done():
		t.Fatal("the handler was not cancelled")
	}
	must(t, c.Task(task("t1", 1)))
	nextResult(t, c)
	if types := c.Types(); len(types) != 0 {
		t.Errorf("sent %v for an agent that is gone", types)
	}
}
