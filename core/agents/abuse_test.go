package agents_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// TestRequestsThatAreNoUpgrade get an error with its field, reason and problems, in our words.
func TestRequestsThatAreNoUpgrade(t *testing.T) {
	r := newRig(t, agents.Config{})
	upgrade := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Protocol": {protocol.Subprotocol}}
	for name, c := range map[string]struct{ header, value, field string }{
		"plain":    {"Connection", "keep-alive", "Upgrade"},
		"version":  {"Sec-Websocket-Version", "8", "Upgrade"},
		"key":      {"Sec-Websocket-Key", "short", "Upgrade"},
		"protocol": {"Sec-Websocket-Protocol", "chat", "Sec-WebSocket-Protocol"},
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.http.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header = upgrade.Clone()
		request.Header.Set(c.header, c.value)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Error struct {
				Message string
				Details struct {
					Field, Reason string
					Errors        []core.Problem
				}
			}
		}
		err = json.NewDecoder(response.Body).Decode(&body)
		_ = response.Body.Close()
		d := body.Error.Details
		if err != nil || response.StatusCode != 400 || d.Field != c.field || d.Reason == "" || body.Error.Message != d.Field+": "+d.Reason ||
			len(d.Errors) != 1 || d.Errors[0].Path != d.Field || strings.Contains(d.Reason, "token not found") {
			t.Errorf("%s: %d %+v %v", name, response.StatusCode, body, err)
		}
	}
}

func TestUpgradeRefusals(t *testing.T) {
	r := newRig(t, agents.Config{MaxSessions: 1})
	protocols := []string{protocol.Subprotocol}
	for name, c := range map[string]struct {
		header http.Header
		status int
		code   string
	}{
		"no subprotocol":    {http.Header{}, 400, "VALIDATION_ERROR"},
		"other subprotocol": {http.Header{"Sec-WebSocket-Protocol": {"chat"}}, 400, "VALIDATION_ERROR"},
		"other origin":      {http.Header{"Sec-WebSocket-Protocol": protocols, "Origin": {"http://evil.example"}}, 403, "FORBIDDEN"},
		"null origin":       {http.Header{"Sec-WebSocket-Protocol": protocols, "Origin": {"null"}}, 403, "FORBIDDEN"},
	} {
		t.Run(name, func(t *testing.T) {
			_, response, err := r.tryDial(c.header)
			if err == nil {
				t.Fatal("the connection was taken")
			}
			var body struct {
				Error struct {
					Code    string
					Message string
				}
			}
			if err := json.NewDecoder(response.Body).Decode(&body); err != nil || response.StatusCode != c.status ||
				body.Error.Code != c.code || body.Error.Message == "" {
				t.Fatalf("%d %+v %v", response.StatusCode, body, err)
			}
		})
	}
	response, err := http.Get(r.http.URL)
	if err != nil || response.StatusCode != 400 {
		t.Fatalf("plain GET: %v %v", response, err)
	}
	_ = response.Body.Close()
	p, _, err := r.tryDial(http.Header{"Sec-WebSocket-Protocol": protocols, "Origin": {r.http.URL}})
	if err != nil {
		t.Fatalf("same origin: %v", err)
	}
	if _, response, err = r.tryDial(http.Header{"Sec-WebSocket-Protocol": protocols}); err == nil || response.StatusCode != 503 {
		t.Fatalf("one too many: %v", err)
	}
	p.cut()
}

func TestBadRegistrations(t *testing.T) {
	r := newRig(t, agents.Config{})
	good := func() map[string]any {
		return map[string]any{"name": "n", "capabilities": []string{"a"}}
	}
	for name, c := range map[string]struct {
		change func(m map[string]any)
		says   string
	}{
		"no name":           {func(m map[string]any) { delete(m, "name") }, "name: must be 1 to 128"},
		"blank name":        {func(m map[string]any) { m["name"] = "  " }, "name:"},
		"control character": {func(m map[string]any) { m["name"] = "a\x00b" }, "name:"},
		"long name":         {func(m map[string]any) { m["name"] = strings.Repeat("ä", 129) }, "name:"},
		"name no string":    {func(m map[string]any) { m["name"] = 7 }, "name: must not be a JSON number"},
		"no capabilities":   {func(m map[string]any) { m["capabilities"] = []string{} }, "capabilities: must be 1 to 64"},
		"bad capability":    {func(m map[string]any) { m["capabilities"] = []string{"a", "b c"} }, "entry 1"},
		"long capability":   {func(m map[string]any) { m["capabilities"] = []string{strings.Repeat("a", 65)} }, "entry 0"},
		"many capabilities": {func(m map[string]any) { m["capabilities"] = make([]string, 65) }, "capabilities:"},
		"region":            {func(m map[string]any) { m["region"] = "\n" }, "region:"},
		"metadata":          {func(m map[string]any) { m["metadata"] = map[string]any{"x": strings.Repeat("a", 16<<10)} }, "metadata:"},
		"model":             {func(m map[string]any) { m["metadata"] = map[string]any{"model": 1} }, "metadata.model:"},
		"tasks":             {func(m map[string]any) { m["config"] = map[string]any{"maxConcurrentTasks": 10001} }, "maxConcurrentTasks"},
		"negative tasks":    {func(m map[string]any) { m["config"] = map[string]any{"maxConcurrentTasks": -1} }, "maxConcurrentTasks"},
		"all that is wrong": {func(m map[string]any) { m["name"], m["capabilities"], m["region"] = "", []string{"a b"}, "\n" },
			"register: name: must be 1 to 128 printable characters; capabilities: entry 0 must be 1 to 64 of A-Z a-z 0-9 . _ : / -; region: must"},
		"timeout": {func(m map[string]any) { m["config"] = map[string]any{"taskTimeout": -1} }, "taskTimeout"},
	} {
		t.Run(name, func(t *testing.T) {
			p := r.dial()
			m := good()
			c.change(m)
			p.send(protocol.TypeRegister, "r", m)
			var e protocol.Error
			if f := p.expect(protocol.TypeError, &e); f.ID != "r" || e.Code != "VALIDATION_ERROR" || !e.Fatal || !strings.Contains(e.Message, c.says) {
				t.Fatalf("error: %+v, want %q", e, c.says)
			}
			p.expectClose(4400)
		})
	}
	for _, first := range []string{`{"type":"heartbeat","payload":{}}`, `{`, `[]`, `{"type":"zzz"}`} {
		p := r.dial()
		p.raw(first)
		var e protocol.Error
		if p.expect(protocol.TypeError, &e); !e.Fatal {
			t.Fatalf("%s: %+v", first, e)
		}
		p.expectClose(4400)
	}
	if len(r.store.Appended()) != 0 || r.svc.CountCapable(need()) != 0 {
		t.Fatal("a refused registration left traces")
	}
}

func TestGarbageIsAnswered(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 1, "echo")
	r.give(reg.AgentID, task("task_1"))
	p.expect(protocol.TypeTask, nil)
	for _, c := range []struct{ raw, says string }{
		{`not json`, "not valid JSON at byte"},
		{`{"type":"heartbeat"`, "not valid JSON"},
		{`[1]`, "must not be a JSON array"},
		{`{"id":"x"}`, "type: is missing"},
		{`{"type":"nonsense","id":"x"}`, `unknown frame type "nonsense"`},
		{`{"type":"task_result","payload":{}}`, "result: is missing"},
		{`{"type":"task_result","payload":{"result":1}}`, "taskId: is missing"},
		{`{"type":"task_result","payload":{"taskId":5,"result":1}}`, "taskId: must not be a JSON number"},
		{`{"type":"task_result","payload":{"taskId":"task_1","result":1,"status":"failed"}}`, "report a failure with task_error"},
		{`{"type":"task_result","payload":{"taskId":"task_1","result":1,"attempt":-1}}`, "attempt:"},
		{`{"type":"task_error","payload":{"taskId":"task_1"}}`, "error: must have a code and a message"},
		{`{"type":"task_progress","payload":{"taskId":"task_1"}}`, "exactly one"},
		{`{"type":"task_progress","payload":{"text":"x"}}`, "taskId: is missing"},
		{`{"type":"heartbeat","payload":{"status":"asleep"}}`, "status: must be healthy, busy or draining"},
		{`{"type":"heartbeat","payload":{"status":"healthy","activeTasks":"2"}}`, "activeTasks: must not be a JSON string"},
		{`{"type":"heartbeat","payload":{"status":"healthy","ActiveTasks":[]}}`, "activeTasks: must not be a JSON array"},
		{`{"type":"heartbeat","payload":{"status":"healthy","metrics":[1]}}`, "metrics: must not be a JSON array"},
		{`{"type":"heartbeat","payload":{"status":"healthy","metrics":{"load":"high"}}}`, "metrics"},
		{`{"type":"heartbeat","payload":7}`, "must not be a JSON number"},
		{`{"type":"register","payload":{"name":"x"}}`, "registered already"},
		{`{"type":"message","payload":{}}`, "id: is missing"},
		{`{"type":"message","id":7,"payload":{}}`, "not an envelope"},
		{`{"type":"message","id":"a\u0007","payload":{}}`, "id: must be 1 to 128 printable bytes"},
		{`{"type":"message","id":"` + strings.Repeat("x", 129) + `","payload":{}}`, "id: must be"},
		{`{"type":"message","id":"a","payload":{"messageType":"question","content":1}}`, "taskId: is missing"},
		{`{"type":"message","id":"a","payload":{"taskId":"` + strings.Repeat("x", 129) + `"}}`, "taskId: must be an id"},
		{`{"type":"message","id":"a","payload":{"taskId":"task_1","content":1}}`, "messageType: must be 1 to 128"},
		{`{"type":"message","id":"a","payload":{"taskId":"task_1","messageType":"` + strings.Repeat("x", 129) + `"}}`, "messageType:"},
		{`{"type":"message","id":"a","payload":{"taskId":"task_1","messageType":"question","topic":"\n","content":1}}`, "topic:"},
		{`{"type":"message","id":"a","payload":{"taskId":"task_1","messageType":"question","to":["x"],"content":1}}`, "to: must not be"},
		{`{"type":"message","id":"a","payload":{"taskId":"task_1","messageType":"question"}}`, "content: is missing"},
		{`{"type":"message_reply","payload":{"content":1}}`, "messageId: must be the id"},
		{`{"type":"message_reply","payload":{"messageId":"` + strings.Repeat("x", 129) + `","content":1}}`, "messageId:"},
		{`{"type":"thread_event","payload":{}}`, "not supported by this server"},
		{"{\"type\":\"\xff\"}", "not valid UTF-8"},
	} {
		p.raw(c.raw)
		var e protocol.Error
		if p.expect(protocol.TypeError, &e); e.Code != "VALIDATION_ERROR" || e.Fatal || !strings.Contains(e.Message, c.says) {
			t.Fatalf("%s: %+v, want %q", c.raw, e, c.says)
		}
	}
	if err := p.conn.WriteMessage(websocket.BinaryMessage, []byte(`{"type":"heartbeat"}`)); err != nil {
		t.Fatal(err)
	}
	var e protocol.Error
	if p.expect(protocol.TypeError, &e); e.Fatal || !strings.Contains(e.Message, "binary") {
		t.Fatalf("error: %+v", e)
	}
	p.quiet()
	if len(r.sink.all()) != 0 || len(r.sink.said()) != 0 || len(r.sink.replied()) != 0 {
		t.Fatal("garbage reached the engine")
	}

	r.clock.Advance(3 * time.Second) // the burst is full again
	for i := range 100 {
		p.raw(`nonsense`)
		if p.expect(protocol.TypeError, &e); e.Fatal != (i == 99) {
			t.Fatalf("bad frame %d: %+v", i, e)
		}
	}
	p.expectClose(4400)
	if a := r.agent(reg.AgentID); a.ActiveTasks != 1 {
		t.Fatal("the task is held during the grace")
	}
}

func TestTooBigMessage(t *testing.T) {
	r := newRig(t, agents.Config{MaxMessage: 1000})
	p, _ := r.register("one", 1, "echo")
	p.raw(`{"type":"heartbeat","id":"` + strings.Repeat("x", 900) + `"}`)
	p.expect(protocol.TypeHeartbeatAck, nil)
	p.raw(`{"type":"heartbeat","id":"` + strings.Repeat("x", 1000) + `"}`)
	p.expectClose(websocket.CloseMessageTooBig)
}

func TestFloodIsDroppedThenClosed(t *testing.T) {
	r := newRig(t, agents.Config{MessagesPerSecond: 10})
	p, reg := r.register("flood", 50, "echo")
	beat := `{"type":"heartbeat","payload":{}}`
	for range 20 { // the burst
		p.raw(beat)
		p.expect(protocol.TypeHeartbeatAck, nil)
	}
	for range 30 {
		p.raw(beat)
	}
	var e protocol.Error
	if p.expect(protocol.TypeError, &e); e.Code != "RATE_LIMITED" || e.Fatal {
		t.Fatalf("error: %+v", e)
	}
	coretest.WaitFor(t, "the drops", func() bool { return r.svc.Stats().RateLimited == 30 })

	// Reports on handed-out tasks are never dropped.
	for i := range 50 {
		id := fmt.Sprintf("task_%d", i)
		r.give(reg.AgentID, task(id))
		p.expect(protocol.TypeTask, nil)
		p.send(protocol.TypeTaskResult, "", result(id, 1))
		p.expect(protocol.TypeTaskAck, nil)
	}
	// A double report counts.
	p.send(protocol.TypeTaskResult, "", result("task_0", 1))
	coretest.WaitFor(t, "the dropped double", func() bool { return r.svc.Stats().RateLimited == 31 })

	r.clock.Advance(2 * time.Second) // quiet: the flood is over
	p.quiet()
	for second := range 11 {
		read := r.svc.Stats().FramesRead
		if second == 10 {
			for range 40 { // the server closes in the middle, so writes may fail
				_ = p.conn.WriteMessage(websocket.TextMessage, []byte(beat))
			}
			break
		}
		for range 40 {
			p.raw(beat)
		}
		coretest.WaitFor(t, "the frames", func() bool { return r.svc.Stats().FramesRead == read+40 })
		r.clock.Advance(time.Second)
	}
	p.expectClose(4429)
}

// Binary messages count as frames, however few of them come in a row.
func TestBinaryFlood(t *testing.T) {
	r := newRig(t, agents.Config{MessagesPerSecond: 10})
	p, _ := r.register("one", 1, "echo")
	binary := func(n int) {
		for range n {
			if err := p.conn.WriteMessage(websocket.BinaryMessage, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
	}
	binary(10)
	for range 10 {
		p.expect(protocol.TypeError, nil)
	}
	p.quiet() // ends the row
	binary(30)
	coretest.WaitFor(t, "the drops", func() bool { return r.svc.Stats().RateLimited == 21 })
}

func TestPingFlood(t *testing.T) {
	r := newRig(t, agents.Config{MessagesPerSecond: 10})
	p, _ := r.register("one", 1, "echo")
	pongs := make(chan string, 100)
	p.conn.SetPongHandler(func(s string) error { pongs <- s; return nil })
	for i := range 30 {
		if err := p.conn.WriteControl(websocket.PingMessage, []byte(fmt.Sprint(i)), time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	coretest.WaitFor(t, "the drops", func() bool { return r.svc.Stats().RateLimited == 10 })
	for i := range 20 {
		if got := <-pongs; got != fmt.Sprint(i) {
			t.Fatalf("pong %q", got)
		}
	}
}

// An agent that does not read is closed when its queue is full, and may resume.
func TestSlowReaderIsClosed(t *testing.T) {
	r := newRig(t, agents.Config{MaxSendBytes: 64 << 10, CloseTimeout: 50 * time.Millisecond})
	// A bare connection: nobody reads behind the test's back.
	dialer := websocket.Dialer{Subprotocols: []string{protocol.Subprotocol}}
	conn, _, err := dialer.Dial("ws"+strings.TrimPrefix(r.http.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"register","payload":{"name":"slow","capabilities":["echo"],"config":{"maxConcurrentTasks":10000}}}`)); err != nil {
		t.Fatal(err)
	}
	_, data, err := conn.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	var e protocol.Envelope
	var reg protocol.Registered
	if err := json.Unmarshal(data, &e); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(e.Payload, &reg); err != nil {
		t.Fatal(err)
	}
	big := task("")
	big.Input = json.RawMessage(`"` + strings.Repeat("x", 32<<10) + `"`)
	sent := 0
	coretest.WaitFor(t, "the overflow", func() bool {
		for range 20 {
			sent++
			big.ID = fmt.Sprintf("task_%d", sent)
			if !r.svc.Dispatch(reg.AgentID, big) {
				t.Fatal("the agent is gone: it must be lost")
			}
		}
		return r.svc.Stats().Overflows == 1
	})
	if a := r.agent(reg.AgentID); a.Healthy || a.ActiveTasks != sent {
		t.Fatalf("agent: %+v", a)
	}
	p, again := r.resume(reg, []string{}, "echo")
	if !again.Resumed {
		t.Fatal("not resumed")
	}
	for range sent {
		p.expect(protocol.TypeTask, nil)
	}
}

// Reports that do not settle hold the agent back, and close the session when they never do.
func TestUnsettledReportsPauseReading(t *testing.T) {
	r := newRig(t, agents.Config{MaxUnsettled: 3})
	r.sink.hold()
	p, reg := r.register("one", 10, "echo")
	for i := range 5 {
		r.svc.Dispatch(reg.AgentID, task(fmt.Sprintf("task_%d", i)))
		p.expect(protocol.TypeTask, nil)
		p.send(protocol.TypeTaskResult, "", result(fmt.Sprintf("task_%d", i), 1))
	}
	coretest.WaitFor(t, "three reports", func() bool { return len(r.sink.all()) == 3 })
	advance(r.clock, 25*time.Second) // its silence is the server's doing
	if !r.agent(reg.AgentID).Healthy {
		t.Fatal("unhealthy while the server does not read")
	}
	if n := len(r.sink.all()); n != 3 {
		t.Fatalf("%d reports", n)
	}
	r.sink.all()[0].Settled()
	p.expect(protocol.TypeTaskAck, nil)
	coretest.WaitFor(t, "the fourth report", func() bool { return len(r.sink.all()) == 4 })
	r.sink.all()[1].Settled()
	p.expect(protocol.TypeTaskAck, nil)
	coretest.WaitFor(t, "the fifth report", func() bool { return len(r.sink.all()) == 5 })

	advance(r.clock, 61*time.Second) // the others never settle
	p.expectClose(websocket.CloseTryAgainLater)
	p, again := r.resume(reg, []string{"task_2"}, "echo")
	if !again.Resumed {
		t.Fatal("not resumed")
	}
	p.expect(protocol.TypeTask, nil) // task_3 and task_4 are not settled and not listed
	p.expect(protocol.TypeTask, nil)
}

func TestLateAndDoubleReportsReachTheEngine(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 4, "echo")
	r.give(reg.AgentID, task("task_1"))
	p.expect(protocol.TypeTask, nil)
	p.send(protocol.TypeTaskResult, "1", result("task_1", 1))
	p.expect(protocol.TypeTaskAck, nil)
	p.send(protocol.TypeTaskResult, "2", result("task_1", 1)) // double
	p.expect(protocol.TypeTaskAck, nil)
	r.svc.Release(reg.AgentID, "task_1", "")
	p.send(protocol.TypeTaskResult, "3", result("task_1", 1)) // late
	p.expect(protocol.TypeTaskAck, nil)
	p.send(protocol.TypeTaskResult, "4", protocol.TaskResult{TaskID: "task_never", Result: json.RawMessage(`null`), Attempt: 7})
	p.expect(protocol.TypeTaskAck, nil)
	again := task("task_2")
	again.Attempt = 2
	r.give(reg.AgentID, again)
	p.expect(protocol.TypeTask, nil)
	p.send(protocol.TypeTaskResult, "5", result("task_2", 1)) // fenced
	p.expect(protocol.TypeTaskAck, nil)
	reports := r.sink.all()
	if len(reports) != 5 || reports[3].TaskID != "task_never" || reports[3].Attempt != 7 || reports[4].Attempt != 1 {
		t.Fatalf("reports: %+v", reports)
	}
	a := r.agent(reg.AgentID)
	if a.Statistics.TasksCompleted != 1 || a.ActiveTasks != 1 {
		t.Fatalf("agent: %+v", a)
	}
}

func TestProgress(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 4, "echo")
	r.give(reg.AgentID, task("task_1"))
	p.expect(protocol.TypeTask, nil)
	p.send(protocol.TypeTaskProgress, "", protocol.TaskProgress{TaskID: "task_1", Text: "half \"way\""})
	p.send(protocol.TypeTaskProgress, "", protocol.TaskProgress{TaskID: "task_1", Data: json.RawMessage(`{"done":1}`)})
	p.send(protocol.TypeTaskProgress, "", protocol.TaskProgress{TaskID: "task_2", Text: "not mine"})
	p.quiet()
	want := []string{
		reg.AgentID + ` task_1 {"text":"half \"way\""}`,
		reg.AgentID + ` task_1 {"data":{"done":1}}`,
	}
	if got := fmt.Sprint(r.sink.progress); got != fmt.Sprint(want) {
		t.Fatalf("progress %s", got)
	}
}

// An agent that closes its socket without a disconnect frame may come back.
func TestCloseWithoutDisconnectIsNotGraceful(t *testing.T) {
	r := newRig(t, agents.Config{})
	p, reg := r.register("one", 1, "echo")
	if err := p.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1001, ""), time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	p.expectClose(websocket.CloseNormalClosure)
	r.waitLost(reg.AgentID)
	if p, again := r.resume(reg, nil, "echo"); !again.Resumed {
		t.Fatal("not resumed")
	} else {
		p.quiet()
	}
}
