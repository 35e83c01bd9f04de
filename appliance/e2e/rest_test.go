package e2e_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

// metric reads one series, named as the text format writes it; NaN when it is not there.
func (s *server) metric(series string) float64 {
	s.t.Helper()
	a := s.read("/api/metrics")
	if a.status != 200 {
		s.t.Fatalf("metrics: %s", a)
	}
	for line := range strings.Lines(string(a.body)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), series+" "); ok {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				s.t.Fatal(err)
			}
			return n
		}
	}
	return math.NaN()
}

// A key makes one execution, also when the process was restarted or killed between the two requests.
func TestIdempotencyOverRestarts(t *testing.T) {
	t.Parallel()
	s := dev(t)
	f := s.join(3, "vote", voter)
	s.put(vote, "vote", "vote")
	const body = `{"input":{"n":5}}`
	for path, text := range map[string]string{
		"/api/patterns/vote/execute":            body,
		"/api/patterns/vote/execute?async=true": body,
		"/api/batch/execute":                    `{"pattern":"vote","inputs":[{"n":1}]}`,
	} {
		key := strconv.Itoa(len(path))
		first := s.post(path, text, "Idempotency-Key", key)
		if first.status >= 300 {
			t.Fatalf("%s: %s", path, first)
		}
		before := f.handled.Load()
		for _, again := range []func(){func() {}, func() { s.stop(); s.start() }, s.restart} {
			again()
			got := s.post(path, text, "Idempotency-Key", key)
			if got.status != first.status || string(got.body) != string(first.body) || got.header.Get("Location") != first.header.Get("Location") {
				t.Errorf("%s: %s; at first %s", path, got, first)
			}
		}
		s.failed(s.post(path, strings.Replace(text, "1", "2", 1)+" ", "Idempotency-Key", key), http.StatusConflict, client.CodeConflict)
		f.wait(t)
		if strings.HasSuffix(path, "vote/execute") && f.handled.Load() != before {
			t.Errorf("%s ran again", path)
		}
	}
	list, err := s.api.ListExecutions(t.Context(), client.ExecutionFilter{})
	if err != nil || list.Total != 3 {
		t.Errorf("%d executions (%v), want 3", list.Total, err)
	}
}

// A walk by cursor shows each row that was there at its begin once, whatever is added meanwhile.
func TestCursorWhileRowsAreAdded(t *testing.T) {
	t.Parallel()
	s := dev(t)
	s.put(single, "none", "none")
	want := map[string]bool{}
	for range 25 {
		want[s.async("none", nil)] = true
	}
	page := client.Page{Limit: 4}
	var last string
	for pages := 0; ; pages++ {
		list, err := s.api.ListExecutions(t.Context(), client.ExecutionFilter{Pattern: "none", Status: client.StatusPending, Page: page})
		if err != nil {
			t.Fatal(err)
		}
		if list.Total != 25+pages || list.Limit != 4 || list.HasMore != (list.NextCursor != "") {
			t.Fatalf("page %d: %+v", pages, list.PageInfo)
		}
		for _, row := range list.Executions {
			if last != "" && row.ExecutionID >= last {
				t.Fatalf("%s comes after %s", row.ExecutionID, last)
			}
			last = row.ExecutionID
			if !want[last] {
				t.Fatalf("%s is new, or came twice", last)
			}
			delete(want, last)
		}
		if !list.HasMore {
			break
		}
		page.Cursor = list.NextCursor
		s.async("none", nil)
	}
	if len(want) > 0 {
		t.Errorf("%d rows were not shown", len(want))
	}
}

// Every kind of refusal has the one shape.
func TestShapesOfRefusals(t *testing.T) {
	t.Parallel()
	s := dev(t)
	s.put(single, "p", "p")
	yaml := "application/x-yaml"
	for _, tt := range []struct {
		method, path, kind, body string
		status                   int
		code                     string
	}{
		{"GET", "/", "", "", 404, client.CodeNotFound},
		{"GET", "/api", "", "", 404, client.CodeNotFound},
		{"GET", "/api/nothing", "", "", 404, client.CodeNotFound},
		{"GET", "/api/patterns/none", "", "", 404, client.CodeNotFound},
		{"GET", "/api/patterns/p?version=9.9.9", "", "", 404, client.CodeNotFound},
		{"GET", "/api/executions/exec_none", "", "", 404, client.CodeNotFound},
		{"GET", "/api/batch/none", "", "", 404, client.CodeNotFound},
		{"GET", "/api/agents/none", "", "", 404, client.CodeNotFound},
		{"POST", "/api/executions/none/cancel", "", "", 404, client.CodeNotFound},
		{"DELETE", "/api/executions", "", "", 405, client.CodeValidation},
		{"PATCH", "/api/patterns/p", "application/json", "{}", 405, client.CodeValidation},
		{"POST", "/api/patterns", "text/plain", "x", 415, client.CodeValidation},
		{"POST", "/api/patterns", "application/xml", "<x/>", 415, client.CodeValidation},
		{"POST", "/api/patterns/p/execute", yaml, "a: 1", 415, client.CodeValidation},
		{"POST", "/api/patterns", yaml, strings.Repeat("#", 1<<20+1), 413, client.CodeValidation},
		{"POST", "/api/patterns/p/execute", "application/json", `{"input":{"x":"` + strings.Repeat("x", 11<<20) + `"}}`, 413, client.CodeValidation},
		{"POST", "/api/patterns/p/execute", "application/json", `{"input":`, 400, client.CodeValidation},
		{"POST", "/api/patterns/p/execute", "application/json", `{"inptu":{}}`, 400, client.CodeValidation},
		{"POST", "/api/patterns/p/execute", "application/json", `{"input":[]}`, 400, client.CodeValidation},
		{"POST", "/api/patterns/p/execute", "application/json", `{"input":{},"options":{"priority":"urgent"}}`, 400, client.CodeValidation},
		{"POST", "/api/patterns/p/execute", "application/json", `{"input":{},"options":{"timeout":-1}}`, 400, client.CodeValidation},
		{"POST", "/api/patterns/p/execute", "", "", 503, client.CodeNoAgents},
		{"POST", "/api/patterns", yaml, fmt.Sprintf(single, "p", "p"), 409, client.CodeConflict},
		{"GET", "/api/executions?limit=101", "", "", 400, client.CodeValidation},
		{"GET", "/api/executions?since=yesterday", "", "", 400, client.CodeValidation},
		{"GET", "/api/executions?cursor=garbage", "", "", 400, client.CodeValidation},
	} {
		var body *strings.Reader
		if tt.body != "" {
			body = strings.NewReader(tt.body)
		}
		var a answer
		if body == nil {
			a = s.do(tt.method, tt.path, tt.kind, nil)
		} else {
			a = s.do(tt.method, tt.path, tt.kind, body)
		}
		s.failed(a, tt.status, tt.code)
		if tt.status == 405 && a.header.Get("Allow") == "" {
			t.Errorf("%s %s: no Allow", tt.method, tt.path)
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	s := serve(t, "server.cors: {origins: [https://console.example]}\nmetrics.public: true")
	if a := s.read("/api/health", "X-Request-Id", "my-request.1"); a.header.Get("X-Request-Id") != "my-request.1" {
		t.Errorf("X-Request-Id %q is not echoed", a.header.Get("X-Request-Id"))
	}
	if f := s.failed(s.read("/api/none", "X-Request-Id", "mine"), 404, client.CodeNotFound); f.RequestID != "mine" {
		t.Errorf("requestId %s", f.RequestID)
	}
	for _, bad := range []string{"a b", "<script>", strings.Repeat("x", 1000)} {
		if a := s.read("/api/health", "X-Request-Id", bad); a.header.Get("X-Request-Id") == bad || a.header.Get("X-Request-Id") == "" {
			t.Errorf("a bad X-Request-Id is echoed: %q", a.header.Get("X-Request-Id"))
		}
	}
	allowed := s.read("/api/health", "Origin", "https://console.example")
	if allowed.status != 200 || allowed.header.Get("Access-Control-Allow-Origin") != "https://console.example" || !strings.Contains(allowed.header.Get("Vary"), "Origin") {
		t.Errorf("a listed origin: %s %v", allowed, allowed.header)
	}
	foreign := s.read("/api/health", "Origin", "https://evil.example")
	if foreign.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a foreign origin is let in: %v", foreign.header)
	}
	for origin, want := range map[string]string{"https://console.example": "https://console.example", "https://evil.example": ""} {
		a := s.do("OPTIONS", "/api/patterns", "", nil, "Origin", origin, "Access-Control-Request-Method", "POST")
		if a.header.Get("Access-Control-Allow-Origin") != want {
			t.Errorf("preflight from %s: %d %v", origin, a.status, a.header)
		}
	}
	if a := s.do("HEAD", "/api/health", "", nil); a.status != 200 || len(a.body) > 0 {
		t.Errorf("HEAD: %s", a)
	}
}

// Every operation of the served document is routed: none answers as an unknown route.
func TestDocumentEqualsRoutes(t *testing.T) {
	t.Parallel()
	s := dev(t)
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(s.read("/api/openapi.json").body, &doc); err != nil || !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Fatalf("document: %s, %v", doc.OpenAPI, err)
	}
	known := []string{"get", "put", "post", "delete", "patch"}
	for path, methods := range doc.Paths {
		url := strings.NewReplacer("{name}", "none", "{executionId}", "none", "{batchId}", "none", "{agentId}", "none",
			"/api/events", "/api/events?topics=none").Replace(path) // a stream of all events has no end of its own
		for _, method := range known {
			a := s.do(strings.ToUpper(method), url, "", nil)
			var f failure
			_ = json.Unmarshal(a.body, &f)
			resource, _ := f.Error.Details["resource"].(string)
			_, documented := methods[method]
			for other, has := range doc.Paths { // {name} takes the literal of another path too
				_, has := has[method]
				documented = documented || has && covers(other, path)
			}
			routed := a.status != http.StatusMethodNotAllowed && resource != "route"
			if documented != routed {
				t.Errorf("%s %s: documented %v, but %s", method, path, documented, a)
			}
		}
	}
	for _, path := range []string{"/api/patterns", "/api/patterns/{name}/execute", "/api/executions/{executionId}/stream", "/api/batch/{batchId}", "/api/agents/connect", "/api/metrics"} {
		if doc.Paths[path] == nil {
			t.Errorf("%s is not documented", path)
		}
	}
}

// covers reports whether a template takes the literal path of another one.
func covers(template, path string) bool {
	a, b := strings.Split(template, "/"), strings.Split(path, "/")
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] && !strings.HasPrefix(a[i], "{") {
			return false
		}
	}
	return true
}

// The series of the interface are there, and count right.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := dev(t)
	s.join(3, "vote", voter)
	s.put(vote, "vote", "vote")
	s.put(single, "none", "none")
	for n := range 4 {
		s.settled(s.async("vote", number(n)))
	}
	for _, end := range []string{client.StatusCancelled, client.StatusFailed} {
		id := s.async("none", nil, client.ExecuteOptions{Timeout: 50 * time.Millisecond})
		if end == client.StatusCancelled {
			id = s.async("none", nil)
			if _, err := s.api.CancelExecution(t.Context(), id, "test"); err != nil {
				t.Fatal(err)
			}
		}
		if e := s.settled(id); string(e.Status) != end {
			t.Fatalf("%s, want %s: %+v", e.Status, end, e.Error)
		}
	}
	s.async("none", nil)
	failed := s.metric(`service_executions_total{pattern="none",status="failed"}`)
	if failed < 1 || failed > 2 {
		t.Errorf("%v failed", failed)
	}
	for series, want := range map[string]float64{
		`service_executions_total{pattern="vote",status="completed"}`:         4,
		`service_executions_total{pattern="none",status="cancelled"}`:         1,
		`service_execution_duration_seconds_count{pattern="vote"}`:            4,
		`service_execution_duration_seconds_bucket{pattern="vote",le="+Inf"}`: 4,
		`service_agents_connected{region=""}`:                                 3,
		`service_config_last_reload_successful`:                               1,
		`service_http_panics_total`:                                           0,
	} {
		if got := s.metric(series); got != want {
			t.Errorf("%s is %v, want %v", series, got, want)
		}
	}
	health, err := s.api.HealthDetailed(t.Context())
	if err != nil || health.Metrics == nil || health.Components == nil {
		t.Fatalf("health: %+v, %v", health, err)
	}
	if health.Components.Agents.Connected != 3 || health.Metrics.ExecutionsActive < 1 || health.Metrics.ExecutionsTotal < 7 {
		t.Errorf("health: %+v %+v", health.Components, health.Metrics)
	}
	names := []string{}
	for _, c := range health.Checks {
		names = append(names, c.Name)
	}
	if !slices.Contains(names, "store") {
		t.Errorf("checks: %v", names)
	}
}
