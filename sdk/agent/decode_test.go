package agent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// seeds are frames of every kind, and frames at the border of what the quick path takes.
var seeds = []string{
	`{"type":"task","id":"f1","timestamp":"2026-01-01T00:00:00Z","payload":{"taskId":"t1","executionId":"e1",` +
		`"patternName":"p","patternVersion":"1.0.0","capability":"c","role":"r","step":"s","input":{"a":[1,-2.5e+3,"x\u00e9\n",null]},` +
		`"config":{"k":true},"timeout":30000,"priority":"high","context":{"b":false},"attempt":2}}`,
	`{"payload":{"attempt":1,"taskId":"t1","input":{}},"type":"task"}`,
	` { "type" : "task_ack" , "payload" : { "taskId" : "t1" } } `,
	`{"type":"task_ack","payload":{"taskId":"t\u0031"}}`,
	`{"type":"task_ack","payload":{"taskId":"é"}}`,
	"{\"type\":\"task_ack\",\"payload\":{\"taskId\":\"\xff\"}}",
	`{"type":"task_ack","payload":{"TASKID":"t1"}}`,
	`{"type":"task_ack","payload":{"taskId":"t1","taskId":"t2"}}`,
	`{"type":"task","payload":{"taskId":"t1"},"payload":{"executionId":"e1"}}`,
	`{"type":"task","payload":{"input":null,"config":null}}`,
	`{"type":"task","payload":{"timeout":1.5}}`,
	`{"type":"task","payload":{"timeout":01}}`,
	`{"type":"task","payload":{"timeout":-1,"attempt":9223372036854775807}}`,
	`{"type":"task","payload":{"timeout":99999999999999999999}}`,
	`{"type":"task","payload":{"input":[1,]}}`,
	`{"type":"task","payload":{"input":"\x"}}`,
	`{"type":"task","payload":{"input":"\u12g4"}}`,
	`{"type":"task","payload":null}`,
	`{"type":"task","unknown":{"x":1},"payload":{}}`,
	`{"type":"task"}x`, `{"type":"task",}`, `{"type":"task"`, `{"type":null}`, `{}`, ``, `null`, `[]`,
	`{"type":"registered","id":"1","payload":{"agentId":"a","resumeToken":"t","resumed":true,"capabilities":["c"],` +
		`"config":{"heartbeatInterval":10000,"taskTimeout":30000,"maxMessageBytes":1048576}}}`,
	`{"type":"message","id":"msg_1","timestamp":"2026-01-01T00:00:00Z","payload":{"messageId":"msg_1","executionId":"e1","taskId":"t1",` +
		`"from":"cto","messageType":"question","topic":"x","content":{"text":"why?"},"wantsReply":true}}`,
	`{"type":"message_reply","id":"ask-1","payload":{"messageId":"msg_1","taskId":"t1","from":"user","content":null}}`,
	`{"type":"message","payload":{"messageId":7,"content":`, `{"type":"message","payload":{"wantsReply":"yes"}}`,
	`{"type":"error","payload":{"code":"FORBIDDEN","message":"no","fatal":true}}`,
	`{"type":"task","payload":{"input":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`,
	`{"type":"task","payload":{"input":` + strings.Repeat("[", 300) + strings.Repeat("]", 300) + `}}`,
}

// decodeSlow decodes a frame by encoding/json. The quick path must agree with it.
func decodeSlow(data []byte) (frame, error) {
	var f frame
	err := json.Unmarshal(data, &f)
	return f, err
}

func TestDecode_QuickPath(t *testing.T) {
	for i, quick := range []bool{true, true, true, false, true, false, false, false, false, false, false} {
		var d decoder
		var f frame
		if got := d.scan([]byte(seeds[i]), &f); got != quick {
			t.Errorf("quick is %t for %s", got, seeds[i])
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, wantErr := decodeSlow(data)
		var d decoder
		var got frame
		for range 2 { // the second time with what the first has remembered
			text := append([]byte(nil), data...)
			err := d.decode(text, &got)
			clear(text) // nothing of the buffer may be kept
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("error %v, want %v", err, wantErr)
			}
			if err == nil && !reflect.DeepEqual(got, want) {
				t.Fatalf("got %+v\nwant %+v", got, want)
			}
		}
	})
}

func BenchmarkDecodeTask(b *testing.B) {
	data := []byte(seeds[0])
	var d decoder
	var f frame
	b.ReportAllocs()
	for b.Loop() {
		if err := d.decode(data, &f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendAnswer(b *testing.B) {
	a := &answer{
		taskID: "task_01J00000000000000000000000", executionID: "exec_01J00000000000000000000000",
		result: json.RawMessage(`{"label":"a","confidence":0.5}`), duration: time.Second,
	}
	now := time.Now()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = appendAnswer(buf[:0], a, "f1", 1, now)
	}
}

// TestFramesAreUTF8 checks that raw JSON which is not UTF-8 gets into no frame: the server takes none such, and what it owes
// an acknowledgement would be sent again for ever.
func TestFramesAreUTF8(t *testing.T) {
	raw := map[string]any{"raw": json.RawMessage("\"\xff\"")}
	failure := taskErrorPayload(&answer{taskID: "t1", err: &Error{Code: "X", Message: "y\xff", Details: raw}}, 1)
	var p protocol.TaskError
	if err := json.Unmarshal(failure, &p); err != nil || !utf8.Valid(failure) || p.TaskID != "t1" || p.Error.Code != "X" {
		t.Errorf("a task error is %q, %v", failure, err)
	}
	event, err := encodeThreadEvent(&protocol.ThreadEvent{ThreadID: "thread_1", Sequence: 7, Data: protocol.ThreadData{
		Text: "\xff", Tool: &protocol.ThreadTool{Name: "Bash", Input: raw}, Prompt: &protocol.ThreadPrompt{ID: "p1", Input: raw},
	}}, 0)
	var e protocol.ThreadEvent
	if err != nil || json.Unmarshal(event, &e) != nil || !utf8.Valid(event) || e.Data.Tool.Name != "Bash" || e.Data.Prompt.ID != "p1" {
		t.Errorf("an event is %q, %v", event, err)
	}
}

func TestRecentAnswers(t *testing.T) {
	var r recentAnswers
	id := func(i int) string { return fmt.Sprint("t", i) }
	const n = 2*recentTasks + 5
	for i := range n {
		r.add(&answer{taskID: id(i)})
	}
	for i := range n {
		if found := r.find(id(i)) != nil; found != (i >= n-recentTasks) {
			t.Fatalf("answer %d of %d: found is %t", i, n, found)
		}
	}
	big := json.RawMessage(strings.Repeat("x", recentBytes/2))
	r = recentAnswers{}
	for _, id := range []string{"a", "b", "c"} {
		r.add(&answer{taskID: id, result: big})
		r.add(&answer{taskID: id, result: json.RawMessage("1")}) // the first one stays
	}
	if r.find("a") != nil || r.find("b") != nil || len(r.find("c").result) != len(big) {
		t.Error("answers are kept beyond the bound in bytes, or not the first of a task")
	}
	r = recentAnswers{}
	for _, id := range []string{"a", "b", "c"} {
		r.add(&answer{taskID: id, err: &Error{Code: "X", Details: map[string]any{"trace": string(big)}}})
	}
	if r.find("a") != nil || r.find("b") != nil || r.find("c") == nil {
		t.Error("the details of errors are kept beyond the bound in bytes")
	}
}
