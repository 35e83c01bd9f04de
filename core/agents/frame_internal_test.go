package agents

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

var frameSeeds = []string{
	`{"type":"task_result","id":"m1","timestamp":"2026-01-02T03:04:05Z","payload":{"taskId":"task_1","executionId":"exec_1","status":"completed","result":{"label":"a","confidence":0.5},"duration":12,"metadata":{"m":[1,2,{"x":null}]},"attempt":1}}`,
	`{ "payload" : { "result" : [ -1.5e+3 , true , false , null , "\u00e4\n\"" ] , "taskId" : "t" } , "type" : "task_result" }`,
	`{"type":"task_result","payload":{"taskId":"t","taskId":"u","result":1}}`,
	`{"type":"task_result","payload":{"TaskID":"t","result":1}}`,
	`{"type":"task_result","payload":{"taskId":"a\u0041","result":1}}`,
	`{"type":"task_result","payload":{"taskId":"t","result":1,"duration":1.5}}`,
	`{"type":"task_result","payload":{"taskId":"t","result":1,"duration":-3}}`,
	`{"type":"task_result","payload":{"taskId":"t","result":01}}`,
	`{"type":"task_result","payload":{"taskId":"t","result":1,"attempt":2.0}}`,
	`{"type":"task_result","payload":{"taskId":null,"result":null,"attempt":null}}`,
	`{"type":"task_result","payload":null}`,
	`{"type":"task_result"}`,
	`{"type":"task_result","payload":{}}`,
	`{"type":"heartbeat","id":"h","timestamp":"x","payload":{"status":"healthy","activeTasks":1,"metrics":{"a":1}}}`,
	`{"type":"heartbeat","payload":{"a":"\ud800"}}`,
	`{"type":"register","payload":{"name":"n"},"payload":{"name":"m"}}`,
	`{"type":"x","id":7}`,
	`{"type":"heartbeat"} x`,
	`{"type":"heartbeat",}`,
	`{}`, ``, `null`, `[]`, `"`, `{"`, `{"type":"task_result","payload":{"result":[`, `{"type":"heartbeat","payload":-}`,
	`{"type":"heartbeat","payload":1.}`, `{"type":"heartbeat","payload":1e}`, `{"type":"heartbeat","payload":"\x"}`,
	"{\"type\":\"heartbeat\",\"payload\":\"\x01\"}", `{"type":"heartbeat","payload":tru}`,
	`{"type":"task_result","payload":{"taskId":"t","result":1,"duration":12345678901234567890}}`,
	`{"type":"message","id":"ask-1","timestamp":"2026-01-02T03:04:05Z","payload":{"taskId":"task_1","messageType":"question","topic":"design","to":"cto","content":{"text":"why?"}}}`,
	`{"type":"message","id":"a","payload":{"taskId":"t","messageType":"x","content":null}}`,
	`{"type":"message","id":"\u0000","payload":{"taskId":"t","messageType":"","content":[` + "\"\xc3\xa4\"" + `]}}`,
	`{"type":"message","payload":{"taskId":1}}`,
	`{"type":"message_reply","id":"m","payload":{"messageId":"msg_1","content":"because"}}`,
	`{"type":"message_reply","payload":{"messageId":"msg_1"}}`,
	`{"type":"message_reply","payload":{"messageId":"msg_1","content":null,"from":3}}`,
}

// FuzzFrame holds the fast path to what encoding/json says: whatever it takes, encoding/json takes too and
// reads the same; and whatever comes in, the decoder does not fail.
func FuzzFrame(f *testing.F) {
	for _, seed := range frameSeeds {
		f.Add([]byte(seed))
	}
	f.Add([]byte(`{"type":"task_result","payload":{"taskId":"t","result":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := decodeFrame(data)
		if err == nil && !json.Valid(data) {
			t.Fatal("took a frame that is not JSON")
		}
		if err == nil {
			checkDecoded(t, &got)
		}
		if !utf8.Valid(data) {
			return
		}
		fast, ok := scanFrame(data)
		if !ok {
			return
		}
		slow, err := parseFrame(data)
		if err != nil {
			t.Fatalf("the fast path took what encoding/json refuses: %v", err)
		}
		if fast.kind != slow.kind || !bytes.Equal(fast.id, slow.id) {
			t.Fatalf("envelope: %q %q, want %q %q", fast.kind, fast.id, slow.kind, slow.id)
		}
		if !fast.fast {
			if !bytes.Equal(fast.payload, slow.payload) {
				t.Fatalf("payload: %q, want %q", fast.payload, slow.payload)
			}
			return
		}
		want, err := slow.result()
		if err != nil {
			t.Fatalf("the fast path took a payload that encoding/json refuses: %v", err)
		}
		if r := fast.report; !bytes.Equal(r.taskID, want.taskID) || !bytes.Equal(r.executionID, want.executionID) ||
			!bytes.Equal(r.status, want.status) || !bytes.Equal(r.result, want.result) || (r.result == nil) != (want.result == nil) ||
			r.duration != want.duration || r.attempt != want.attempt {
			t.Fatalf("report: %+v, want %+v", r, want)
		}
	})
}

// checkDecoded runs what comes after decoding.
func checkDecoded(t *testing.T, f *frame) {
	switch f.kind {
	case protocol.TypeTaskResult, protocol.TypeTaskError:
		r, failure, err := readReport(f)
		if err == nil && failure == nil && !json.Valid(r.result) {
			t.Fatalf("took a result that is not JSON: %q", r.result)
		}
	case protocol.TypeRegister:
		var p protocol.Register
		if f.into(&p) == nil {
			if reg, err := checkRegister(&p); err == nil && (reg.maxTasks < 1 || len(reg.capabilities) == 0) {
				t.Fatalf("took %+v", reg)
			}
		}
	case protocol.TypeMessage:
		var p protocol.Message
		if f.into(&p) == nil && checkMessage(string(f.id), &p) == nil {
			l := outbound{message: &core.AgentMessage{MessageID: string(f.id), Topic: p.Topic, Content: p.Content}}
			if !json.Valid(l.append(nil, time.Now())) || !json.Valid(p.Content) {
				t.Fatalf("message %+v is passed on as %s", p, l.append(nil, time.Now()))
			}
		}
	case protocol.TypeMessageReply:
		var p protocol.MessageReply
		if f.into(&p) == nil {
			l := outbound{reply: &core.AgentReply{MessageID: p.MessageID, Content: p.Content}}
			if b := l.append(nil, time.Now()); !json.Valid(b) || !bytes.Contains(b, []byte(`"content":`)) {
				t.Fatalf("reply %+v is passed on as %s", p, b)
			}
		}
	case protocol.TypeTaskProgress:
		var p protocol.TaskProgress
		if f.into(&p) == nil && !json.Valid(appendProgress(p)) {
			t.Fatalf("progress of %+v is not JSON", p)
		}
	}
}

func TestScanTakesTheUsualFrames(t *testing.T) {
	for _, usual := range []string{frameSeeds[0], frameSeeds[13]} {
		if _, ok := scanFrame([]byte(usual)); !ok {
			t.Errorf("the fast path refuses %s", usual)
		}
	}
	if f, _ := scanFrame([]byte(frameSeeds[0])); !f.fast || f.report.attempt != 1 {
		t.Error("task_result is not read in one pass")
	}
}

// What is appended by hand reads as the protocol's types do.
func TestEncodersMatchTheProtocol(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 678000000, time.FixedZone("x", 3600))
	odd := "a\"\\\n\r\t\x00\x1f\u2028é\xff€"
	task := core.Task{
		ID: "task_1", ExecutionID: "exec_1", PatternName: odd, PatternVersion: "1", Step: "s", Capability: "c", Role: "r",
		Input: json.RawMessage(`{"a":1}`), Config: json.RawMessage(`{"b":2}`), Timeout: 1500 * time.Millisecond,
		Priority: core.PriorityHigh, Context: json.RawMessage(`{"c":3}`), Attempt: 3,
	}
	for name, c := range map[string]struct {
		got  []byte
		kind protocol.Type
		id   string
		want any
	}{
		"task": {appendTask(nil, &task, now), protocol.TypeTask, "task_1", protocol.Task{
			TaskID: "task_1", ExecutionID: "exec_1", PatternName: odd, PatternVersion: "1", Step: "s", Capability: "c", Role: "r",
			Input: task.Input, Config: task.Config, Timeout: 1500, Priority: "high", Context: task.Context, Attempt: 3,
		}},
		"bare task": {appendTask(nil, &core.Task{}, now), protocol.TypeTask, "", protocol.Task{Priority: "normal", Context: json.RawMessage("{}")}},
		"ack":       {appendAck(nil, odd, "t", now), protocol.TypeTaskAck, odd, protocol.TaskAck{TaskID: "t"}},
		"heartbeat_ack": {appendHeartbeatAck(nil, "h", now, 10*time.Second), protocol.TypeHeartbeatAck, "h",
			protocol.HeartbeatAck{ServerTime: now.UTC(), NextHeartbeat: 10000}},
		"task_cancelled": {appendCancelled(nil, cancelled{"t", "e", odd}, now), protocol.TypeTaskCancelled, "",
			protocol.TaskCancelled{TaskID: "t", ExecutionID: "e", Reason: odd}},
		"message": {appendMessage(nil, &core.AgentMessage{
			MessageID: "msg_1", ExecutionID: "e", TaskID: "t", From: odd, MessageType: odd, Topic: odd,
			Content: json.RawMessage(`{"a":"<>"}`), WantsReply: true,
		}, now), protocol.TypeMessage, "msg_1", protocol.MessageDelivery{
			MessageID: "msg_1", ExecutionID: "e", TaskID: "t", From: odd, MessageType: odd, Topic: odd,
			Content: json.RawMessage(`{"a":"<>"}`), WantsReply: true,
		}},
		"bare message": {appendMessage(nil, &core.AgentMessage{}, now), protocol.TypeMessage, "", protocol.MessageDelivery{}},
		"message_reply": {appendReply(nil, &core.AgentReply{
			MessageID: "msg_1", AskID: odd, TaskID: "t", From: odd, Content: json.RawMessage(`[1]`),
		}, now), protocol.TypeMessageReply, odd, protocol.MessageReply{
			MessageID: "msg_1", TaskID: "t", From: odd, Content: json.RawMessage(`[1]`),
		}},
		"message_reply without content": {appendReply(nil, &core.AgentReply{MessageID: "m", TaskID: "t", From: "f"}, now),
			protocol.TypeMessageReply, "", protocol.MessageReply{
				MessageID: "m", TaskID: "t", From: "f", Content: json.RawMessage(`null`),
			}},
		"error": {appendFrame(nil, protocol.TypeError, "", now, protocol.Error{Code: "X"}), protocol.TypeError, "", protocol.Error{Code: "X"}},
	} {
		t.Run(name, func(t *testing.T) {
			payload, err := json.Marshal(c.want)
			if err != nil {
				t.Fatal(err)
			}
			frame, err := json.Marshal(protocol.Envelope{Type: c.kind, ID: c.id, Timestamp: now.UTC(), Payload: payload})
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := json.Unmarshal(c.got, &got); err != nil {
				t.Fatalf("%s: %v", c.got, err)
			}
			if err := json.Unmarshal(frame, &want); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("got  %s\nwant %s", c.got, frame)
			}
		})
	}
}

func BenchmarkDecodeResult(b *testing.B) {
	data := []byte(frameSeeds[0])
	b.ReportAllocs()
	for b.Loop() {
		f, err := decodeFrame(data)
		if err != nil || !f.fast {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeResultSlow(b *testing.B) {
	data := []byte(frameSeeds[0])
	b.ReportAllocs()
	for b.Loop() {
		f, err := parseFrame(data)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.result(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeHeartbeat(b *testing.B) {
	data := []byte(frameSeeds[13])
	b.ReportAllocs()
	for b.Loop() {
		f, err := decodeFrame(data)
		if err != nil {
			b.Fatal(err)
		}
		if _, ok := scanStatus(f.payload); !ok {
			b.Fatal("the fast path refuses a heartbeat")
		}
	}
}

func BenchmarkAppendTask(b *testing.B) {
	task := core.Task{
		ID: "task_01J00000000000000000000000", ExecutionID: "exec_01J00000000000000000000000", PatternName: "bench",
		PatternVersion: "1.0.0", Input: json.RawMessage(`{"text":"hello world"}`), Timeout: time.Second, Attempt: 1,
	}
	now := time.Now()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = appendTask(buf[:0], &task, now)
	}
}

func FuzzStatus(f *testing.F) {
	for _, seed := range []string{
		`{"status":"healthy","activeTasks":0}`, `{"activeTasks":3,"status":"busy","metrics":{"cpu":0.5}}`, `{}`, `{"Status":"x"}`,
		`{"status":"a","status":"b"}`, `{"status":3}`, `{"status":"a"} x`, `null`, ``, `{"status":"a",}`, `{"status":"\u0061"}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		fast, ok := scanStatus(payload)
		if !ok || !utf8.Valid(payload) {
			return
		}
		var slow struct {
			Status string `json:"status"`
		}
		if err := json.Unmarshal(payload, &slow); err != nil {
			t.Fatalf("the fast path took what encoding/json refuses: %v", err)
		}
		if fast != slow.Status {
			t.Fatalf("status %q, want %q", fast, slow.Status)
		}
	})
}
