package appliance_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/client"
)

// frameWorld is a server with an agent that speaks to it in frames of its own making.
type frameWorld struct {
	t    *testing.T
	app  *appliance.App
	api  *client.Client
	last int                          // number of the last frame's id
	mu   sync.Mutex                   // guards seen
	seen map[string][]json.RawMessage // whole frames of the server, by type
}

// wireAgent is a connection of an agent.
type wireAgent struct {
	w    *frameWorld
	ws   *websocket.Conn
	id   string
	in   chan protocol.Envelope
	done chan struct{}
}

const wireRegister = `{"name":%q,"capabilities":[%q],"region":"eu","metadata":{"model":"m","version":"1"},` +
	`"config":{"maxConcurrentTasks":4,"taskTimeout":30000,"threads":{"max":2,"types":["far"]}}}`

func (w *frameWorld) connect(name, capability string) *wireAgent {
	w.t.Helper()
	a := w.dial()
	registered := a.ask("register", fmt.Sprintf(wireRegister, name, capability), "registered")
	var payload protocol.Registered
	if err := json.Unmarshal(registered.Payload, &payload); err != nil {
		w.t.Fatal(err)
	}
	a.id = payload.AgentID
	return a
}

func (w *frameWorld) dial() *wireAgent {
	w.t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}}
	ws, resp, err := dialer.DialContext(w.t.Context(), "ws://"+w.app.Addr()+protocol.Path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = resp.Body.Close()
	a := &wireAgent{w: w, ws: ws, in: make(chan protocol.Envelope, 64), done: make(chan struct{})}
	go a.read()
	w.t.Cleanup(func() {
		_ = ws.Close()
		<-a.done
	})
	return a
}

// read notes what the server sends, until the connection ends.
func (a *wireAgent) read() {
	defer close(a.done)
	defer close(a.in)
	for {
		_, text, err := a.ws.ReadMessage()
		if err != nil {
			return
		}
		var e protocol.Envelope
		if err := json.Unmarshal(text, &e); err != nil {
			a.w.t.Errorf("a frame of the server is %s: %v", text, err)
			return
		}
		a.w.mu.Lock()
		a.w.seen[string(e.Type)] = append(a.w.seen[string(e.Type)], text)
		a.w.mu.Unlock()
		a.in <- e
	}
}

// sent returns the frames that the server has sent so far, by type.
func (w *frameWorld) sent() map[string][]json.RawMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.seen)
}

// say sends a frame, and returns its id.
func (a *wireAgent) say(kind, payload string) string {
	a.w.t.Helper()
	a.w.last++
	id := fmt.Sprintf("f-%d", a.w.last)
	text := fmt.Sprintf(`{"type":%q,"id":%q,"timestamp":%q,"payload":%s}`, kind, id, time.Now().UTC().Format(time.RFC3339), payload)
	if err := a.ws.WriteMessage(websocket.TextMessage, []byte(text)); err != nil {
		a.w.t.Fatal(err)
	}
	return id
}

// ask sends a frame and waits for the frame that answers it, which must be of one of the types.
func (a *wireAgent) ask(kind, payload string, answers ...string) protocol.Envelope {
	a.w.t.Helper()
	id := a.say(kind, payload)
	e := a.await(func(e protocol.Envelope) bool { return e.ID == id })
	if !slices.Contains(answers, string(e.Type)) {
		a.w.t.Fatalf("%s %s is answered with %s %s", kind, payload, e.Type, e.Payload)
	}
	return e
}

// await waits for a frame.
func (a *wireAgent) await(ok func(e protocol.Envelope) bool) protocol.Envelope {
	a.w.t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case e, open := <-a.in:
			if !open {
				a.w.t.Fatal("the connection ended")
			}
			if ok(e) {
				return e
			}
		case <-late:
			a.w.t.Fatal("no such frame came")
		}
	}
}

// get waits for a frame of a type, and reads its payload.
func (a *wireAgent) get(kind protocol.Type, payload any) {
	a.w.t.Helper()
	e := a.await(func(e protocol.Envelope) bool { return e.Type == kind })
	if err := json.Unmarshal(e.Payload, payload); err != nil {
		a.w.t.Fatal(err)
	}
}

const wirePattern = `name: wire
version: 1.0.0
config: {k: v}
agents: {capabilities: [work]}
aggregation: {strategy: first}
`

const wireChart = `name: wire-chart
version: 1.0.0
structure:
  name: desk
  roles:
    boss: {name: Boss, capabilities: [edit]}
    clerk: {name: Clerk, capabilities: [work], reportsTo: boss}
  routing: [{from: clerk, to: boss, messageTypes: [question]}]
workflow:
  name: note
  input: {task: {type: string}}
  steps: [{type: assign, role: clerk, task: "${input.task}"}]
`

func newFrameWorld(t *testing.T) *frameWorld {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "wardroom.yaml")
	const text = "server: {listen: '127.0.0.1:0'}\nstore: {path: store}\nagents: {heartbeatInterval: %s}\n"
	write(t, file, fmt.Sprintf(text, "10s"))
	w := &frameWorld{t: t, app: open(t, appliance.Options{ConfigPath: file, Version: "1.2.3"}), seen: map[string][]json.RawMessage{}}
	w.api = connect(t, w.app)
	for _, definition := range []string{wirePattern, wireChart} {
		if _, err := w.api.CreatePattern(t.Context(), client.PatternInput{Definition: definition}); err != nil {
			t.Fatal(err)
		}
	}
	clerk, boss := w.connect("clerk", "work"), w.connect("boss", "edit")
	w.tasks(clerk)
	w.talk(clerk, boss)
	clerk.ask("heartbeat", `{"status":"healthy","activeTasks":0,"metrics":{"load":0.5}}`, "heartbeat_ack")
	w.thread(clerk)
	clerk.say("status_update", `{"status":"healthy","capabilities":["work","more"],"maxTasks":3,"reason":"grown"}`)
	coretest.WaitFor(t, "the agent to offer more", func() bool {
		got, err := w.api.GetAgent(t.Context(), clerk.id)
		return err == nil && slices.Contains(got.Capabilities, "more")
	})
	clerk.ask("nonsense", `{}`, "error")
	write(t, file, fmt.Sprintf(text, "20s"))
	if err := w.app.Reload(); err != nil {
		t.Fatal(err)
	}
	clerk.get(protocol.TypeConfigUpdate, new(protocol.ConfigUpdate))
	boss.say("disconnect", `{"reason":"done"}`)
	<-boss.done
	if got, err := w.api.GetAgent(t.Context(), boss.id); err != nil || got.Status != "disconnected" {
		t.Errorf("after its frame the agent is %+v, %v", got, err)
	}
	return w
}

// execute starts an execution.
func (w *frameWorld) execute(pattern string) string {
	w.t.Helper()
	e, err := w.api.ExecuteAsync(w.t.Context(), client.ExecuteRequest{Pattern: pattern, Input: json.RawMessage(`{"task":"t"}`),
		Options: client.ExecuteOptions{Metadata: map[string]any{"team": "blue"}}})
	if err != nil {
		w.t.Fatal(err)
	}
	return e.ExecutionID
}

// tasks has a task succeed, one fail and one be cancelled.
func (w *frameWorld) tasks(a *wireAgent) {
	w.t.Helper()
	var task protocol.Task
	done := w.execute("wire")
	a.get(protocol.TypeTask, &task)
	a.say("task_progress", fmt.Sprintf(`{"taskId":%q,"text":"half"}`, task.TaskID))
	a.ask("task_result", fmt.Sprintf(`{"taskId":%q,"executionId":%q,"status":"completed","result":{"a":1,"confidence":0.5},"duration":5,"metadata":{"x":1},"attempt":%d}`,
		task.TaskID, task.ExecutionID, task.Attempt), "task_ack")
	w.ends(done, client.StatusCompleted)
	failed := w.execute("wire")
	a.get(protocol.TypeTask, &task)
	a.ask("task_error", fmt.Sprintf(`{"taskId":%q,"executionId":%q,"error":{"code":"X","message":"no","details":{"a":1}},"retryable":false,"attempt":%d}`,
		task.TaskID, task.ExecutionID, task.Attempt), "task_ack")
	w.ends(failed, client.StatusFailed)
	cancelled := w.execute("wire")
	a.get(protocol.TypeTask, &task)
	if _, err := w.api.CancelExecution(w.t.Context(), cancelled, "not needed"); err != nil {
		w.t.Fatal(err)
	}
	a.get(protocol.TypeTaskCancelled, new(protocol.TaskCancelled))
}

func (w *frameWorld) ends(id, status string) {
	w.t.Helper()
	coretest.WaitFor(w.t, "the end of "+id, func() bool {
		e, err := w.api.GetExecution(w.t.Context(), id)
		return err == nil && string(e.Status) == status
	})
}

// talk has the clerk ask the boss.
func (w *frameWorld) talk(clerk, boss *wireAgent) {
	w.t.Helper()
	id := w.execute("wire-chart")
	var task protocol.Task
	clerk.get(protocol.TypeTask, &task)
	asked := clerk.say("message", fmt.Sprintf(`{"taskId":%q,"messageType":"question","topic":"tone","to":"boss","content":"how?"}`, task.TaskID))
	var message protocol.MessageDelivery
	boss.get(protocol.TypeMessage, &message)
	boss.say("message_reply", fmt.Sprintf(`{"messageId":%q,"content":"kindly"}`, message.MessageID))
	reply := clerk.await(func(e protocol.Envelope) bool { return e.Type == protocol.TypeMessageReply })
	if reply.ID != asked {
		w.t.Errorf("the reply has the id %q, the question %q", reply.ID, asked)
	}
	clerk.ask("task_result", fmt.Sprintf(`{"taskId":%q,"result":{"text":"done"},"attempt":%d}`, task.TaskID, task.Attempt), "task_ack")
	w.ends(id, client.StatusCompleted)
}

// thread has the agent host a thread, until it is stopped.
func (w *frameWorld) thread(a *wireAgent) {
	w.t.Helper()
	thread, err := w.api.SpawnThread(w.t.Context(), client.ThreadSpec{
		ExecutionID: client.NewExecution, AgentType: "far", Role: "maker", Objective: "make it", Runtime: core.RuntimeConnected,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	a.get(protocol.TypeThreadSpawn, new(protocol.ThreadSpawn))
	sequence := 0
	tell := func(kind, more string) {
		w.t.Helper()
		sequence++
		a.say("thread_event", fmt.Sprintf(`{"threadId":%q,"executionId":%q,"sequence":%d,"type":%q,"data":{}%s}`, thread.ID, thread.ExecutionID, sequence, kind, more))
		a.await(func(e protocol.Envelope) bool { return e.Type == protocol.TypeThreadAck })
	}
	a.say("thread_status", fmt.Sprintf(`{"threadId":%q,"status":"accepted"}`, thread.ID))
	tell("started", "")
	tell("ready", "")
	var input protocol.ThreadInput
	a.get(protocol.TypeThreadInput, &input)
	tell("busy", fmt.Sprintf(`,"inputTaken":%q`, input.InputID))
	stopped := make(chan error, 1)
	go func() { stopped <- w.api.StopThread(w.t.Context(), thread.ID, false, 0) }()
	a.get(protocol.TypeThreadStop, new(protocol.ThreadStop))
	tell("stopped", "")
	if err := <-stopped; err != nil {
		w.t.Error(err)
	}
}

// frame: core TYPE FIELD..., of each frame that the server sent, or agent TYPE FIELD..., which the server reads: it
// refuses each of them when it has another type.
func (w *interfaceWorld) frame(what string) error {
	words := strings.Fields(what)
	side, kind, fields := words[0], words[1], words[2:]
	if side == "core" {
		seen := w.frames.sent()[kind]
		for _, text := range seen {
			var frame struct{ Payload any }
			if err := json.Unmarshal(text, &frame); err != nil {
				return err
			}
			if err := compareFields(frame.Payload, fields, false); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		if len(seen) == 0 {
			return errors.New("the server sent none")
		}
		return nil
	}
	if payload, err := w.frames.refused(kind, samplePayload(fields, -1)); err != nil || strings.Contains(payload, "payload of") {
		return fmt.Errorf("it is refused: %s %w", payload, err)
	}
	var problems []error
	for i, field := range fields {
		path, typ, _ := strings.Cut(field, ":")
		if typ == "any" {
			continue
		}
		steps := strings.Split(path, ".")
		leaf := strings.TrimSuffix(steps[len(steps)-1], "[]")
		said, err := w.frames.refused(kind, samplePayload(fields, i))
		if err != nil || !strings.Contains(said, "payload of "+kind) || !strings.Contains(said, leaf) {
			problems = append(problems, fmt.Errorf("with %s of another type it says %q: %w", path, said, err))
		}
	}
	return errors.Join(problems...)
}

// refused sends a frame on a connection of its own and returns what the server has against it. A frame that it takes
// without an answer is followed by a heartbeat, whose answer comes next.
func (w *frameWorld) refused(kind string, payload map[string]any) (string, error) {
	text, err := json.Marshal(payload)
	if err != nil {
		return "", err
	}
	a := w.dial()
	defer func() { _ = a.ws.Close() }()
	if kind != string(protocol.TypeRegister) {
		a.ask("register", fmt.Sprintf(wireRegister, "stranger", "strange"), "registered")
	}
	id := a.say(kind, string(text))
	if kind != string(protocol.TypeRegister) {
		w.last++
		beat := fmt.Sprintf(`{"type":"heartbeat","id":"f-%d","timestamp":"2026-01-02T03:04:05Z","payload":{"status":"healthy","activeTasks":0}}`, w.last)
		_ = a.ws.WriteMessage(websocket.TextMessage, []byte(beat)) // a disconnect may have ended it
	}
	late := time.After(time.Minute)
	for {
		select {
		case e, open := <-a.in:
			if !open || e.Type == protocol.TypeHeartbeatAck && e.ID != id || e.Type == protocol.TypeRegistered {
				return "", nil
			}
			if e.Type == protocol.TypeError && e.ID == id {
				var refusal protocol.Error
				err := json.Unmarshal(e.Payload, &refusal)
				return refusal.Message, err
			}
		case <-late:
			return "", errors.New("no answer came")
		}
	}
}

// samplePayload makes a payload of fields; the one at wrong has another type.
func samplePayload(fields []string, wrong int) map[string]any {
	payload := map[string]any{}
	for i, field := range fields {
		path, typ, _ := strings.Cut(field, ":")
		into := payload
		steps := strings.Split(path, ".")
		for _, step := range steps[:len(steps)-1] {
			next, ok := into[step].(map[string]any)
			if !ok {
				next = map[string]any{}
				into[step] = next
			}
			into = next
		}
		name, list := strings.CutSuffix(steps[len(steps)-1], "[]")
		value := map[string]any{"string": "x", "number": 1, "boolean": true, "object": map[string]any{}, "any": "x"}[typ]
		switch {
		case name == "status":
			value = "healthy"
		case name == "type":
			value = "ready"
		}
		if i == wrong {
			value = []any{[]any{}}
		} else if list {
			value = []any{value}
		}
		into[name] = value
	}
	return payload
}
