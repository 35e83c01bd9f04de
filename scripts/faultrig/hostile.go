package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/scripts/faultrig/proof"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// Patterns that only hostile agents serve. They answer the first as they like, and the second never.
const (
	hostilePattern = "rig-hostile"
	silentPattern  = "rig-silent"
)

// ownLimits are the limits of executions of these patterns.
const (
	hostileLimit = 3 * time.Second
	silentLimit  = 1500 * time.Millisecond
)

// hostilePatterns are sources of both.
func hostilePatterns() []workload {
	source := func(name, capability string) string {
		return "name: " + name + "\nversion: 1.0.0" + declaredInput + `
agents: {capabilities: [` + capability + `], min: 1, taskTimeout: 60000}
aggregation: {strategy: first}
output: {all: $first}
`
	}
	return []workload{
		{name: hostilePattern, source: source(hostilePattern, "hostile")},
		{name: silentPattern, source: source(silentPattern, "silent")},
	}
}

// ours reports whether an execution is one that hostile agents serve: what it comes to is up to them.
func ours(e *proof.Execution) bool {
	return e.Pattern.Name == hostilePattern || e.Pattern.Name == silentPattern
}

// horde is the hostile agents of a run, and whoever asks them for work. It outlives the core, and goes on until it is
// stopped. What it does must not affect others: the proofs of the round see to that.
type horde struct {
	url    string // of the socket
	caller *caller
	stop   context.CancelFunc
	wg     sync.WaitGroup

	mu       sync.Mutex // guards all below
	acts     map[string]int
	started  []string // executions
	problems []error
}

// hostiles is how many of them there are.
const hostiles = 3

func newHorde(url string, c *caller) *horde {
	return &horde{url: "ws" + strings.TrimPrefix(url, "http") + protocol.Path, caller: c, acts: map[string]int{}}
}

// start starts them.
func (h *horde) start(ctx context.Context, random *rand.Rand) {
	ctx, h.stop = context.WithCancel(ctx)
	for i := range hostiles {
		own := &hostile{horde: h, name: fmt.Sprintf("hostile-%d", i), random: rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))}
		h.wg.Go(func() { own.repeat(ctx) })
	}
	h.wg.Go(func() { h.silent(ctx) })
	asking := rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))
	h.wg.Go(func() { h.ask(ctx, asking) })
}

// end stops them and waits for their ends. It may be called again.
func (h *horde) end() {
	if h.stop != nil {
		h.stop()
		h.wg.Wait()
	}
}

// String counts what they did.
func (h *horde) String() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	total := 0
	for _, n := range h.acts {
		total += n
	}
	return fmt.Sprintf("%d acts of %d kinds", total, len(h.acts))
}

func (h *horde) did(act string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acts[act]++
}

func (h *horde) problem(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.problems = append(h.problems, err)
}

// take returns what was started and what went wrong since the last call.
func (h *horde) take() (started []string, problems []error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	started, problems = h.started, h.problems
	h.started, h.problems = nil, nil
	return started, problems
}

// ask has hostile agents asked for work, a few times a second.
func (h *horde) ask(ctx context.Context, random *rand.Rand) {
	for n := 0; pause(ctx, time.Duration(50+random.IntN(200))*time.Millisecond); n++ {
		id, err := startOwn(ctx, h.caller, hostilePattern, hostileLimit)
		switch {
		case errors.Is(err, errLost), ctx.Err() != nil:
		case err != nil:
			h.problem(err)
			return
		default:
			h.mu.Lock()
			h.started = append(h.started, id)
			h.mu.Unlock()
		}
	}
}

// startOwn starts an execution of one of the patterns.
func startOwn(ctx context.Context, c *caller, pattern string, limit time.Duration) (string, error) {
	body, err := json.Marshal(map[string]any{
		"input": taskInput{Text: pattern}, "options": map[string]any{"timeout": limit.Milliseconds()},
	})
	if err != nil {
		return "", err
	}
	r, err := c.call(ctx, http.MethodPost, "/api/patterns/"+pattern+"/execute?async=true", "", body)
	if err != nil {
		return "", err
	}
	s, err := readStarted(r, http.StatusAccepted)
	return s.id(), err
}

// limited is an execution whose agent never answers.
type limited struct {
	caller *caller
	id     string
	began  time.Time
}

// limit starts one.
func (h *horde) limit(ctx context.Context, c *caller) (limited, error) {
	ctx, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	for {
		began := time.Now()
		id, err := startOwn(ctx, c, silentPattern, silentLimit)
		if errors.Is(err, errLost) {
			continue
		}
		return limited{c, id, began}, err
	}
}

// prove waits for its end: at its limit, by the time that passes for everybody else.
func (l limited) prove(ctx context.Context) []error {
	ctx, cancel := context.WithTimeout(ctx, quietLimit)
	defer cancel()
	for {
		var e proof.Execution
		if _, _, err := l.caller.get(ctx, "/api/executions/"+l.id, &e); err != nil {
			return []error{fmt.Errorf("an execution with a limit of %s: %w", silentLimit, err)}
		}
		took := time.Since(l.began)
		switch {
		case !over(e.Status) && pause(ctx, 20*time.Millisecond):
			continue
		case !over(e.Status):
			return []error{fmt.Errorf("%s has a limit of %s and is %s after %s, over a step of the clock", l.id, silentLimit, e.Status, took)}
		case e.Error == nil || e.Error.Code != "TIMEOUT":
			return []error{fmt.Errorf("%s, which nobody answers, is %s", l.id, show(e))}
		case took < silentLimit:
			return []error{fmt.Errorf("%s ended after %s of its %s, over a step of the clock", l.id, took, silentLimit)}
		}
		return nil
	}
}

// judge checks the executions that hostile agents served: each is over, can be read, and is listed; no limit was passed
// by much. It takes them out of the evidence, as what they came to is nobody's promise.
func (h *horde) judge(e *proof.Evidence) []error {
	started, problems := h.take()
	for _, id := range started {
		x := e.Executions[id]
		switch {
		case x == nil:
			problems = append(problems, fmt.Errorf("lost: %s, which a hostile agent was to serve, was acknowledged and is not there", id))
		case !terminal(x.Status):
			problems = append(problems, fmt.Errorf("lost: %s, which a hostile agent was to serve, is still %s", id, x.Status))
		}
	}
	for id, x := range e.Executions {
		if ours(x) {
			delete(e.Executions, id)
			delete(e.Journals, id)
		}
	}
	return problems
}

func terminal(status string) bool {
	return status == "completed" || status == "failed" || status == "cancelled"
}

// dial connects. Any failure is nil: the core may be away, or have enough of us.
func (h *horde) dial(ctx context.Context) *websocket.Conn {
	dialer := websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}, HandshakeTimeout: 5 * time.Second}
	conn, res, err := dialer.DialContext(ctx, h.url, nil)
	if res != nil && res.Body != nil {
		_ = res.Body.Close()
	}
	if err != nil {
		return nil
	}
	return conn
}

// silent is an agent that takes tasks and does nothing but beat.
func (h *horde) silent(ctx context.Context) {
	for pause(ctx, 100*time.Millisecond) {
		conn := h.dial(ctx)
		if conn == nil {
			continue
		}
		s := &socket{conn: conn}
		s.send(protocol.TypeRegister, map[string]any{
			"name": "silent", "capabilities": []string{"silent"}, "config": map[string]any{"maxConcurrentTasks": 100},
		})
		read := make(chan struct{})
		go func() {
			defer close(read)
			for {
				if _, _, err := conn.ReadMessage(); err != nil {
					return
				}
			}
		}()
		for alive := true; alive; {
			timer := time.NewTimer(300 * time.Millisecond)
			select {
			case <-timer.C:
				s.send(protocol.TypeHeartbeat, map[string]any{"status": "healthy", "activeTasks": 0})
			case <-read:
				alive = false
			case <-ctx.Done():
				alive = false
			}
			timer.Stop()
		}
		_ = conn.Close()
		<-read
	}
}

// socket writes frames. Errors are left: the connection ends.
type socket struct {
	mu   sync.Mutex // guards conn for writing
	conn *websocket.Conn
	n    int
}

func (s *socket) raw(kind int, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.conn.SetWriteDeadline(time.Now().Add(5 * time.Second))
	_ = s.conn.WriteMessage(kind, data)
}

func (s *socket) send(kind protocol.Type, payload any) {
	text, err := json.Marshal(payload)
	if err != nil {
		return
	}
	s.frame(string(kind), string(text))
}

// frame sends a frame with a payload that need not be JSON.
func (s *socket) frame(kind, payload string) {
	s.mu.Lock()
	s.n++
	id := s.n
	s.mu.Unlock()
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"type":%s,"id":"h%d","timestamp":"2026-01-02T03:04:05Z","payload":%s}`, quote(kind), id, payload)
	s.raw(websocket.TextMessage, b.Bytes())
}

// hostile is one of them. Not safe for concurrent use.
type hostile struct {
	*horde
	name   string
	random *rand.Rand
	socket *socket
	tasks  []protocol.Task
	id     string // as an agent
	got    chan protocol.Envelope
}

// repeat comes as an agent again and again, and misbehaves each time until it is thrown out or had enough.
func (h *hostile) repeat(ctx context.Context) {
	for pause(ctx, time.Duration(20+h.random.IntN(150))*time.Millisecond) {
		conn := h.dial(ctx)
		if conn == nil {
			continue
		}
		h.visit(ctx, conn)
	}
}

// visit is one connection.
func (h *hostile) visit(ctx context.Context, conn *websocket.Conn) {
	h.socket, h.tasks, h.got = &socket{conn: conn}, nil, make(chan protocol.Envelope, 256)
	read := make(chan struct{})
	deaf := h.random.IntN(20) == 0 // reads nothing, ever
	gone, leave := context.WithCancel(ctx)
	go func() {
		defer close(read)
		if deaf {
			<-gone.Done()
			return
		}
		defer leave()
		for {
			var frame protocol.Envelope
			if err := conn.ReadJSON(&frame); err != nil {
				return
			}
			select {
			case h.got <- frame:
			default:
			}
		}
	}()
	defer func() {
		leave()
		_ = conn.Close()
		<-read
	}()
	if h.random.IntN(10) == 0 { // says nothing at all
		h.did("mute")
		pause(gone, time.Second)
		return
	}
	h.socket.send(protocol.TypeRegister, h.registration())
	for range 3 + h.random.IntN(12) {
		if !pause(gone, time.Duration(h.random.IntN(60))*time.Millisecond) {
			return
		}
		h.hear()
		a := acts[h.random.IntN(len(acts))]
		h.did(a.name)
		a.do(h, gone)
	}
}

func (h *hostile) registration() map[string]any {
	r := map[string]any{"name": h.name, "capabilities": []string{"hostile"}, "config": map[string]any{"maxConcurrentTasks": 50}}
	switch h.random.IntN(6) {
	case 0: // takes up the session of somebody else
		r["resume"] = map[string]any{"agentId": h.id, "token": "guessed", "tasks": []string{"task_1"}}
	case 1:
		r["metadata"] = json.RawMessage(`{"deep":` + nested(100) + `,"huge":` + quote(strings.Repeat("x", 60<<10)) + `}`)
	}
	return r
}

// hear takes in what came.
func (h *hostile) hear() {
	for {
		select {
		case frame := <-h.got:
			switch frame.Type {
			case protocol.TypeTask:
				var t protocol.Task
				if json.Unmarshal(frame.Payload, &t) == nil {
					h.tasks = append(h.tasks, t)
				}
			case protocol.TypeRegistered:
				var r protocol.Registered
				if json.Unmarshal(frame.Payload, &r) == nil {
					h.id = r.AgentID
				}
			}
		default:
			return
		}
	}
}

// nested returns an array so many levels deep.
func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// task returns one that it has, or one that it made up.
func (h *hostile) task() protocol.Task {
	if len(h.tasks) == 0 {
		return protocol.Task{TaskID: fmt.Sprintf("task_%d", h.random.IntN(1000)), ExecutionID: "exec_none", Attempt: 1}
	}
	return h.tasks[h.random.IntN(len(h.tasks))]
}

// result reports on a task with a result of its own.
func (h *hostile) result(t protocol.Task, result string) {
	h.socket.frame(string(protocol.TypeTaskResult), fmt.Sprintf(`{"taskId":%s,"executionId":%s,"status":"completed","attempt":%d,"result":%s}`,
		quote(t.TaskID), quote(t.ExecutionID), t.Attempt, result))
}

// act is one thing that a hostile agent does.
type act struct {
	name string
	do   func(h *hostile, ctx context.Context)
}

var acts = []act{
	{"deep result", func(h *hostile, _ context.Context) { h.result(h.task(), nested(9_990)) }},
	{"depth at the limit", func(h *hostile, _ context.Context) { h.result(h.task(), nested(120+h.random.IntN(16))) }},
	{"deep frame", func(h *hostile, _ context.Context) {
		h.socket.raw(websocket.TextMessage, []byte(strings.Repeat(`{"type":`, 9_000)))
	}},
	{"large result", func(h *hostile, _ context.Context) { h.result(h.task(), quote(strings.Repeat("x", 900<<10))) }},
	{"huge frame", func(h *hostile, _ context.Context) {
		h.socket.raw(websocket.TextMessage, bytes.Repeat([]byte("["), 8<<20))
	}},
	{"result twice", func(h *hostile, _ context.Context) {
		t := h.task()
		h.result(t, `{"digest":"first"}`)
		h.result(t, `{"digest":"second"}`)
	}},
	{"result and error", func(h *hostile, _ context.Context) {
		t := h.task()
		h.socket.send(protocol.TypeTaskError, map[string]any{
			"taskId": t.TaskID, "executionId": t.ExecutionID, "attempt": t.Attempt, "retryable": true,
			"error": map[string]any{"code": "X\n", "message": strings.Repeat("é", 9_000)},
		})
		h.result(t, `"after all"`)
	}},
	{"wrong attempt", func(h *hostile, _ context.Context) {
		t := h.task()
		t.Attempt += 1 + h.random.IntN(1000)
		h.result(t, `1`)
	}},
	{"result for others", (*hostile).usurp},
	{"unknown type", func(h *hostile, _ context.Context) { h.socket.frame("sudo", `{"now":true}`) }},
	{"frames of the server", func(h *hostile, _ context.Context) {
		for _, kind := range []protocol.Type{protocol.TypeRegistered, protocol.TypeTask, protocol.TypeTaskAck, protocol.TypeConfigUpdate} {
			h.socket.frame(string(kind), `{"taskId":"task_1"}`)
		}
	}},
	{"wrong forms", func(h *hostile, _ context.Context) {
		for _, payload := range []string{`[]`, `null`, `"x"`, `1e999`, `{"taskId":{}}`, `{"status":7,"activeTasks":"many"}`, `{"maxTasks":-1}`, `{"capabilities":[1]}`} {
			for _, kind := range []protocol.Type{protocol.TypeHeartbeat, protocol.TypeStatusUpdate, protocol.TypeTaskResult, protocol.TypeMessage, protocol.TypeThreadEvent} {
				h.socket.frame(string(kind), payload)
			}
		}
	}},
	{"no JSON", func(h *hostile, _ context.Context) {
		h.socket.raw(websocket.TextMessage, []byte(`{"type":"task_result",`))
	}},
	{"no UTF-8", func(h *hostile, _ context.Context) {
		h.socket.raw(websocket.TextMessage, []byte("{\"type\":\"heartbeat\",\"id\":\"\xff\xfe\"}"))
	}},
	{"binary", func(h *hostile, _ context.Context) { h.socket.raw(websocket.BinaryMessage, []byte{0, 1, 2, 3}) }},
	{"flood of progress", func(h *hostile, ctx context.Context) {
		t := h.task()
		for i := 0; i < 1500 && ctx.Err() == nil; i++ {
			h.socket.send(protocol.TypeTaskProgress, map[string]any{"taskId": t.TaskID, "text": strings.Repeat("p", 200)})
		}
	}},
	{"flood of results", func(h *hostile, ctx context.Context) {
		t := h.task()
		for i := 0; i < 500 && ctx.Err() == nil; i++ {
			h.result(t, `{"digest":"again"}`)
		}
	}},
	{"messages to nobody", func(h *hostile, _ context.Context) {
		t := h.task()
		h.socket.send(protocol.TypeMessage, map[string]any{"taskId": t.TaskID, "messageType": "question", "to": "root", "content": "?"})
		h.socket.send(protocol.TypeMessageReply, map[string]any{"messageId": "msg_1", "content": "!"})
	}},
	{"registers again", func(h *hostile, _ context.Context) { h.socket.send(protocol.TypeRegister, h.registration()) }},
	{"many capabilities", func(h *hostile, _ context.Context) {
		names := make([]string, 2_000)
		for i := range names {
			names[i] = fmt.Sprintf("c%d", i)
		}
		h.socket.send(protocol.TypeStatusUpdate, map[string]any{"capabilities": names})
	}},
	{"cuts the line", func(h *hostile, _ context.Context) {
		_, _ = h.socket.conn.NetConn().Write([]byte{0x81, 0xfe, 0x7f}) // the head of a frame that never comes
		_ = h.socket.conn.NetConn().Close()
	}},
}

// usurp reports on a task of an execution that other agents work on.
func (h *hostile) usurp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	var page struct {
		Executions []struct {
			ID string `json:"executionId"`
		} `json:"executions"`
	}
	if r, _, err := h.caller.once(ctx, http.MethodGet, "/api/executions?status=running&limit=5", "", nil); err != nil || r.into(&page) != nil {
		return
	}
	for _, row := range page.Executions {
		var journal struct {
			Events []struct {
				Data struct {
					TaskID  string `json:"taskId"`
					Attempt int    `json:"attempt"`
				} `json:"data"`
			} `json:"events"`
		}
		if r, _, err := h.caller.once(ctx, http.MethodGet, "/api/executions/"+row.ID+"/events", "", nil); err != nil || r.into(&journal) != nil {
			return
		}
		for _, e := range journal.Events {
			if e.Data.TaskID != "" {
				h.result(protocol.Task{TaskID: e.Data.TaskID, ExecutionID: row.ID, Attempt: max(e.Data.Attempt, 1)}, `{"digest":"usurped"}`)
			}
		}
	}
}
