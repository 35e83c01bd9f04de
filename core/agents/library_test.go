package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent"
)

// relay is a sink that passes messages of all agents to one, and its replies back, as the engine does: a message
// that comes again is the same message.
type relay struct {
	*sink
	svc *agents.Service
	to  string // agent id, set before the first message

	mu    sync.Mutex // guards all below
	asked map[string]core.TaskMessage
	ids   map[string]bool // agent, task and id of each message
	n     int
}

func newRelay() *relay {
	return &relay{sink: newSink(), asked: map[string]core.TaskMessage{}, ids: map[string]bool{}}
}

func (r *relay) MessageReceived(m core.TaskMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := m.AgentID + " " + m.TaskID + " " + m.AskID
	if r.ids[key] {
		return
	}
	r.ids[key] = true
	if m.To == "nobody" {
		m.Refuse(core.Invalid("to", "there is no role nobody"))
		return
	}
	r.n++
	id := fmt.Sprint("msg_", r.n)
	r.asked[id] = m
	r.svc.Ask(r.to, core.AgentMessage{
		MessageID: id, ExecutionID: "exec_1", TaskID: m.TaskID, From: "developer", MessageType: m.MessageType, Topic: m.Topic,
		Content: m.Content, WantsReply: m.MessageType == "question",
	})
}

func (r *relay) MessageReplied(m core.MessageReply) {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked, ok := r.asked[m.MessageID]
	if !ok {
		m.Refuse(core.NotFound("message", m.MessageID))
		return
	}
	r.svc.Reply(asked.AgentID, core.AgentReply{
		MessageID: m.MessageID, AskID: asked.AskID, TaskID: asked.TaskID, From: "cto", Content: m.Content,
	})
}

func (r *relay) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// cutter dials connections that can be cut.
type cutter struct {
	mu    sync.Mutex // guards all below
	conn  net.Conn
	dials int
}

func (c *cutter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn
	c.dials++
	return conn, err
}

// cut cuts the connection and waits for the next.
func (c *cutter) cut(tb testing.TB) {
	tb.Helper()
	c.mu.Lock()
	before := c.dials
	_ = c.conn.Close() // it may be closed already
	c.mu.Unlock()
	coretest.WaitFor(tb, "a new connection", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.dials > before
	})
}

// library starts an agent made with the client library, and returns its id.
func (r *rig) library(o agent.Options) (id string, c *cutter) {
	r.tb.Helper()
	c = &cutter{}
	o.URL, o.DialContext = r.http.URL, c.dial
	o.ReconnectMin, o.ReconnectMax = time.Millisecond, 10*time.Millisecond
	if o.Handler == nil {
		o.Handler = func(context.Context, *agent.Task) (any, error) { return nil, errors.New("no tasks here") }
	}
	a, err := agent.New(o)
	if err != nil {
		r.tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := a.Run(ctx); err != nil {
			r.tb.Errorf("agent %s: %v", o.Name, err)
		}
	}()
	r.tb.Cleanup(func() {
		cancel()
		<-ended
	})
	coretest.WaitFor(r.tb, "the registration of "+o.Name, func() bool { return a.ID() != "" })
	return a.ID(), c
}

func newRelayRig(t *testing.T) (*rig, *relay) {
	s := newRelay()
	r := startRig(t, agents.Config{}, newMemory(t), coretest.NewClock(), s)
	r.sink, s.svc = s.sink, r.svc
	return r, s
}

func TestLibraryAsksAndAnswers(t *testing.T) {
	r, relay := newRelayRig(t)
	told := make(chan string, 1)
	cto, _ := r.library(agent.Options{
		Name: "cto", Capabilities: []string{"decide"},
		OnMessage: func(_ context.Context, m *agent.Incoming) (any, error) {
			var text string
			if err := m.Bind(&text); err != nil {
				return nil, err
			}
			if !m.WantsReply {
				told <- m.From + ": " + text
			}
			return strings.ToUpper(text), nil
		},
	})
	relay.to = cto
	dev, _ := r.library(agent.Options{
		Name: "dev", Capabilities: []string{"code"},
		Handler: func(ctx context.Context, task *agent.Task) (any, error) {
			if err := task.Tell(ctx, agent.Message{Content: "begun"}); err != nil {
				return nil, err
			}
			var refused *agent.MessageError
			if _, err := task.Ask(ctx, agent.Message{To: "nobody", Content: 1}); !errors.As(err, &refused) || refused.Code != "VALIDATION_ERROR" {
				return nil, fmt.Errorf("asking nobody: %w", err)
			}
			reply, err := task.Ask(ctx, agent.Message{Topic: "design", Content: "why <&> \u2028 not?"})
			if err != nil {
				return nil, err
			}
			var text string
			if err := reply.Bind(&text); err != nil {
				return nil, err
			}
			return reply.From + ": " + text, nil
		},
	})
	reserved := r.svc.Reserve(need("code"), 1)
	if len(reserved) != 1 || !r.svc.Dispatch(dev, task("task_1")) {
		t.Fatalf("reserved %v", reserved)
	}
	coretest.WaitFor(t, "the result", func() bool { return len(r.sink.all()) == 1 })
	report := r.sink.all()[0]
	var got string
	if report.Err != nil || json.Unmarshal(report.Result, &got) != nil || got != "cto: WHY <&> \u2028 NOT?" {
		t.Fatalf("report %s %+v", report.Result, report.Err)
	}
	select {
	case text := <-told:
		if text != "developer: begun" {
			t.Errorf("told %q", text)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("what was told did not arrive")
	}
}

// Connections break all the time; every message is answered, with its own answer, and handled once.
func TestLibraryThroughBrokenConnections(t *testing.T) {
	r, relay := newRelayRig(t)
	const tasks, questions = 8, 6
	var mu sync.Mutex
	handled := map[string]int{}
	cto, ctoConn := r.library(agent.Options{
		Name: "cto", Capabilities: []string{"decide"},
		OnMessage: func(_ context.Context, m *agent.Incoming) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			handled[m.MessageID]++
			return m.Content, nil
		},
	})
	relay.to = cto
	dev, devConn := r.library(agent.Options{
		Name: "dev", Capabilities: []string{"code"}, MaxConcurrentTasks: tasks,
		Handler: func(ctx context.Context, task *agent.Task) (any, error) {
			for i := range questions {
				want := fmt.Sprint(task.TaskID, " ", i)
				reply, err := task.Ask(ctx, agent.Message{Content: want})
				if err != nil {
					return nil, err
				}
				var got string
				if err := reply.Bind(&got); err != nil || got != want {
					return nil, fmt.Errorf("asked %q, got %q: %w", want, got, err)
				}
			}
			return questions, nil
		},
	})
	for i := range tasks {
		if !r.svc.Dispatch(dev, task(fmt.Sprint("task_", i))) {
			t.Fatal("dispatch")
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for next := 1; ; next++ { // a cut at every few messages that came through
		want := next * 3
		if want >= tasks*questions {
			break
		}
		coretest.WaitFor(t, "further messages", func() bool { return relay.count() >= want })
		if random.IntN(2) == 0 {
			devConn.cut(t)
		} else {
			ctoConn.cut(t)
		}
	}
	coretest.WaitFor(t, "all results", func() bool {
		done := map[string]bool{} // a report whose acknowledgement was cut off comes again
		for _, report := range r.sink.all() {
			done[report.TaskID] = true
		}
		return len(done) == tasks
	})
	for _, report := range r.sink.all() {
		if report.Err != nil || string(report.Result) != fmt.Sprint(questions) {
			t.Errorf("report on %s: %s %+v", report.TaskID, report.Result, report.Err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if len(handled) != tasks*questions {
		t.Errorf("%d messages were handled, want %d", len(handled), tasks*questions)
	}
	for id, n := range handled {
		if n != 1 {
			t.Errorf("message %s was handled %d times", id, n)
		}
	}
	t.Logf("%d and %d connections", devConn.dials, ctoConn.dials)
}
