package appliance_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/appliance"
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/tracing/otlptest"
	"github.com/wardroom/wardroom/sdk/agent"
)

// calledWith is a trace that a caller keeps.
const calledWith = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// traced starts an appliance whose traces go to a collector, with an agent that keeps what it is handed.
func traced(t *testing.T, collector, hook, more string) (a *appliance.App, handed func() []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "wardroom.yaml")
	write(t, file, fmt.Sprintf(`
server: {listen: "127.0.0.1:0", environment: development}
store: {path: store}
engine: {taskRetries: 1}
webhooks: {endpoints: [{url: %q, events: ["execution.completed"], secret: %s}]}
observability: {tracing: {enabled: true, endpoint: %q, %s}}`, hook, hookSecret, collector, more))
	a = open(t, appliance.Options{ConfigPath: file, Version: "1.2.3"})
	var mu sync.Mutex
	var parents []string
	worker, err := agent.New(agent.Options{
		URL: "http://" + a.Addr(), Name: "echo", Capabilities: []string{"echo"},
		Handler: func(_ context.Context, task *agent.Task) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			parents = append(parents, task.Traceparent)
			if len(parents) == 1 {
				return nil, &agent.Error{Code: "AGENT_ERROR", Message: "c4nary of an agent", Retryable: true}
			}
			return map[string]any{"said": "c4nary of a result"}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	coretest.WaitFor(t, "the agent to connect", worker.Connected)
	return a, func() []string { mu.Lock(); defer mu.Unlock(); return append([]string(nil), parents...) }
}

// call sends a request with a traceparent.
func call(t *testing.T, a *appliance.App, method, path, parent, body string) {
	t.Helper()
	req, err := http.NewRequest(method, "http://"+a.Addr()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer c4nary-of-a-credential")
	if parent != "" {
		req.Header.Set("Traceparent", parent)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		t.Fatalf("%s %s answers %d", method, path, resp.StatusCode)
	}
}

// tracedPattern makes a pattern of an agent that echoes, with so many steps.
func tracedPattern(t *testing.T, a *appliance.App, steps string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"definition": "name: traced\nversion: 1.0.0\n" + steps})
	if err != nil {
		t.Fatal(err)
	}
	call(t, a, http.MethodPost, "/api/patterns", "", string(body))
}

// One request of a caller is one trace: from the request over execution, steps and attempts to the delivery, with nothing in it
// that a user, an agent or a secret said.
func TestTraceOfARequest(t *testing.T) {
	r, hook := otlptest.New(t), newReceiver(t)
	var mu sync.Mutex
	delivered := ""
	next := hook.server.Config.Handler
	hook.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		mu.Lock()
		delivered = req.Header.Get("Traceparent")
		mu.Unlock()
		next.ServeHTTP(w, req)
	})
	a, handed := traced(t, r.URL, hook.server.URL, "samplePerMillion: 0")
	tracedPattern(t, a, "steps:\n  - {id: first, agents: {capabilities: [echo]}}\n  - {id: second, agents: {capabilities: [echo]}}\n")
	call(t, a, http.MethodPost, "/api/patterns/traced/execute", calledWith,
		`{"input": {"text": "c4nary of an input"}, "options": {"metadata": {"who": "c4nary of the metadata"}}}`)
	byName := func(spans []otlptest.Span, name string) (list []otlptest.Span) {
		for _, s := range spans {
			if s.Name == name {
				list = append(list, s)
			}
		}
		return list
	}
	spans := r.Wait(t, func(spans []otlptest.Span) bool {
		return len(byName(spans, "webhook delivery")) == 1 && len(byName(spans, "execution")) == 1 && len(spans) >= 8
	})
	if len(spans) != 8 { // request, execution, two steps, three attempts, delivery
		t.Errorf("there are %d spans: %+v", len(spans), spans)
	}
	execution := byName(spans, "execution")[0]
	ids := map[string]bool{}
	for _, s := range spans {
		ids[s.ID] = true
		parent := execution.ID
		switch s.Name {
		case "execution":
			continue
		case "step", "task", "webhook delivery":
		default:
			if parent = "b7ad6b7169203331"; s.ID != execution.Parent || s.Attributes["http.response.status_code"] != "200" {
				t.Errorf("the request is %+v", s)
			}
		}
		if s.Trace != "0af7651916cd43dd8448eb211c80319c" || s.Parent != parent {
			t.Errorf("%s is part of %s in %s, want %s", s.Name, s.Parent, s.Trace, parent)
		}
	}
	failed := 0
	for _, s := range byName(spans, "task") {
		if s.Failed {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d of the three attempts failed", failed)
	}
	parents := handed()
	mu.Lock()
	defer mu.Unlock()
	for _, text := range append(parents, delivered) {
		got := core.ParseTraceparent(text)
		if fmt.Sprintf("%x", got.TraceID) != execution.Trace || !ids[fmt.Sprintf("%x", got.SpanID)] || !got.Sampled {
			t.Errorf("somebody was handed %q, which is none of the spans", text)
		}
	}
	if len(parents) != 3 || bytes.Contains(r.Raw(), []byte("c4nary")) {
		t.Errorf("%d attempts, or what somebody said is in a span: %q", len(parents), r.Raw())
	}
}

// A trace that is not kept is handed on all the same, and no span is sent of it.
func TestTraceThatIsNotKept(t *testing.T) {
	r, hook := otlptest.New(t), newReceiver(t)
	a, handed := traced(t, r.URL, hook.server.URL, "samplePerMillion: 0")
	tracedPattern(t, a, "agents: {capabilities: [echo]}\n")
	for _, parent := range []string{"", strings.TrimSuffix(calledWith, "1") + "0", "no traceparent"} {
		call(t, a, http.MethodPost, "/api/patterns/traced/execute", parent, `{"input": {}}`)
	}
	for _, text := range handed() {
		if got := core.ParseTraceparent(text); got.IsZero() || got.Sampled {
			t.Errorf("an agent was handed %q", text)
		}
	}
	a.Close()
	if spans := r.Spans(); len(spans) != 0 {
		t.Errorf("spans were sent: %+v", spans)
	}
}

// A reload switches traces on and off.
func TestTracingReloads(t *testing.T) {
	r := otlptest.New(t)
	file := filepath.Join(t.TempDir(), "wardroom.yaml")
	config := func(tracing string) {
		write(t, file, "store: {path: store}\nserver: {listen: '127.0.0.1:0'}\nobservability: {tracing: "+tracing+"}\n")
	}
	config("{}")
	a := open(t, appliance.Options{ConfigPath: file, Version: "1.2.3"})
	call(t, a, http.MethodGet, "/api/patterns", calledWith, "")
	config(fmt.Sprintf("{enabled: true, endpoint: %q}", r.URL))
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	call(t, a, http.MethodGet, "/api/agents", calledWith, "")
	config("{enabled: true, caFile: nowhere.pem, endpoint: 'https://localhost:1'}")
	if err := a.Reload(); err == nil || !strings.Contains(err.Error(), "caFile") {
		t.Errorf("certificates that are not there give %v", err)
	}
	config("{}")
	if err := a.Reload(); err != nil {
		t.Fatal(err)
	}
	call(t, a, http.MethodGet, "/api/webhooks", calledWith, "")
	spans := r.Wait(t, func(spans []otlptest.Span) bool { return len(spans) > 0 })
	if len(spans) != 1 || spans[0].Attributes["http.route"] != "/api/agents" {
		t.Errorf("the spans are %+v", spans)
	}
	if _, err := os.Stat(file); err != nil {
		t.Fatal(err)
	}
}
