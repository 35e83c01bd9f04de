package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/coretest"
)

// openStream opens a stream and returns its lines as they come, with the blank ones left out. The channel
// is closed at the end of the stream.
func (r *rig) openStream(path string, headers ...string) <-chan string {
	r.tb.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	req, err := http.NewRequestWithContext(ctx, "GET", r.http.URL+path, nil)
	if err != nil {
		r.tb.Fatal(err)
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		req.Header.Set(name, value)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		r.tb.Fatal(err)
	}
	if resp.StatusCode != 200 {
		text, _ := io.ReadAll(resp.Body)
		r.tb.Fatalf("%d %s", resp.StatusCode, text)
	}
	lines := make(chan string, 100)
	var reading sync.WaitGroup
	reading.Go(func() {
		defer close(lines)
		for s := bufio.NewScanner(resp.Body); s.Scan(); {
			if s.Text() != "" {
				lines <- s.Text()
			}
		}
	})
	r.tb.Cleanup(func() { cancel(); reading.Wait(); resp.Body.Close() })
	return lines
}

// next returns the next line that is no retry field; ok is false at the end.
func next(tb testing.TB, lines <-chan string) (string, bool) {
	tb.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	for {
		select {
		case line, ok := <-lines:
			if strings.HasPrefix(line, "retry: ") {
				continue
			}
			return line, ok
		case <-deadline.C:
			tb.Fatal("no line came")
		}
	}
}

func wantLines(tb testing.TB, lines <-chan string, want ...string) {
	tb.Helper()
	for _, w := range want {
		if got, _ := next(tb, lines); got != w {
			tb.Fatalf("line %q, want %q", got, w)
		}
	}
}

func wantEnd(tb testing.TB, lines <-chan string) {
	tb.Helper()
	if line, ok := next(tb, lines); ok {
		tb.Fatalf("line %q, want the end", line)
	}
}

// stream makes the rig's executions stream a journal.
func (r *rig) stream(j *journal) {
	r.executions.stream = func(_ context.Context, _ string, after uint64) (core.EventStream, error) {
		j.mu.Lock()
		defer j.mu.Unlock()
		return &view{journal: j, after: after}, nil
	}
}

// view is one reader's place in a shared journal.
type view struct {
	*journal
	after uint64
}

func (v *view) Next(ctx context.Context) (core.Event, error) {
	for {
		v.mu.Lock()
		events, over, fault, grown := v.events, v.over, v.fault, v.grown
		v.mu.Unlock()
		for _, ev := range events {
			if ev.Seq > v.after {
				v.after = ev.Seq
				return ev, nil
			}
		}
		switch {
		case fault != nil:
			return core.Event{}, fault
		case over:
			return core.Event{}, io.EOF
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return core.Event{}, ctx.Err()
		}
	}
}

func (v *view) Close() {}

func event(seq uint64, typ core.EventType, data string) core.Event {
	return core.Event{Seq: seq, Type: typ, Subject: execID, Data: json.RawMessage(data)}
}

const streamPath = "/api/executions/" + execID + "/stream"

func TestStreamFrames(t *testing.T) {
	for _, c := range []struct {
		name string
		ev   core.Event
		want string
	}{
		{"started", event(2, core.EventExecutionStarted, `{"input":{"a":1}}`),
			"event: started\nid: 2\ndata: {\"executionId\":\"" + execID + "\",\"status\":\"running\"}\n\n"},
		{"agent result", event(3, core.EventTaskCompleted, `{"agentId":"agent_1","result":{"a":[1, 2]},"durationMs":5}`),
			"event: agent_result\nid: 3\ndata: {\"agentId\":\"agent_1\",\"result\":{\"a\":[1, 2]}}\n\n"},
		{"agent result of a step", event(3, core.EventTaskCompleted, `{"agentId":"a","step":"s","result":null}`),
			"event: agent_result\nid: 3\ndata: {\"agentId\":\"a\",\"step\":\"s\",\"result\":null}\n\n"},
		{"line ends in data", event(3, core.EventTaskCompleted, "{\"agentId\":\"a\",\"result\":{\n\"b\":\"x\\ny\"\r\n}}"),
			"event: agent_result\nid: 3\ndata: {\"agentId\":\"a\",\"result\":{\"b\":\"x\\ny\"}}\n\n"},
		{"step", event(4, core.EventStepCompleted, `{"step":"s","result":1,"confidence":0.5}`),
			"event: step_completed\nid: 4\ndata: {\"step\":\"s\",\"result\":1,\"confidence\":0.5}\n\n"},
		{"the only step", event(4, core.EventStepCompleted, `{"step":"","result":1,"confidence":0.5}`), ""},
		{"progress", event(0, core.EventTaskProgress, `{"agentId":"a","taskId":"t","text":"half"}`),
			"event: agent_progress\ndata: {\"agentId\":\"a\",\"taskId\":\"t\",\"text\":\"half\"}\n\n"},
		{"completed", event(9, core.EventExecutionCompleted, `{"result":{"x":1},"duration":12}`),
			"event: completed\nid: 9\ndata: {\"executionId\":\"" + execID + "\",\"status\":\"completed\",\"result\":{\"x\":1},\"duration\":12}\n\n"},
		{"failed", event(9, core.EventExecutionFailed, `{"error":{"code":"TIMEOUT","message":"m"},"duration":12}`),
			"event: failed\nid: 9\ndata: {\"executionId\":\"" + execID + "\",\"status\":\"failed\",\"error\":{\"code\":\"TIMEOUT\",\"message\":\"m\"},\"duration\":12}\n\n"},
		{"cancelled", event(9, core.EventExecutionCancelled, `{"reason":"no \"need\"","duration":1}`),
			"event: cancelled\nid: 9\ndata: {\"executionId\":\"" + execID + "\",\"status\":\"cancelled\",\"reason\":\"no \\\"need\\\"\",\"duration\":1}\n\n"},
		{"queued", event(1, core.EventExecutionQueued, `{}`), ""},
		{"assigned", event(1, core.EventTaskAssigned, `{}`), ""},
		{"failed attempt", event(1, core.EventTaskFailed, `{}`), ""},
		{"late", event(1, core.EventTaskLate, `{}`), ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(api.EncodeFrame(c.ev)); got != c.want {
				t.Errorf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestExecuteStream(t *testing.T) {
	r := newRig(t)
	var got core.ExecuteRequest
	r.executions.start = func(_ context.Context, req core.ExecuteRequest) (*core.Execution, error) {
		got = req
		return someExecution(execID, core.ExecutionPending), nil
	}
	p := r.do("POST", "/api/patterns/classify/execute/stream?version=2.x", `{"input":{"a":1}}`)
	p.wants(t, 200, "")
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no",
	} {
		if p.header.Get(name) != want {
			t.Errorf("%s is %q", name, p.header.Get(name))
		}
	}
	if !got.RequireAgents || got.Pattern != "classify" || got.Version != "2.x" || string(got.Input) != `{"a":1}` {
		t.Errorf("request %+v", got)
	}
	first, _, _ := strings.Cut(p.text, "\n\n")
	if !strings.HasPrefix(first, "event: started\n") || !strings.Contains(first, "\nretry: ") || strings.Count(p.text, "event: ") != 3 {
		t.Errorf("stream %s", p.text)
	}
	r.executions.start = func(context.Context, core.ExecuteRequest) (*core.Execution, error) {
		return nil, core.Errorf(core.CodeNoAgents, "none is connected")
	}
	p = r.do("POST", "/api/patterns/classify/execute/stream", `{}`)
	p.wants(t, 503, core.CodeNoAgents)
}

// Events are sent as they happen, and the stream ends with the execution.
func TestStreamLive(t *testing.T) {
	r := newRig(t)
	j := newJournal()
	r.stream(j)
	lines := r.openStream(streamPath)
	j.change(func() { j.events = append(j.events, event(5, core.EventExecutionStarted, `{}`)) })
	wantLines(t, lines, "event: started", "id: 5", `data: {"executionId":"`+execID+`","status":"running"}`)
	j.change(func() { j.events = append(j.events, event(9, core.EventExecutionCancelled, `{"reason":"r"}`)) })
	wantLines(t, lines, "event: cancelled", "id: 9", `data: {"executionId":"`+execID+`","status":"cancelled","reason":"r"}`)
	j.change(func() { j.over = true })
	wantEnd(t, lines)
}

func TestStreamResume(t *testing.T) {
	r := newRig(t)
	j := newJournal(completedJournal(execID)...)
	j.over = true
	r.stream(j)
	for _, c := range []struct {
		name, query, header string
		ids                 string
	}{
		{"all", "", "", "11 15 18"},
		{"header", "", "11", "15 18"},
		{"query", "?lastEventId=15", "", "18"},
		{"the header wins", "?lastEventId=11", "15", "18"},
		{"between", "", "16", "18"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var headers []string
			if c.header != "" {
				headers = []string{"Last-Event-ID: " + c.header}
			}
			var ids []string
			for line := range r.openStream(streamPath+c.query, headers...) {
				if id, ok := strings.CutPrefix(line, "id: "); ok {
					ids = append(ids, id)
				}
			}
			if got := strings.Join(ids, " "); got != c.ids {
				t.Errorf("ids %q, want %q", got, c.ids)
			}
		})
	}
	// A browser that saw the end and comes back gets a 204, which ends its attempts.
	if p := r.do("GET", streamPath, "", "Last-Event-ID: 18"); p.status != 204 || p.text != "" {
		t.Errorf("%d %s", p.status, p.text)
	}
	for _, id := range []string{"x", "-1", "1.5", "99999999999999999999999"} {
		p := r.do("GET", streamPath, "", "Last-Event-ID: "+id)
		p.wants(t, 400, core.CodeValidation)
	}
	r.executions.stream = func(_ context.Context, id string, _ uint64) (core.EventStream, error) {
		return nil, core.NotFound("execution", id)
	}
	r.do("GET", streamPath, "").wants(t, 404, core.CodeNotFound)
}

// A reader of an execution that is not over attaches, though it saw everything so far.
func TestStreamResumeRunning(t *testing.T) {
	r := newRig(t)
	r.executions.find = func(id string) (*core.Execution, error) { return someExecution(id, core.ExecutionRunning), nil }
	j := newJournal(event(5, core.EventExecutionStarted, `{}`))
	r.stream(j)
	lines := r.openStream(streamPath, "Last-Event-ID: 5")
	j.change(func() {
		j.events = append(j.events, event(6, core.EventExecutionCompleted, `{"result":1}`))
		j.over = true
	})
	wantLines(t, lines, "event: completed", "id: 6")
}

func TestStreamHeartbeat(t *testing.T) {
	gauge := &openStreams{}
	r := newRig(t, func(o *api.Options) { o.Metrics = gauge })
	j := newJournal()
	r.stream(j)
	first, second := r.openStream(streamPath), r.openStream(streamPath)
	coretest.WaitFor(t, "both streams", func() bool { return gauge.get() == 2 })
	coretest.WaitFor(t, "the one timer", func() bool { return r.clock.Pending() == 1 })
	for range 3 {
		r.clock.Advance(15 * time.Second)
		wantLines(t, first, ": heartbeat")
		wantLines(t, second, ": heartbeat")
	}
	// An event comes between heartbeats as before.
	j.change(func() {
		j.events = append(j.events, event(7, core.EventExecutionCompleted, `{"result":1}`))
		j.over = true
	})
	wantLines(t, first, "event: completed")
	wantLines(t, second, "event: completed")
	coretest.WaitFor(t, "the timer to stop with the last stream", func() bool { return r.clock.Pending() == 0 })
}

func TestStreamMaxAge(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.Config.StreamMaxAge = 40 * time.Second })
	r.stream(newJournal())
	lines := r.openStream(streamPath)
	coretest.WaitFor(t, "the timer", func() bool { return r.clock.Pending() == 1 })
	for range 2 {
		r.clock.Advance(15 * time.Second)
		wantLines(t, lines, ": heartbeat")
	}
	r.clock.Advance(15 * time.Second)
	wantLines(t, lines, ": the server ends this stream; reconnect with Last-Event-ID")
	wantEnd(t, lines)
}

func TestStreamDrain(t *testing.T) {
	r := newRig(t)
	r.stream(newJournal(event(5, core.EventExecutionStarted, `{}`)))
	lines := r.openStream(streamPath)
	wantLines(t, lines, "event: started", "id: 5", `data: {"executionId":"`+execID+`","status":"running"}`)
	r.server.Close() // returns once the stream ended
	wantLines(t, lines, ": the server ends this stream; reconnect with Last-Event-ID")
	wantEnd(t, lines)
	r.do("GET", streamPath, "").wants(t, 503, core.CodeInternal)
	started := false
	r.executions.start = func(context.Context, core.ExecuteRequest) (*core.Execution, error) {
		started = true
		return someExecution(execID, core.ExecutionPending), nil
	}
	r.do("POST", "/api/patterns/a/execute/stream", "").wants(t, 503, core.CodeInternal)
	if started {
		t.Error("an execution was started for a stream that cannot be opened")
	}
	r.do("GET", "/api/patterns", "").wants(t, 200, "")
}

// What the source says of its own end reaches the reader as a clean end.
func TestStreamSourceEnds(t *testing.T) {
	for _, fault := range []error{core.Unavailable("shutting_down", "stopping"), errors.New("disk on fire")} {
		r := newRig(t)
		j := newJournal()
		r.stream(j)
		lines := r.openStream(streamPath)
		j.change(func() { j.fault = fault })
		wantLines(t, lines, ": the server ends this stream; reconnect with Last-Event-ID")
		wantEnd(t, lines)
	}
}

func TestStreamLimit(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.Config.MaxStreams = 2 })
	j := newJournal()
	r.stream(j)
	a, b := r.openStream(streamPath), r.openStream(streamPath)
	p := r.do("GET", streamPath, "")
	p.wants(t, 429, core.CodeRateLimited)
	if p.at("error", "details", "limit") != 2.0 || p.header.Get("Retry-After") != "5" {
		t.Errorf("%s %v", p.text, p.header)
	}
	j.change(func() { j.over = true })
	wantEnd(t, a)
	wantEnd(t, b)
	coretest.WaitFor(t, "a place to be free", func() bool { return r.do("GET", streamPath, "").status == 200 })
}

// A reader that leaves frees its goroutine; goleak sees those that do not.
func TestStreamClientLeaves(t *testing.T) {
	gauge := &openStreams{}
	r := newRig(t, func(o *api.Options) { o.Metrics = gauge })
	r.stream(newJournal())
	ctx, cancel := context.WithCancel(context.Background())
	req, _ := http.NewRequestWithContext(ctx, "GET", r.http.URL+streamPath, nil)
	resp, err := r.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "the stream to open", func() bool { return gauge.get() == 1 })
	cancel()
	resp.Body.Close()
	coretest.WaitFor(t, "the stream to close", func() bool { return gauge.get() == 0 })
}

// openStreams counts open streams.
type openStreams struct {
	mu sync.Mutex
	n  int
}

func (o *openStreams) Route(string) func(int, time.Duration) { return func(int, time.Duration) {} }
func (o *openStreams) StreamOpened()                         { o.add(1) }
func (o *openStreams) StreamClosed()                         { o.add(-1) }
func (o *openStreams) StreamDropped(string)                  {}
func (o *openStreams) Panicked()                             {}

func (o *openStreams) add(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.n += n
}

func (o *openStreams) get() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.n
}

// Every one of a thousand readers of one execution gets every event, in order.
func TestStreamThousandReaders(t *testing.T) {
	const readers, events = 1000, 20
	gauge := &openStreams{}
	r := newRig(t, func(o *api.Options) { o.Metrics = gauge })
	j := newJournal()
	r.stream(j)
	var reading sync.WaitGroup
	faults := make(chan string, readers)
	for range readers {
		reading.Go(func() {
			w := &collector{header: http.Header{}}
			req, _ := http.NewRequest("GET", "http://localhost"+streamPath, nil)
			r.server.ServeHTTP(w, req)
			var want strings.Builder
			for i := range events {
				want.WriteString(strconv.Itoa(i+1) + " ")
			}
			if got := w.ids(); got != want.String() {
				faults <- got
			}
		})
	}
	coretest.WaitFor(t, "all readers", func() bool { return gauge.get() == readers })
	for i := range uint64(events - 1) {
		j.change(func() {
			j.events = append(j.events, event(i+1, core.EventTaskCompleted, `{"agentId":"a","result":{"n":1}}`))
		})
	}
	j.change(func() {
		j.events = append(j.events, event(events, core.EventExecutionCompleted, `{"result":1}`))
		j.over = true
	})
	reading.Wait()
	close(faults)
	for f := range faults {
		t.Fatalf("a reader got %q", f)
	}
}

// collector is a response writer that keeps what it gets.
type collector struct {
	header http.Header
	body   strings.Builder
}

func (c *collector) Header() http.Header                { return c.header }
func (c *collector) WriteHeader(int)                    {}
func (c *collector) Write(b []byte) (int, error)        { return c.body.Write(b) }
func (c *collector) FlushError() error                  { return nil }
func (c *collector) SetWriteDeadline(_ time.Time) error { return nil }

func (c *collector) ids() string {
	var ids strings.Builder
	for line := range strings.SplitSeq(c.body.String(), "\n") {
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			ids.WriteString(id + " ")
		}
	}
	return ids.String()
}

// stuck is a writer whose reader stopped reading: a write ends only at its deadline.
type stuck struct {
	collector
	deadline chan time.Time
	writes   int
}

func (s *stuck) Unwrap() http.ResponseWriter { return nil }

func (s *stuck) SetWriteDeadline(at time.Time) error {
	if !at.IsZero() {
		s.deadline <- at
	}
	return nil
}

func (s *stuck) Write([]byte) (int, error) {
	s.writes++
	return 0, context.DeadlineExceeded
}

// Writes have a deadline, also under a wrapper that only knows Unwrap, and the first write that misses it ends the
// stream.
func TestStreamSlowReader(t *testing.T) {
	r := newRig(t)
	r.stream(newJournal(event(5, core.EventExecutionStarted, `{}`)))
	w := &stuck{collector: collector{header: http.Header{}}, deadline: make(chan time.Time, 16)}
	before := time.Now()
	r.server.ServeHTTP(wrapper{w}, mustRequest(t))
	close(w.deadline)
	n := 0
	for at := range w.deadline {
		n++
		if d := at.Sub(before); d < 4*time.Second || d > 60*time.Second {
			t.Errorf("deadline after %s", d)
		}
	}
	if n < 1 || w.writes != 1 {
		t.Errorf("%d deadlines, %d writes", n, w.writes)
	}
}

// A deadline that is about to be used up is renewed before the next write.
func TestStreamDeadlineRenewed(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.Config.WriteTimeout = time.Nanosecond })
	r.stream(newJournal(event(5, core.EventExecutionStarted, `{}`)))
	w := &stuck{collector: collector{header: http.Header{}}, deadline: make(chan time.Time, 16)}
	r.server.ServeHTTP(wrapper{w}, mustRequest(t))
	if n := len(w.deadline); n < 2 {
		t.Errorf("%d deadlines for the headers and a write", n)
	}
}

func mustRequest(tb testing.TB) *http.Request {
	req, err := http.NewRequest("GET", "http://localhost"+streamPath, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return req
}

// wrapper is a middleware's writer that hides everything but Unwrap.
type wrapper struct{ inner *stuck }

func (w wrapper) Header() http.Header         { return w.inner.Header() }
func (w wrapper) WriteHeader(status int)      { w.inner.WriteHeader(status) }
func (w wrapper) Write(b []byte) (int, error) { return w.inner.Write(b) }
func (w wrapper) Unwrap() http.ResponseWriter { return w.inner }
