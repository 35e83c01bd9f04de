// Package examples_test runs the example agents of every language against a scripted server and holds them
// to the same promises. A language whose runtime is missing is skipped, unless WARDROOM_REQUIRE_REAL is 1.
package examples_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/agenttest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// patience bounds every wait; nothing waits for it to pass. Interpreters start slowly on a busy machine.
const patience = 60 * time.Second

// languages are the examples: build returns the command that runs one, without its flags.
var languages = []struct {
	name  string
	build func(t *testing.T) []string
	// think is the flag value for half a second.
	think string
	// script returns the command of an agent whose tasks say what it does, or is nil.
	script func(t *testing.T, command []string) []string
}{
	{"go", buildGo, "500ms", nil},
	{"python", buildPython, "0.5", scriptPython},
	{"typescript", buildTypeScript, "0.5", scriptTypeScript},
}

func TestExamples(t *testing.T) {
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			command := l.build(t)
			t.Run("Work", func(t *testing.T) { testWork(t, command) })
			t.Run("Resume", func(t *testing.T) { testResume(t, append(command, "--think", l.think)) })
			t.Run("Cancel", func(t *testing.T) { testCancel(t, append(command, "--think", l.think)) })
			t.Run("Refused", func(t *testing.T) { testRefused(t, command) })
			t.Run("Answer", func(t *testing.T) { testAnswer(t, command) })
			t.Run("Ask", func(t *testing.T) { testAsk(t, append(command, "--ask")) })
			t.Run("Heartbeat", func(t *testing.T) { testHeartbeat(t, command) })
			t.Run("NewInterval", func(t *testing.T) { testNewInterval(t, command) })
			t.Run("RetryAfter", func(t *testing.T) { testRetryAfter(t, command) })
			if l.script != nil { // the library for Go has tests of its own
				script := l.script(t, command)
				t.Run("Pause", func(t *testing.T) { testPause(t, command) })
				t.Run("Progress", func(t *testing.T) { testProgress(t, script) })
				t.Run("TooLarge", func(t *testing.T) { testTooLarge(t, script) })
				t.Run("Clock", func(t *testing.T) { testClock(t, script) })
				t.Run("Unknown", func(t *testing.T) { testUnknown(t, script) })
				t.Run("Limited", func(t *testing.T) { testLimited(t, script) })
				t.Run("TellLimited", func(t *testing.T) { testTellLimited(t, script) })
				t.Run("TellAgain", func(t *testing.T) { testTellAgain(t, script) })
				t.Run("TellMuch", func(t *testing.T) { testTellMuch(t, script) })
				t.Run("TellMuchAgain", func(t *testing.T) { testTellMuchAgain(t, script) })
				t.Run("TellCancelled", func(t *testing.T) { testTellCancelled(t, script) })
				t.Run("Exact", func(t *testing.T) { testExact(t, script) })
				t.Run("ExactNested", func(t *testing.T) { testExactNested(t, script) })
				t.Run("State", func(t *testing.T) { testState(t, script) })
				t.Run("StateStays", func(t *testing.T) { testStateStays(t, script) })
				t.Run("Forgets", func(t *testing.T) { testForgets(t, script) })
				t.Run("LimitThatShrank", func(t *testing.T) { testLimitThatShrank(t, script) })
			}
			if l.name == "python" {
				t.Run("Unreadable", func(t *testing.T) { testUnreadable(t, command) })
				t.Run("OwnError", func(t *testing.T) { testOwnError(t, l.script(t, command)) })
			}
		})
	}
}

// testWork holds an agent to its answers, and to keeping them until they are acknowledged.
func testWork(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{Token: "secret"})
	p := start(t, srv, command)
	c := accept(t, srv)
	if c.Register.Resume != nil || !reflect.DeepEqual(c.Register.Capabilities, []string{"urgency"}) ||
		c.Register.Config.MaxConcurrentTasks != 4 {
		t.Errorf("registered as %+v", c.Register)
	}
	for _, tt := range []struct{ id, text, want string }{
		{"low", "Thanks, lovely product.", `{"urgency":"low","confidence":0.6}`},
		{"normal", "My parcel is lost.", `{"urgency":"normal","confidence":0.7}`},
		{"high", "URGENT: we cannot log in, outage?", `{"urgency":"high","confidence":0.9}`},
	} {
		must(t, c.Task(task(tt.id, 1, tt.text)))
		r := result(t, c)
		if r.TaskID != tt.id || r.ExecutionID != "exec-"+tt.id || r.Attempt != 1 || !sameJSON(t, r.Result, tt.want) {
			t.Errorf("%s: got %+v %s, want %s", tt.id, r, r.Result, tt.want)
		}
	}
	must(t, c.Ack("low"))
	must(t, c.Ack("normal"))
	must(t, c.Task(task("empty", 1, "")))
	var e protocol.TaskError
	next(t, c, protocol.TypeTaskError, &e)
	if e.TaskID != "empty" || e.Error.Code != "AGENT_ERROR" || e.Error.Message != "input.text is missing" || e.Retryable {
		t.Errorf("got %+v", e)
	}
	must(t, c.Ack("empty"))
	must(t, c.Task(task("low", 2, "Thanks, lovely product."))) // acknowledged before: answered from memory
	if r := result(t, c); r.TaskID != "low" || r.Attempt != 2 {
		t.Errorf("got %+v", r)
	}
	must(t, c.Ack("low"))
	must(t, c.Task(task("last", 1, "fine"))) // after its answer, the acknowledgements were read
	result(t, c)

	first := c.Registered
	c.Drop()
	c = accept(t, srv)
	want := &protocol.Resume{AgentID: first.AgentID, Token: first.ResumeToken, Tasks: []string{"high", "last"}}
	if !reflect.DeepEqual(c.Register.Resume, want) {
		t.Errorf("resume %+v, want %+v", c.Register.Resume, want)
	}
	again := map[string]bool{result(t, c).TaskID: true, result(t, c).TaskID: true}
	if !again["high"] || !again["last"] {
		t.Errorf("sent again %v", again)
	}
	p.terminate(t)
	next(t, c, protocol.TypeDisconnect, nil)
	if err := p.wait(); err != nil {
		t.Errorf("exit: %v", err)
	}
}

// testResume cuts the connection in the middle of a task: with a resume the task goes on, without it ends.
func testResume(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{Token: "secret"})
	start(t, srv, command)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1, "all is lost")))
	must(t, c.Task(task("t1", 2, "all is lost"))) // the same again while it runs: only the attempt counts
	c = reconnect(t, srv, c)
	if c.Register.Resume == nil || !c.Registered.Resumed {
		t.Fatalf("resume %+v", c.Register.Resume)
	}
	if got := c.Register.Resume.Tasks; !reflect.DeepEqual(got, []string{"t1"}) {
		t.Errorf("resume lists %v", got)
	}
	if r := result(t, c); r.TaskID != "t1" || r.Attempt != 2 {
		t.Errorf("got %+v", r)
	}
	must(t, c.Ack("t1"))

	must(t, c.Task(task("t2", 1, "down")))
	srv.Forget()
	c = reconnect(t, srv, c)
	if c.Registered.Resumed {
		t.Fatal("resumed")
	}
	must(t, c.Task(task("t3", 1, "down")))
	if r := result(t, c); r.TaskID != "t3" {
		t.Errorf("got a result of %s, which was given to others", r.TaskID)
	}
}

// reconnect cuts the connection once the agent has read what was sent, and returns the next one.
func reconnect(t *testing.T, srv *agenttest.Server, c *agenttest.Conn) *agenttest.Conn {
	t.Helper()
	must(t, c.Sync(testContext(t)))
	c.Drop()
	return accept(t, srv)
}

func testCancel(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{Token: "secret"})
	start(t, srv, command)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1, "x")))
	must(t, c.Cancel("t1", "not needed"))
	must(t, c.Task(task("t2", 1, "x")))
	if r := result(t, c); r.TaskID != "t2" {
		t.Errorf("got a result of %s, which was cancelled", r.TaskID)
	}
	if types := c.Types(); len(types) != 0 {
		t.Errorf("reported too: %v", types)
	}
}

// testRefused holds an agent to giving up where trying again is in vain.
func testRefused(t *testing.T, command []string) {
	t.Run("Credential", func(t *testing.T) {
		srv := newServer(t, agenttest.Options{Token: "another"})
		wantExit(t, start(t, srv, command), 1)
	})
	t.Run("Registration", func(t *testing.T) {
		srv := newServer(t, agenttest.Options{Refuse: func(protocol.Register) *protocol.Error {
			return &protocol.Error{Code: "FORBIDDEN", Message: "not you", Fatal: true}
		}})
		wantExit(t, start(t, srv, command), 1)
	})
	t.Run("Disconnected", func(t *testing.T) {
		srv := newServer(t, agenttest.Options{})
		p := start(t, srv, command)
		must(t, accept(t, srv).Close(4403, "disconnected by an operator"))
		wantExit(t, p, 1)
	})
}

// testAnswer holds an agent to answering messages of other roles, and again those that come again.
func testAnswer(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	message := protocol.MessageDelivery{
		MessageID: "msg_1", ExecutionID: "e1", TaskID: "t9", From: "developer", MessageType: "question",
		Content: json.RawMessage(`{"text":"My parcel is lost."}`), WantsReply: true,
	}
	var r protocol.MessageReply
	for range 2 {
		must(t, c.Send(protocol.TypeMessage, "msg_1", message))
		if next(t, c, protocol.TypeMessageReply, &r); r.MessageID != "msg_1" || !sameJSON(t, r.Content, `{"urgency":"normal","confidence":0.7}`) {
			t.Errorf("reply %+v %s", r, r.Content)
		}
		must(t, c.Sync(testContext(t)))
		c.Drop()
		c = accept(t, srv)
	}
	odd := message
	odd.MessageID, odd.Content = "msg_2", json.RawMessage(`7`) // no reply
	must(t, c.Send(protocol.TypeMessage, "msg_2", odd))
	note := message
	note.MessageID, note.WantsReply = "msg_3", false
	must(t, c.Send(protocol.TypeMessage, "msg_3", note))
	r = protocol.MessageReply{}
	if next(t, c, protocol.TypeMessageReply, &r); r.MessageID != "msg_3" || r.Content != nil {
		t.Errorf("reply %+v %s", r, r.Content)
	}
}

// testAsk cuts the connection while a question is open: it is asked again, and its reply is used.
func testAsk(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1, "Thanks, lovely product.")))
	var m protocol.Message
	first, err := c.Next(testContext(t), protocol.TypeMessage, &m)
	must(t, err)
	if first.ID == "" || m.TaskID != "t1" || m.MessageType != "question" || m.Topic != "urgency" ||
		!sameJSON(t, m.Content, `{"text":"Thanks, lovely product."}`) {
		t.Errorf("asked %+v %s", first, first.Payload)
	}
	c = reconnect(t, srv, c)
	again, err := c.Next(testContext(t), protocol.TypeMessage, nil)
	must(t, err)
	if again.ID != first.ID {
		t.Errorf("asked again as %s, first as %s", again.ID, first.ID)
	}
	reply := protocol.MessageReply{MessageID: "msg_1", TaskID: "t1", From: "cto", Content: json.RawMessage(`{"urgency":"high"}`)}
	must(t, c.Send(protocol.TypeMessageReply, "ask-of-another", reply))
	must(t, c.Send(protocol.TypeMessageReply, first.ID, reply))
	must(t, c.Send(protocol.TypeMessageReply, first.ID, reply))
	if r := result(t, c); !sameJSON(t, r.Result, `{"urgency":"high","confidence":0.8,"toldBy":"cto"}`) {
		t.Errorf("result %s", r.Result)
	}

	must(t, c.Task(task("t2", 1, "Thanks.")))
	second, err := c.Next(testContext(t), protocol.TypeMessage, nil)
	must(t, err)
	must(t, c.Send(protocol.TypeError, second.ID, protocol.Error{Code: "VALIDATION_ERROR", Message: "nobody is asked about urgency"}))
	if r := result(t, c); !sameJSON(t, r.Result, `{"urgency":"low","confidence":0.6}`) {
		t.Errorf("result %s", r.Result)
	}
}

func testHeartbeat(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{Heartbeat: 20 * time.Millisecond})
	start(t, srv, command)
	c := accept(t, srv)
	for range 3 {
		var h protocol.Heartbeat
		next(t, c, protocol.TypeHeartbeat, &h)
		if h.Status != protocol.StatusHealthy || h.ActiveTasks != 0 {
			t.Errorf("got %+v", h)
		}
	}
}

// testProgress has a handler that reports without end: the server gets no more than it takes.
func testProgress(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{MessagesPerSecond: 10})
	start(t, srv, command)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1, "progress")))
	result(t, c)
	if n := len(c.Types()); n < 1 || n > 2*4 { // the second may end within
		t.Errorf("%d frames of progress", n)
	}
}

// testTooLarge has handlers send what the server does not take: it would end the connection, and come again with the next.
func testTooLarge(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{MaxMessageBytes: 8192})
	start(t, srv, command)
	c := accept(t, srv)
	for _, text := range []string{"large progress", "empty progress"} {
		must(t, c.Task(task(text, 1, text)))
		result(t, c)
	}
	must(t, c.Task(task("t2", 1, "large question")))
	var e protocol.TaskError
	next(t, c, protocol.TypeTaskError, &e)
	if e.Error.Code != "AGENT_ERROR" || !strings.Contains(e.Error.Message, "VALIDATION_ERROR: content: the message") {
		t.Errorf("got %+v", e)
	}
	must(t, c.Send(protocol.TypeMessage, "msg_1", protocol.MessageDelivery{
		MessageID: "msg_1", ExecutionID: "e1", TaskID: "t9", From: "developer", MessageType: "question",
		Content: json.RawMessage(`"large"`), WantsReply: true,
	}))
	must(t, c.Task(task("t3", 1, "")))
	result(t, c)
	if types := c.Types(); len(types) != 0 {
		t.Errorf("sent too: %v", types)
	}
}

// testClock lets the time of a task pass while it waits for a reply: it stands still.
func testClock(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	short := func(id, text string) {
		t.Helper()
		work := task(id, 1, text)
		work.Timeout = 400
		must(t, c.Task(work))
	}
	short("t1", "ask")
	asked, err := c.Next(testContext(t), protocol.TypeMessage, nil)
	must(t, err)
	short("t2", "wait")
	var e protocol.TaskError
	if next(t, c, protocol.TypeTaskError, &e); e.TaskID != "t2" || e.Error.Code != "TIMEOUT" || !e.Retryable {
		t.Errorf("got %+v", e)
	}
	must(t, c.Send(protocol.TypeMessageReply, asked.ID, protocol.MessageReply{MessageID: "m1", TaskID: "t1", From: "user", Content: json.RawMessage(`7`)}))
	if r := result(t, c); r.TaskID != "t1" || !sameJSON(t, r.Result, `7`) {
		t.Errorf("got %+v", r)
	}
	short("t3", "ask and wait") // it goes on after the reply
	asked, err = c.Next(testContext(t), protocol.TypeMessage, nil)
	must(t, err)
	must(t, c.Send(protocol.TypeMessageReply, asked.ID, protocol.MessageReply{MessageID: "m2", TaskID: "t3", From: "user", Content: json.RawMessage(`7`)}))
	if next(t, c, protocol.TypeTaskError, &e); e.TaskID != "t3" || e.Error.Code != "TIMEOUT" {
		t.Errorf("got %+v", e)
	}
}

// testUnknown asks a server that has not taken up its tasks yet: the question is sent again.
func testUnknown(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1, "ask")))
	asked, err := c.Next(testContext(t), protocol.TypeMessage, nil)
	must(t, err)
	must(t, c.Send(protocol.TypeError, asked.ID, protocol.Error{Code: "NOT_FOUND", Message: "the task is not known"}))
	again, err := c.Next(testContext(t), protocol.TypeMessage, nil)
	must(t, err)
	if again.ID != asked.ID {
		t.Errorf("asked again as %s, first as %s", again.ID, asked.ID)
	}
}

// testLimited drops questions for their rate, of which a server names one a second at most: all are asked again.
func testLimited(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	asked := map[string]string{} // task by id of the message
	ask := func() string {
		t.Helper()
		var m protocol.Message
		f, err := c.Next(testContext(t), protocol.TypeMessage, &m)
		must(t, err)
		asked[f.ID] = m.TaskID
		return f.ID
	}
	must(t, c.Task(task("t1", 1, "ask")))
	must(t, c.Task(task("t2", 1, "ask")))
	first := ask()
	ask()
	for _, id := range []string{first, "of something else"} {
		must(t, c.Send(protocol.TypeError, id, protocol.Error{Code: "RATE_LIMITED", Message: "frames are dropped"}))
		ask()
		ask()
		if len(asked) != 2 {
			t.Fatalf("asked again under other ids: %v", asked)
		}
	}
	for id, of := range asked {
		must(t, c.Send(protocol.TypeMessageReply, id, protocol.MessageReply{MessageID: id, TaskID: of, From: "user", Content: json.RawMessage(`7`)}))
		if r := result(t, c); r.TaskID != of || !sameJSON(t, r.Result, `7`) {
			t.Errorf("got %+v", r)
		}
	}
}

// testState has an agent whose state cannot be kept work on.
func testState(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, append([]string{"env", "STATE=" + filepath.Join(t.TempDir(), "missing", "state")}, command...))
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1, "")))
	result(t, c)
}

// testStateStays ends an agent gracefully and starts it anew: it shows its last session, so that a registration token of few uses
// is not used again.
func testStateStays(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	state := filepath.Join(t.TempDir(), "state")
	command = append([]string{"env", "STATE=" + state}, command...)
	p := start(t, srv, command)
	first := accept(t, srv)
	must(t, first.Task(task("t1", 1, "")))
	result(t, first) // the session is kept by now
	p.terminate(t)
	next(t, first, protocol.TypeDisconnect, nil)
	must(t, p.wait())
	start(t, srv, command)
	if r := accept(t, srv).Register.Resume; r == nil || r.AgentID != first.Registered.AgentID || r.Token != first.Registered.ResumeToken {
		t.Errorf("resume %+v, want %+v", r, first.Registered)
	}
}

// testForgets has an agent give large answers: those that were acknowledged are not all held in memory.
func testForgets(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	give := func(id string) string {
		t.Helper()
		must(t, c.Task(task(id, 1, "huge answer")))
		answer := string(result(t, c).Result)
		must(t, c.Ack(id))
		return answer[len(answer)-2 : len(answer)-1] // which answer it was
	}
	for i := range 6 { // a megabyte each
		give(fmt.Sprint("t", i))
	}
	if n := give("t5"); n != "6" {
		t.Errorf("the latest was worked on again: it is answer %s", n)
	}
	if n := give("t0"); n != "7" {
		t.Errorf("answer %s is held still", n)
	}
}

// testLimitThatShrank has a server come back that takes less than the agent holds for it: that would end each session.
func testLimitThatShrank(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	must(t, c.Task(task("t1", 1, "large answer")))
	result(t, c)
	must(t, c.Task(task("t2", 1, "large question")))
	next(t, c, protocol.TypeMessage, nil)
	srv.SetMaxMessageBytes(8192)
	c = reconnect(t, srv, c)
	for range 2 {
		var e protocol.TaskError
		next(t, c, protocol.TypeTaskError, &e)
		if e.Error.Code != map[string]string{"t1": "RESULT_TOO_LARGE", "t2": "AGENT_ERROR"}[e.TaskID] || e.Attempt != 1 {
			t.Errorf("got %+v", e)
		}
	}
	if types := c.Types(); len(types) != 0 {
		t.Errorf("sent too: %v", types)
	}
}

// testUnreadable sends what is no frame: it is skipped.
func testUnreadable(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	for _, text := range []string{
		"no JSON", `7`, `{"type":"task","payload":[]}`, `{"type":"task","payload":{}}`, `{"type":"task_ack"}`, strings.Repeat("[", 100000),
	} {
		must(t, c.SendText([]byte(text)))
	}
	must(t, c.Task(task("t1", 1, "x")))
	result(t, c)
}

// testOwnError has handlers raise what asyncio itself raises: it is an error of theirs.
func testOwnError(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	for _, text := range []string{"raise TimeoutError", "raise CancelledError"} {
		must(t, c.Task(task(text, 1, text)))
		var e protocol.TaskError
		if next(t, c, protocol.TypeTaskError, &e); e.TaskID != text || e.Error.Code != "AGENT_ERROR" || e.Retryable {
			t.Errorf("%s: got %+v", text, e)
		}
	}
}

// testPause drops sessions that were of no use, and ends one for too many frames: the agent does not come back at once.
func testPause(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{})
	start(t, srv, command)
	c := accept(t, srv)
	began := time.Now()
	for range 5 {
		c = reconnect(t, srv, c)
	}
	if took := time.Since(began); took < 775*time.Millisecond { // the half of 50 ms and on to 800 ms
		t.Errorf("it came back five times within %v", took)
	}
	must(t, c.Ack("unknown")) // of use
	must(t, c.Sync(testContext(t)))
	must(t, c.Close(4429, "too many frames"))
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := srv.Accept(ctx); err == nil {
		t.Error("it came back at once after too many frames")
	}
}

// testNewInterval makes the interval of heartbeats shorter: the server counts silence by it from then on.
func testNewInterval(t *testing.T, command []string) {
	srv := newServer(t, agenttest.Options{Heartbeat: time.Hour})
	start(t, srv, command)
	c := accept(t, srv)
	must(t, c.Send(protocol.TypeConfigUpdate, "", protocol.ConfigUpdate{Config: protocol.RegisteredConfig{HeartbeatInterval: 50}, Reason: "test"}))
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		_, err := c.Next(ctx, protocol.TypeHeartbeat, nil)
		cancel()
		must(t, err)
	}
}

// testRetryAfter refuses agents for a time: they stay away for as long.
func testRetryAfter(t *testing.T, command []string) {
	tries := make(chan struct{}, 100)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "30")
		w.WriteHeader(http.StatusServiceUnavailable)
		tries <- struct{}{}
	}))
	t.Cleanup(srv.Close)
	p := start(t, &agenttest.Server{URL: srv.URL}, command)
	select {
	case <-tries:
	case <-testContext(t).Done():
		t.Fatal("it never came")
	}
	select {
	case <-tries:
		t.Error("it came back at once, though it was asked not to")
	case <-time.After(300 * time.Millisecond): // five waits of an agent that was not asked
	}
	p.terminate(t)
	if err := p.wait(); err != nil { // the wait does not hold up its end
		t.Errorf("exit: %v", err)
	}
}

func task(id string, attempt int, text string) protocol.Task {
	input, _ := json.Marshal(map[string]string{"text": text})
	return protocol.Task{
		TaskID: id, ExecutionID: "exec-" + id, PatternName: "p", PatternVersion: "1.0.0", Capability: "urgency",
		Input: input, Timeout: 30000, Priority: "normal", Attempt: attempt,
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sameJSON(t *testing.T, got json.RawMessage, want string) bool {
	t.Helper()
	var g, w any
	must(t, json.Unmarshal(got, &g))
	must(t, json.Unmarshal([]byte(want), &w))
	return reflect.DeepEqual(g, w)
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func newServer(t *testing.T, opts agenttest.Options) *agenttest.Server {
	t.Helper()
	srv := agenttest.NewServer(opts)
	t.Cleanup(srv.Close)
	return srv
}

func accept(t *testing.T, srv *agenttest.Server) *agenttest.Conn {
	t.Helper()
	c, err := srv.Accept(testContext(t))
	must(t, err)
	return c
}

func next(t *testing.T, c *agenttest.Conn, typ protocol.Type, v any) {
	t.Helper()
	_, err := c.Next(testContext(t), typ, v)
	must(t, err)
}

func result(t *testing.T, c *agenttest.Conn) protocol.TaskResult {
	t.Helper()
	var r protocol.TaskResult
	next(t, c, protocol.TypeTaskResult, &r)
	return r
}

// process is a running example. Its output is shown when the test fails.
type process struct {
	cmd    *exec.Cmd
	wait   func() error
	output bytes.Buffer // whole once wait returned
}

func start(t *testing.T, srv *agenttest.Server, command []string) *process {
	t.Helper()
	args := append(command[1:len(command):len(command)], "--server", srv.URL, "--name", "example")
	cmd := exec.Command(command[0], args...)
	p := &process{cmd: cmd, wait: sync.OnceValue(cmd.Wait)}
	cmd.Stdout, cmd.Stderr = &p.output, &p.output
	cmd.Env = append(os.Environ(), "WARDROOM_TOKEN=secret", "PYTHONDONTWRITEBYTECODE=1")
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may be gone
		_ = p.wait()
		if t.Failed() {
			t.Logf("output of %v:\n%s", cmd.Args, p.output.Bytes())
		}
	})
	return p
}

func (p *process) terminate(t *testing.T) {
	t.Helper()
	must(t, p.cmd.Process.Signal(syscall.SIGTERM))
}

func wantExit(t *testing.T, p *process, code int) {
	t.Helper()
	timer := time.AfterFunc(patience, func() { _ = p.cmd.Process.Kill() })
	defer timer.Stop()
	var exit *exec.ExitError
	if err := p.wait(); !errors.As(err, &exit) || exit.ExitCode() != code {
		t.Errorf("exit: %v, want code %d", err, code)
	}
}

// missing ends a test whose runtime is not there.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
