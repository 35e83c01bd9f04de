package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/client"
)

// on lends the server to a subtest.
func (s *server) on(t *testing.T) *server {
	lent := *s
	lent.t = t
	return &lent
}

// only checks that an execution completed with one answer.
func (s *server) only(id, text string) {
	s.t.Helper()
	e := s.settled(id)
	if want := `{"answer":"` + text + `"}`; e.Status != client.StatusCompleted || string(e.Result) != want {
		s.t.Fatalf("%s: %s %s %+v; want %s", id, e.Status, e.Result, e.Error, want)
	}
}

// journaled counts the entries of a type that contain a text.
func (s *server) journaled(id, kind, part string) int {
	s.t.Helper()
	n := 0
	for _, e := range s.journal(id) {
		if e.Type == kind && strings.Contains(string(e.Data), part) {
			n++
		}
	}
	return n
}

// Each kind of bad agent has the outcome that docs/agent-protocol.md names, and the executions end right.
func TestMisbehavingAgents(t *testing.T) {
	shared := serve(t, `agents.resumeGrace: 400ms
		agents.registerTimeout: 1s
		agents.heartbeatInterval: 1s
		agents.maxMessage: 64KiB`)
	cases := map[string]func(s *server, capability string){
		"Hangs": hangs, "Crashes": crashes, "AnswersTwice": answersTwice, "Garbage": garbage, "OnlyGarbage": onlyGarbage,
		"Flood": flood, "Oversized": oversized, "TwoPlaces": twoPlaces, "Lies": lies, "OtherExecution": otherExecution,
		"TooMuch": tooMuch, "NeverRegisters": neverRegisters, "Silent": silent, "FailsOnAndOn": failsOnAndOn,
		"Refusals": refusals,
	}
	for name, run := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := shared.on(t)
			capability := strings.ToLower(name)
			s.put(strings.Replace(single, "min: 1", "min: 1\n  taskTimeout: 4000", 1), capability, capability)
			run(s, capability)
		})
	}
}

// honest joins an agent that answers "honest", once hold opens if there is one.
func honest(s *server, capability string, hold *gate) {
	s.join(1, capability, func(ctx context.Context, _ int, _ *agent.Task) (any, error) {
		if hold != nil {
			if err := hold.wait(ctx); err != nil {
				return nil, err
			}
		}
		return map[string]any{"answer": "honest"}, nil
	})
}

// A task that takes too long goes to another agent; the late answer is acknowledged, journaled and ignored.
func hangs(s *server, capability string) {
	name := capability + "-quick"
	s.put(strings.Replace(single, "min: 1", "min: 1\n  taskTimeout: 300", 1), name, capability)
	w := s.dial()
	w.register("hangs", capability, nil)
	id := s.async(name, nil)
	task := w.task()
	// A pattern's own time does not bind the second agent in this test: it answers when it is let.
	hold := newGate()
	s.t.Cleanup(hold.release)
	honest(s, capability, hold)
	var cancelled protocol.TaskCancelled
	if w.expect(protocol.TypeTaskCancelled, &cancelled); cancelled.TaskID != task.TaskID {
		s.t.Fatalf("cancelled: %+v", cancelled)
	}
	eventually(s.t, "the second attempt", func() bool { return s.journaled(id, "task.assigned", `"attempt":2`) == 1 })
	w.report(result(task, "late"))
	if s.journaled(id, "task.failed", "gave no answer within 300 ms") != 1 || s.journaled(id, "task.late", task.TaskID) != 1 {
		s.t.Errorf("journal: %v", s.journal(id))
	}
	hold.release()
	s.only(id, "honest")
}

// An agent that is gone for longer than the grace loses its task to another.
func crashes(s *server, capability string) {
	w := s.dial()
	w.register("crashes", capability, nil)
	id := s.async(capability, nil)
	w.task()
	honest(s, capability, nil)
	if err := w.ws.NetConn().Close(); err != nil {
		s.t.Fatal(err)
	}
	s.only(id, "honest")
	if s.journaled(id, "task.failed", "was lost") != 1 || s.journaled(id, "task.assigned", `"attempt":2`) != 1 {
		s.t.Errorf("journal: %v", s.journal(id))
	}
}

// The first answer counts; each copy is acknowledged.
func answersTwice(s *server, capability string) {
	name := capability + "-2"
	s.put(strings.Replace(single, "min: 1", "min: 2", 1), name, capability)
	w, other := s.dial(), s.dial()
	w.register("twice", capability, nil)
	other.register("once", capability, nil)
	id := s.async(name, nil)
	task, rest := w.task(), other.task()
	w.report(result(task, "first"))
	w.report(result(task, "second"))
	w.report(result(task, "third"))
	if e := s.get(id); e.Status != client.StatusRunning {
		s.t.Fatalf("one agent's answers count for two: %s", e.Status)
	}
	other.report(result(rest, "other"))
	s.only(id, "first")
	w.report(result(task, "after the end"))
	if e := s.get(id); len(e.Agents) != 2 || s.journaled(id, "task.completed", "") != 2 {
		s.t.Errorf("agents: %+v", e.Agents)
	}
}

// A bad frame is refused, named by its id, and changes nothing.
func garbage(s *server, capability string) {
	w := s.dial()
	w.register("garbage", capability, nil)
	id := s.async(capability, nil)
	task := w.task()
	for _, text := range []string{
		`{{{`, ``, `null`, `[]`, `"text"`, `{"type":5}`, "\x00", strings.Repeat("[", 20000),
	} {
		w.raw(websocket.TextMessage, text)
		w.refused("", client.CodeValidation)
	}
	for _, text := range []string{
		`{"type":"no_such_type","id":"x","payload":{}}`,
		`{"type":"heartbeat","id":"x","payload":{"status":"asleep"}}`,
		`{"type":"task_result","id":"x","payload":{}}`,
		`{"type":"task_result","id":"x","payload":{"taskId":"` + task.TaskID + `"}}`,
		`{"type":"task_result","id":"x","payload":{"taskId":"` + task.TaskID + `","result":{},"status":"failed"}}`,
		`{"type":"task_result","id":"x","payload":{"taskId":7,"result":{}}}`,
		`{"type":"task_error","id":"x","payload":{"taskId":"` + task.TaskID + `"}}`,
		`{"type":"task_progress","id":"x","payload":{"taskId":"` + task.TaskID + `"}}`,
		`{"type":"status_update","id":"x","payload":{"maxTasks":-1}}`,
		`{"type":"register","id":"x","payload":{"name":"again","capabilities":["a"]}}`,
		`{"type":"message","id":"x","payload":{}}`,
	} {
		w.raw(websocket.TextMessage, text)
		w.refused("x", client.CodeValidation)
	}
	w.raw(websocket.BinaryMessage, `{"type":"heartbeat","id":"x","payload":{"status":"healthy"}}`)
	w.refused("", client.CodeValidation)
	w.report(result(task, "after all"))
	s.only(id, "after all")
}

// A hundred bad frames in a row end the session; the task goes on elsewhere.
func onlyGarbage(s *server, capability string) {
	w := s.dial()
	w.register("garbage", capability, nil)
	id := s.async(capability, nil)
	w.task()
	for range 100 {
		w.raw(websocket.TextMessage, `garbage`)
	}
	w.expectClose(4400)
	honest(s, capability, nil)
	s.only(id, "honest")
}

// A flood is dropped, an answer in it is taken, and when it lasts the session ends.
func flood(s *server, capability string) {
	w := s.dial()
	w.register("flood", capability, nil)
	id := s.async(capability, nil)
	task := w.task()
	done := make(chan struct{})
	closed := make(chan error, 1)
	var limited, acknowledged bool
	go func() { // reads, so that the server can write
		defer close(done)
		for {
			_, data, err := w.ws.ReadMessage()
			if err != nil {
				closed <- err
				return
			}
			limited = limited || strings.Contains(string(data), client.CodeRateLimited)
			acknowledged = acknowledged || strings.Contains(string(data), string(protocol.TypeTaskAck))
		}
	}()
	frame := `{"type":"heartbeat","id":"h","payload":{"status":"healthy"}}`
	const gap = 2 * time.Millisecond // also on average, when the machine is busy: a slower flood is none
	pace, begun := time.NewTicker(gap), time.Now()
	defer pace.Stop()
	answer, err := json.Marshal(map[string]any{"type": protocol.TypeTaskResult, "payload": result(task, "amid a flood")})
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; ; i++ {
		text := frame
		if i == 700 {
			text = string(answer)
		}
		if w.ws.WriteMessage(websocket.TextMessage, []byte(text)) != nil {
			break
		}
		if time.Since(begun) < time.Duration(i)*gap {
			<-pace.C
		}
	}
	<-done
	var end *websocket.CloseError
	if err := <-closed; !errors.As(err, &end) || end.Code != 4429 {
		s.t.Errorf("the flood ended with %v", err)
	}
	if !limited || !acknowledged {
		s.t.Errorf("told of the limit: %v; answer acknowledged: %v", limited, acknowledged)
	}
	s.only(id, "amid a flood")
}

// A frame over the limit ends the connection; the agent may resume and send a smaller one.
func oversized(s *server, capability string) {
	w := s.dial()
	reg := w.register("oversized", capability, nil)
	if reg.Config.MaxMessageBytes != 64<<10 {
		s.t.Errorf("the limit is not told: %+v", reg.Config)
	}
	id := s.async(capability, nil)
	task := w.task()
	w.send(protocol.TypeTaskResult, "", result(task, strings.Repeat("x", 64<<10)))
	w.expectClose(websocket.CloseMessageTooBig)
	w = s.dial()
	again := w.register("oversized", capability, &protocol.Resume{AgentID: reg.AgentID, Token: reg.ResumeToken, Tasks: []string{task.TaskID}})
	if !again.Resumed || again.AgentID != reg.AgentID {
		s.t.Fatalf("not resumed: %+v", again)
	}
	w.report(result(task, "smaller"))
	s.only(id, "smaller")
}

// The newest connection with a token wins.
func twoPlaces(s *server, capability string) {
	first := s.dial()
	reg := first.register("two", capability, nil)
	id := s.async(capability, nil)
	task := first.task()
	second := s.dial()
	again := second.register("two", capability, &protocol.Resume{AgentID: reg.AgentID, Token: reg.ResumeToken})
	if !again.Resumed {
		s.t.Fatalf("not resumed: %+v", again)
	}
	first.expectClose(4409)
	if moved := second.task(); moved.TaskID != task.TaskID || moved.Attempt != task.Attempt {
		s.t.Fatalf("the task changed on its way: %+v, %+v", moved, task)
	}
	thief := s.dial()
	if got := thief.register("thief", capability+"-x", &protocol.Resume{AgentID: reg.AgentID, Token: "wrong"}); got.Resumed || got.AgentID == reg.AgentID {
		s.t.Fatalf("a wrong token resumed: %+v", got)
	}
	second.report(result(task, "second place"))
	s.only(id, "second place")
}

// An agent cannot answer for another, nor take its tasks by naming them.
func lies(s *server, capability string) {
	victim, liar := s.dial(), s.dial()
	victim.register("victim", capability, nil)
	reg := liar.register("liar", capability+"-x", nil)
	id := s.async(capability, nil)
	task := victim.task()
	liar.report(result(task, "lie"))
	fail := protocol.TaskError{TaskID: task.TaskID, Attempt: task.Attempt, Error: protocol.ErrorDetail{Code: "X", Message: "lie"}}
	liar.send(protocol.TypeTaskError, "", fail)
	liar.acked(task.TaskID)
	if e := s.get(id); e.Status != client.StatusRunning {
		s.t.Fatalf("a lie decided the execution: %s %s", e.Status, e.Result)
	}
	if s.journaled(id, "task.late", "another agent") != 1 { // what it repeats is not
		s.t.Errorf("journal: %v", s.journal(id))
	}
	_ = liar.ws.Close()
	liar = s.dial()
	liar.register("liar", capability+"-x", &protocol.Resume{AgentID: reg.AgentID, Token: reg.ResumeToken, Tasks: []string{task.TaskID}})
	liar.report(result(task, "lie"))
	victim.report(result(task, "truth"))
	s.only(id, "truth")
}

// A report counts for the execution its task belongs to, whatever execution it names.
func otherExecution(s *server, capability string) {
	w := s.dial()
	w.register("other", capability, nil)
	one := s.async(capability, nil)
	first := w.task()
	two := s.async(capability, nil)
	second := w.task()
	crossed := result(first, "of the first")
	crossed.ExecutionID = second.ExecutionID
	w.report(crossed)
	unknown := result(second, "of nothing")
	unknown.TaskID = "task_00000000000000000000000000"
	w.report(unknown)
	if e := s.get(two); e.Status != client.StatusRunning {
		s.t.Fatalf("the second execution is %s", e.Status)
	}
	w.report(result(second, "of the second"))
	s.only(one, "of the first")
	s.only(two, "of the second")
}

// A registration beyond the limits is refused with everything that is wrong.
func tooMuch(s *server, _ string) {
	capabilities := make([]string, 65)
	for i := range capabilities {
		capabilities[i] = fmt.Sprintf("c%d", i)
	}
	for name, reg := range map[string]protocol.Register{
		"capabilities": {Name: "x", Capabilities: capabilities},
		"name":         {Name: "", Capabilities: []string{"x"}},
		"metadata":     {Name: "x", Capabilities: []string{"x"}, Metadata: map[string]any{"k": strings.Repeat("x", 17<<10)}},
		"maxConcurrentTasks": {
			Name: "x", Capabilities: []string{"x"}, Config: protocol.RegisterConfig{MaxConcurrentTasks: 10001},
		},
	} {
		w := s.dial()
		w.send(protocol.TypeRegister, "r", reg)
		var p protocol.Error
		if e := w.expect(protocol.TypeError, &p); e.ID != "r" || !p.Fatal || !strings.Contains(p.Message, name) {
			s.t.Errorf("%s: %s", name, e.Payload)
		}
		w.expectClose(4400)
	}
}

// A connection that does not register in time is closed; so is one that begins with anything else.
func neverRegisters(s *server, _ string) {
	w := s.dial()
	other := s.dial()
	other.send(protocol.TypeHeartbeat, "h", protocol.Heartbeat{Status: protocol.StatusHealthy})
	var p protocol.Error
	if other.expect(protocol.TypeError, &p); !p.Fatal {
		s.t.Errorf("a first frame that is no register: %+v", p)
	}
	other.expectClose(4400)
	w.expectClose(4408)
}

// An agent that sends no heartbeats is shown unhealthy, gets nothing more, and is dropped.
func silent(s *server, capability string) {
	w := s.dial()
	reg := w.register("silent", capability, nil)
	id := s.async(capability, nil)
	w.task()
	eventually(s.t, "the agent to be unhealthy", func() bool {
		return strings.Contains(string(s.read("/api/agents/"+reg.AgentID).body), `"healthy":false`)
	})
	w.expectClose(4408)
	honest(s, capability, nil)
	s.only(id, "honest")
	eventually(s.t, "the agent to be listed as disconnected", func() bool {
		return strings.Contains(string(s.read("/api/agents/"+reg.AgentID).body), `"disconnected"`)
	})
}

// An agent that fails each task it gets is asked as often as the rules say; then the execution fails.
func failsOnAndOn(s *server, capability string) {
	f := s.join(1, capability, func(context.Context, int, *agent.Task) (any, error) {
		return nil, agent.Retryable(errors.New("the model is busy"))
	})
	e := s.settled(s.async(capability, nil))
	if e.Status != client.StatusFailed || e.Error == nil || e.Error.Code != client.CodeAgentError ||
		!strings.Contains(e.Error.Message, "the model is busy") {
		s.t.Errorf("outcome: %s %+v", e.Status, e.Error)
	}
	if n := f.handled.Load(); n != 3 {
		s.t.Errorf("%d attempts, want the first and two more", n)
	}
}

// What is no agent is refused over HTTP.
func refusals(s *server, _ string) {
	s.failed(s.read(protocol.Path), http.StatusBadRequest, client.CodeValidation)
	for header, want := range map[string]int{"Origin: http://elsewhere.example": 403, "Sec-WebSocket-Protocol: other": 400} {
		name, value, _ := strings.Cut(header, ": ")
		d := websocket.Dialer{}
		h := http.Header{name: {value}}
		if name == "Origin" {
			d.Subprotocols = []string{protocol.Subprotocol}
		}
		ws, resp, err := d.DialContext(s.t.Context(), "ws"+strings.TrimPrefix(s.url, "http")+protocol.Path, h)
		if err == nil {
			_ = ws.Close()
			s.t.Errorf("%s was let in", header)
			continue
		}
		if resp == nil {
			s.t.Errorf("%s: %v", header, err)
			continue
		}
		body, _ := io.ReadAll(resp.Body)
		if resp.StatusCode != want || !strings.Contains(string(body), `"requestId"`) {
			s.t.Errorf("%s: %d %s", header, resp.StatusCode, body)
		}
	}
}
