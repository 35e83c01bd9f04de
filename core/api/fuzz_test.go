package api_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

// bare makes a server over fakes without a listener.
func bare(tb testing.TB) *api.Server {
	clock := core.SystemClock{}
	return api.New(api.Options{
		Patterns: &fakePatterns{}, Executions: &fakeExecutions{}, Timelines: &fakeExecutions{}, Batches: &fakeBatches{}, Agents: &fakeAgents{}, ManagedAgents: &fakeManaged{}, Questions: &fakeQuestions{},
		Threads: &fakeThreads{}, Memory: &fakeMemory{}, Parts: []api.Part{api.Workspaces(&fakeWorkspaces{}), api.Webhooks(&fakeWebhooks{})},
		Idempotency: newKeys(tb), Journal: &fakeJournal{}, Clock: clock, IDs: core.NewIDs(clock), Version: "1.2.3", Config: api.Config{Hosts: testHosts},
	})
}

// answered fails when an answer is an error of ours, or an error that is no JSON.
func answered(t *testing.T, w *httptest.ResponseRecorder) {
	if w.Code >= 500 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if w.Code >= 400 {
		var body struct {
			Error struct {
				Code    core.Code
				Message string
			}
			RequestID string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || body.Error.Code == "" || body.RequestID == "" {
			t.Fatalf("%d %s: %v", w.Code, w.Body, err)
		}
	}
}

// FuzzRequestLine sends any path and query to any method.
func FuzzRequestLine(f *testing.F) {
	for _, path := range []string{
		"/api/patterns?limit=10&offset=3", "/api/patterns/a%2Fb", "/api/executions?since=2026-01-02T03:04:05Z&status=failed",
		"/api/agents?capabilities=a,b", "/api/health?detailed=true", "/api/executions/x/stream?lastEventId=3",
		"/api/patterns/%00?%00=%00", "/api/patterns/a;b?c;d", "/api/batch/%E0%A4%A", "//", "/api/patterns/%2e%2e/execute",
		"/api/executions/x/events?since=18446744073709551615",
		"/api/executions/x/threads/stream?threadIds=" + threadID + ",&lastEventId=7", "/api/managed-threads/executions/x?status=idle",
		"/api/managed-threads/x/events?type=thread_idle,thread_output&since=3", "/api/managed-threads/experiences?q=a%20b&outcome=failed",
		"/api/managed-threads/executions/x/shared-decisions?category=a", "/api/workspaces?status=ready",
		"/api/webhooks?limit=3", "/api/webhooks/x/deliveries?status=failed&event=system.alert",
	} {
		f.Add("GET", path)
	}
	f.Add("OPTIONS", "/api/patterns")
	f.Add("DELETE", "/api/patterns/a?version=%")
	f.Add("HEAD", "/api/executions/x/stream")
	server := bare(f)
	f.Fuzz(func(t *testing.T, method, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil || method == "" || strings.ContainsAny(method, " \r\n\t") {
			t.Skip()
		}
		r := &http.Request{Method: method, URL: u, Header: http.Header{}, Host: "x", Body: http.NoBody, Proto: "HTTP/1.1"}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r.WithContext(t.Context()))
		answered(t, w)
	})
}

// FuzzBody sends any body to every operation that takes one.
func FuzzBody(f *testing.F) {
	paths := []string{
		"/api/patterns", "/api/patterns/validate", "/api/patterns/a/execute", "/api/patterns/a/execute/stream",
		"/api/batch/execute", "/api/executions/x/cancel", "/api/executions/x/retry", "/api/executions/x/rerun",
		"/api/agents/x/disconnect", "/api/batch/x/cancel",
		"/api/managed-agents", "/api/managed-agents/x/send", "/api/managed-agents/x/answer", "/api/managed-agents/x/restart",
		"/api/executions/x/questions/q/answer",
		"/api/managed-threads", "/api/managed-threads/prepare", "/api/managed-threads/x/send", "/api/managed-threads/x/answer",
		"/api/managed-threads/x/complete", "/api/managed-threads/x/shared-decisions", "/api/workspaces/prune",
		"/api/webhooks", "PATCH /api/webhooks/x", "/api/webhooks/x/test", "/api/webhooks/x/deliveries/retry", "/api/webhooks/x/deliveries/d/retry",
	}
	for i := range paths {
		f.Add(uint8(i), "application/json", `{"input":{"a":1},"options":{"timeout":1}}`, "key")
		f.Add(uint8(i), "application/json", `{"type":"x","env":{"a":"b"},"memory":"1m","cpu":0.1,"keys":["a"],"timeout":1}`, "")
		f.Add(uint8(i), "text/yaml", "name: x", "")
		f.Add(uint8(i), "application/json", `{"answer":[null,{}]}`, "")
		f.Add(uint8(i), "application/json", wholeSpawn, "key")
		f.Add(uint8(i), "application/json", `{"url":"https://a","events":["*",1],"headers":{"A":null},"filters":null,"retries":4,"rotateSecret":true,"overlap":1}`, "key")
		f.Add(uint8(i), "application/json", `{"event":"system.alert","since":"2026-01-02T03:04:05Z","secret":null,"timeout":null,"headers":null}`, "")
		f.Add(uint8(i), "application/json", `{"category":"a","summary":"b","state":"partial","ids":["a"],"policy":{"autoAnswer":[{},null,[]]}}`, "")
	}
	f.Add(uint8(4), "application/json", `{"pattern":"p","inputs":[{}],"options":{"concurrency":3}}`, "k")
	f.Add(uint8(0), "application/json;charset=", `{"definition":"x"}`, "\x00")
	server := bare(f)
	f.Fuzz(func(t *testing.T, which uint8, media, body, key string) {
		method, path, named := strings.Cut(paths[int(which)%len(paths)], " ")
		if !named {
			method, path = "POST", method
		}
		r := httptest.NewRequest(method, path, strings.NewReader(body))
		r.Header["Content-Type"] = []string{media}
		if key != "" {
			r.Header["Idempotency-Key"] = []string{key}
		}
		w := httptest.NewRecorder()
		server.ServeHTTP(w, r.WithContext(t.Context()))
		answered(t, w)
	})
}

// FuzzFrame: whatever the journal holds, a frame is one event whose data is one line of JSON.
func FuzzFrame(f *testing.F) {
	for _, ev := range completedJournal("x") {
		f.Add(string(ev.Type), string(ev.Data), ev.Seq)
	}
	for _, ev := range chartJournal() {
		f.Add(string(ev.Type), string(ev.Data), ev.Seq)
	}
	f.Add("task.progress", "{\"text\":\"a\"\n}", uint64(0))
	f.Add("task.progress", "{", uint64(0))
	f.Add("task.completed", "{\"result\":{\n\"a\":1\r\n}}", uint64(1))
	f.Add("execution.failed", `{"error":{"code":"X","message":"data: \n\n event: x"}}`, uint64(1))
	f.Add("execution.cancelled", `no json`, uint64(1))
	f.Fuzz(func(t *testing.T, typ, data string, seq uint64) {
		ev := core.Event{Seq: seq, Type: core.EventType(typ), Subject: "x", Time: time.Time{}, Data: json.RawMessage(data)}
		frame := string(api.EncodeFrame(ev))
		if frame == "" {
			return
		}
		if !strings.HasSuffix(frame, "\n\n") || strings.Count(frame, "\n\n") != 1 || strings.Contains(frame, "\r") {
			t.Fatalf("no single frame: %q", frame)
		}
		for line := range strings.SplitSeq(strings.TrimSpace(frame), "\n") {
			name, value, _ := strings.Cut(line, ": ")
			if name == "data" && !json.Valid([]byte(value)) {
				t.Fatalf("data is no JSON: %q", value)
			}
			if name != "data" && name != "event" && name != "id" {
				t.Fatalf("unknown line %q", line)
			}
		}
	})
}
