package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/coretest"
)

const threadStreamPath = "/api/executions/" + execID + "/threads/stream"

// threadEvent is an event of a thread in the rig's execution.
func threadEvent(seq uint64, id string, typ core.EventType, data string) core.Event {
	return core.Event{Seq: seq, Type: typ, Subject: id, Group: core.ThreadGroup(execID), Time: epoch, Data: json.RawMessage(data)}
}

// follows makes the rig's threads stream a journal, and its store hold the journal's first events.
func (r *rig) follows(j *journal) {
	r.journal.events = j.events
	r.threads.follow = func(_ context.Context, id string, after uint64, live bool) (core.EventStream, error) {
		if id != execID {
			return nil, core.NotFound("execution", id)
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		return &view{journal: j, after: after}, nil
	}
}

func threadData(id, kind string, seq uint64, data string) string {
	quoted, _ := json.Marshal(data)
	return fmt.Sprintf(`data: {"executionId":"%s","threadId":"%s","type":"gateway_thread_%s","data":{"thread_id":"%s","event_type":"%s",`+
		`"data_json":%s,"timestamp_ms":%d,"sequence":%d},"timestamp":"2026-01-02T03:04:05.678Z"}`,
		execID, id, kind, id, kind, quoted, epoch.UnixMilli(), seq)
}

// wantThread reads one frame of a thread.
func wantThread(tb testing.TB, lines <-chan string, id, kind string, seq uint64, data string) {
	tb.Helper()
	wantLines(tb, lines, fmt.Sprintf("id: %d", seq), "event: thread_"+kind, threadData(id, kind, seq, data))
}

func wantConnected(tb testing.TB, lines <-chan string, ids string, at uint64) {
	tb.Helper()
	wantLines(tb, lines, "event: connected", `data: {"executionId":"`+execID+`","threadIds":[`+ids+`]}`, fmt.Sprintf("id: %d", at))
}

func TestThreadFrames(t *testing.T) {
	for _, c := range []struct {
		typ              core.EventType
		data, kind, want string
	}{
		{core.EventThreadOutput, `{"text":"a \"b\" <c>\n","turn":1}`, "output", `{"text":"a \"b\" <c>\n","turn":1}`},
		{core.EventThreadBlocked, `{"prompt":{"id":"p"},"autoAnswered":false}`, "blocked", `{"prompt":{"id":"p"},"autoAnswered":false}`},
		{core.EventThreadStarted, `{"runtime":"local"}`, "started", `{"runtime":"local"}`},
		{core.EventThreadCompleted, `{"completion":{}}`, "completed", `{"completion":{}}`},
		{core.EventThreadFailed, `{"error":{}}`, "failed", `{"error":{}}`},
		{core.EventThreadTurnComplete, `{"turn":1}`, "turn_complete", `{"turn":1}`},
		{core.EventThreadToolRunning, `{"tool":"x"}`, "tool_running", `{"tool":"x"}`},
		{core.EventThreadStatus, `{"status":"stuck"}`, "status", `{"status":"stuck"}`},
		{core.EventThreadReady, `{}`, "status", `{"status":"ready"}`},
		{core.EventThreadReady, ``, "status", `{"status":"ready"}`},
		{core.EventThreadReady, `[1]`, "status", `{"status":"ready"}`},
		{core.EventThreadIdle, `{ "idleMs": 5, "status":"x" }`, "status", `{"status":"idle","idleMs":5}`},
		{core.EventThreadStopped, `{"reason":"requested","completion":{"a":[1,2]}}`, "status", `{"status":"stopped","reason":"requested","completion":{"a":[1,2]}}`},
		{core.EventThreadSummaryUpdated, `{"summary":"s","turns":3}`, "status", `{"status":"summary_updated","summary":"s","turns":3}`},
		{core.EventThreadOutput, ``, "output", `{}`},
	} {
		frame := string(api.EncodeThreadFrame(execID, threadEvent(7, threadID, c.typ, c.data)))
		want := "id: 7\nevent: thread_" + c.kind + "\n"
		head, data, _ := strings.Cut(frame, "data: ")
		if head != want || !strings.HasSuffix(data, "}\n\n") || strings.Count(frame, "\n") != 4 {
			t.Errorf("%s: frame %q", c.typ, frame)
		}
		var d struct {
			ExecutionID, ThreadID, Type, Timestamp string
			Data                                   struct {
				ThreadID  string `json:"thread_id"`
				EventType string `json:"event_type"`
				DataJSON  string `json:"data_json"`
				At        int64  `json:"timestamp_ms"`
				Sequence  uint64
			}
		}
		if err := json.Unmarshal([]byte(data), &d); err != nil {
			t.Fatal(err)
		}
		if d.ExecutionID != execID || d.ThreadID != threadID || d.Type != "gateway_thread_"+c.kind || d.Timestamp != "2026-01-02T03:04:05.678Z" ||
			d.Data.ThreadID != threadID || d.Data.EventType != c.kind || d.Data.At != epoch.UnixMilli() || d.Data.Sequence != 7 ||
			d.Data.DataJSON != c.want {
			t.Errorf("%s: %s", c.typ, data)
		}
	}
	if frame := api.EncodeThreadFrame(execID, threadEvent(1, threadID, core.EventTaskCompleted, `{}`)); frame != nil {
		t.Errorf("an event of another kind is shown: %q", frame)
	}
	if frame := api.EncodeThreadFrame(execID, threadEvent(0, threadID, core.EventThreadOutput, `{}`)); strings.Contains(string(frame), "id:") {
		t.Errorf("a live event has an id: %q", frame)
	}
}

func FuzzThreadFrame(f *testing.F) {
	f.Add("thread_1", `{"text":"a"}`, uint8(0))
	f.Add("x\n\ny", "\xff{", uint8(8))
	f.Add("", `{"status":"a","status":1,"x":[{}]}`, uint8(9))
	f.Fuzz(func(t *testing.T, id, data string, kind uint8) {
		types := append([]core.EventType{core.EventThreadOutput, core.EventThreadStatus}, core.PersistedThreadEvents...)
		frame := string(api.EncodeThreadFrame(id, threadEvent(3, id, types[int(kind)%len(types)], data)))
		if strings.Count(frame, "\n") != 4 || strings.Contains(frame, "\r") || !strings.HasSuffix(frame, "\n\n") {
			t.Fatalf("%q is no single frame", frame)
		}
		_, text, _ := strings.Cut(frame, "\ndata: ")
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q is no JSON", text)
		}
	})
}

func TestThreadStream(t *testing.T) {
	r := newRig(t)
	j := newJournal(threadEvent(4, threadID, core.EventThreadStarted, `{}`), threadEvent(6, threadID2, core.EventThreadReady, `{}`))
	r.follows(j)
	req, _ := http.NewRequest("GET", r.http.URL+threadStreamPath, nil)
	req.Header.Set("Accept", "text/event-stream")
	ctx, cancel := context.WithCancel(context.Background())
	resp, err := r.client.Do(req.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no",
	} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
	cancel()
	resp.Body.Close()

	live := r.openStream(threadStreamPath)
	wantConnected(t, live, "", 6)
	whole := r.openStream(threadStreamPath, "Last-Event-ID: 0", "Accept: text/html, text/*;q=0.5")
	wantConnected(t, whole, "", 0)
	wantThread(t, whole, threadID, "started", 4, `{}`)
	wantThread(t, whole, threadID2, "status", 6, `{"status":"ready"}`)
	some := r.openStream(threadStreamPath+"?lastEventId=4&threadIds="+threadID+",%20"+threadID2, "Accept: */*")
	wantConnected(t, some, `"`+threadID+`","`+threadID2+`"`, 4)
	wantThread(t, some, threadID2, "status", 6, `{"status":"ready"}`)
	one := r.openStream(threadStreamPath + "?threadIds=" + threadID)
	wantConnected(t, one, `"`+threadID+`"`, 6)
	j.change(func() {
		j.events = append(j.events, threadEvent(8, threadID2, core.EventThreadOutput, `{"text":"two"}`),
			threadEvent(9, threadID, core.EventThreadOutput, `{"text":"one"}`))
		j.over = true
	})
	for _, lines := range []<-chan string{live, whole, some} {
		wantThread(t, lines, threadID2, "output", 8, `{"text":"two"}`)
		wantThread(t, lines, threadID, "output", 9, `{"text":"one"}`)
		wantEnd(t, lines)
	}
	wantThread(t, one, threadID, "output", 9, `{"text":"one"}`)
	wantEnd(t, one)
}

func TestThreadStreamRefuses(t *testing.T) {
	r := newRig(t)
	r.follows(newJournal(threadEvent(4, threadID, core.EventThreadStarted, `{}`)))
	for _, c := range []struct {
		query, header string
		field         string
	}{
		{"?threadIds=x", "", "threadIds"},
		{"?threadIds=" + threadID + "," + threadID, "", "threadIds"},
		{"?threadIds=" + execID, "", "threadIds"},
		{"?threads=" + threadID, "", "threads"},
		{"?lastEventId=-1", "", "lastEventId"},
		{"?lastEventId=x", "", "lastEventId"},
		{"", "Last-Event-ID: x", "Last-Event-ID"},
		{"", "Accept: application/json", "Accept"},
		{"", "Accept: text/event-stream;q=0", "Accept"},
	} {
		var headers []string
		if c.header != "" {
			headers = append(headers, c.header)
		}
		p := r.do("GET", threadStreamPath+c.query, "", headers...)
		p.wants(t, 400, core.CodeValidation)
		if got := p.at("error", "details", "field"); got != c.field {
			t.Errorf("%s %s: field %v, want %s", c.query, c.header, got, c.field)
		}
	}
	r.do("GET", "/api/executions/exec_none/threads/stream", "").wants(t, 404, core.CodeNotFound)
	if p := r.do("HEAD", threadStreamPath, ""); p.status != 200 || p.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD: %d %v", p.status, p.header)
	}
	if p := r.do("HEAD", "/api/executions/exec_none/threads/stream", ""); p.status != 404 {
		t.Errorf("HEAD of an unknown execution: %d", p.status)
	}
	many := strings.Repeat(threadID+"x,", 300)
	r.do("GET", threadStreamPath+"?threadIds="+many, "").wants(t, 400, core.CodeValidation)
	r.server.Drain()
	r.do("GET", threadStreamPath, "").wants(t, 503, core.CodeInternal)
}

// A reader that cannot get what it missed gets a gap, and goes on from there.
func TestThreadStreamGap(t *testing.T) {
	r := newRig(t)
	j := newJournal(threadEvent(40, threadID, core.EventThreadTurnComplete, `{}`), threadEvent(50, threadID, core.EventThreadReady, `{}`))
	r.follows(j)
	future := r.openStream(threadStreamPath, "Last-Event-ID: 99")
	wantConnected(t, future, "", 50)
	wantLines(t, future, "id: 50", "event: gap", `data: {"from":99,"to":50,"reason":"future"}`)
	trimmed := r.openStream(threadStreamPath + "?lastEventId=7")
	wantConnected(t, trimmed, "", 7)
	wantLines(t, trimmed, "id: 39", "event: gap", `data: {"from":7,"to":39,"reason":"trimmed"}`)
	wantThread(t, trimmed, threadID, "turn_complete", 40, `{}`)
	j.change(func() {
		j.events = append(j.events, threadEvent(60, threadID, core.EventThreadOutput, `{}`))
		j.over = true
	})
	wantThread(t, future, threadID, "output", 60, `{}`)
	wantEnd(t, future)

	// Nothing is missing before the first thread, nor right behind what was seen.
	for first, after := range map[core.EventType]string{core.EventThreadStatus: "7", core.EventThreadTurnComplete: "39"} {
		k := newJournal(threadEvent(40, threadID, first, `{}`))
		k.over = true
		r.follows(k)
		lines := r.openStream(threadStreamPath, "Last-Event-ID: "+after)
		line, _ := next(t, lines)
		for range 2 {
			line, _ = next(t, lines)
		}
		if line != "id: "+after {
			t.Errorf("connected at %q", line)
		}
		if line, _ = next(t, lines); line != "id: 40" {
			t.Errorf("after %s came %q", after, line)
		}
	}
}

func TestThreadStreamHeartbeat(t *testing.T) {
	r := newRig(t)
	j := newJournal()
	r.follows(j)
	lines := r.openStream(threadStreamPath)
	wantConnected(t, lines, "", 0)
	for range 3 {
		r.clock.Advance(15 * time.Second)
		wantLines(t, lines, ": heartbeat")
	}
	r.server.Drain()
	wantLines(t, lines, ": the server ends this stream; reconnect with Last-Event-ID")
	wantEnd(t, lines)
}

// When readers leave, nothing of them stays: no subscription, no goroutine (goleak), no timer.
func TestThreadStreamLeaves(t *testing.T) {
	const readers = 20
	gauge := &openStreams{}
	r := newRig(t, func(o *api.Options) { o.Metrics = gauge })
	g := newGroup()
	r.threads.follow = func(_ context.Context, _ string, after uint64, _ bool) (core.EventStream, error) {
		return g.subscribe(after), nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	for range readers {
		req, _ := http.NewRequestWithContext(ctx, "GET", r.http.URL+threadStreamPath, nil)
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
	}
	if gauge.get() != readers || g.size() != readers || r.clock.Pending() == 0 {
		t.Errorf("%d streams, %d subscriptions, %d timers", gauge.get(), g.size(), r.clock.Pending())
	}
	cancel()
	coretest.WaitFor(t, "the streams to close", func() bool { return gauge.get() == 0 })
	coretest.WaitFor(t, "the subscriptions to end", func() bool { return g.size() == 0 })
	if r.clock.Pending() != 0 {
		t.Errorf("%d timers are left", r.clock.Pending())
	}
}
