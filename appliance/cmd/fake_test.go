package cmd_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// fake is a Wardroom server with canned answers in the shapes of the API. What it does depends on names:
// the pattern "broken" fails, "late" times out, "lonely" has no agents, "secret" is forbidden.
type fake struct {
	*httptest.Server
	mu       sync.Mutex // guards all below
	patterns map[string][]string
	requests []string // method, path and query, body
	tries    []string // Idempotency-Keys of a message that the server goes away over

	looks chan struct{} // a look at thread_blocked, for who waits for one
}

func newFake() *fake {
	f := &fake{patterns: map[string][]string{"triage": {"1.1.0", "1.0.0"}}, looks: make(chan struct{})}
	mux := http.NewServeMux()
	handle := func(route string, h func(w http.ResponseWriter, r *http.Request, body string)) {
		mux.HandleFunc(route, func(w http.ResponseWriter, r *http.Request) {
			data, _ := io.ReadAll(r.Body)
			f.mu.Lock()
			f.requests = append(f.requests, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(data)))
			f.mu.Unlock()
			w.Header().Set("X-Request-Id", "req_1")
			w.Header().Set("Content-Type", "application/json")
			h(w, r, string(data))
		})
	}
	handle("GET /api/patterns", f.listPatterns)
	handle("POST /api/patterns", f.createPattern)
	handle("POST /api/patterns/validate", func(w http.ResponseWriter, _ *http.Request, _ string) {
		say(w, 200, `{"valid":false,"problems":[{"path":"steps[0].pattern","line":2,"reason":"pattern \"other\" does not exist"}]}`)
	})
	handle("GET /api/patterns/{name}", f.getPattern)
	handle("PUT /api/patterns/{name}", f.putPattern)
	handle("DELETE /api/patterns/{name}", f.deletePattern)
	handle("GET /api/patterns/{name}/versions", f.versions)
	handle("POST /api/patterns/{name}/execute", f.execute)
	handle("POST /api/patterns/{name}/execute/stream", f.stream)
	handle("GET /api/executions", f.executions)
	handle("GET /api/executions/{id}", f.execution)
	handle("GET /api/executions/{id}/stream", f.stream)
	handle("POST /api/executions/{id}/cancel", func(w http.ResponseWriter, r *http.Request, _ string) {
		if r.PathValue("id") == "exec_done" {
			refuse(w, 409, "CONFLICT", "the execution is completed", `{"resource":"execution","id":"exec_done","status":"completed"}`)
			return
		}
		say(w, 200, `{"executionId":"exec_1","status":"cancelled","cancelledAt":"2026-01-02T03:04:05.000Z"}`)
	})
	again := func(w http.ResponseWriter, r *http.Request, _ string) {
		say(w, 202, fmt.Sprintf(`{"originalExecutionId":%q,"newExecutionId":"exec_2","status":"pending"}`, r.PathValue("id")))
	}
	handle("POST /api/executions/{id}/retry", again)
	handle("POST /api/executions/{id}/rerun", again)
	handle("POST /api/batch/execute", f.startBatch)
	handle("GET /api/batch/{id}", f.batch)
	handle("POST /api/batch/{id}/cancel", func(w http.ResponseWriter, _ *http.Request, _ string) {
		say(w, 200, `{"batchId":"batch_1","status":"cancelled","total":3,"completed":1,"failed":0,"cancelled":2,"statusUrl":"/api/batch/batch_1"}`)
	})
	handle("GET /api/agents", f.agents)
	handle("GET /api/agents/{id}", f.agent)
	handle("POST /api/agents/{id}/disconnect", func(w http.ResponseWriter, r *http.Request, _ string) {
		say(w, 200, fmt.Sprintf(`{"id":%q,"disconnected":true,"disconnectedAt":"2026-01-02T03:04:05.000Z"}`, r.PathValue("id")))
	})
	f.managed(handle)
	f.plugins(handle)
	f.questions(handle)
	f.timelines(handle)
	f.threads(handle)
	f.webhooks(handle)
	handle("GET /api/health", f.health)
	handle("GET /api/openapi.json", func(w http.ResponseWriter, _ *http.Request, _ string) {
		say(w, 200, `{"openapi":"3.1.0","info":{"title":"Wardroom","version":"1.2.3"},"paths":{}}`)
	})
	handle("GET /asked", func(w http.ResponseWriter, _ *http.Request, _ string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		say(w, 200, strings.Join(f.requests[:len(f.requests)-1], "\n")+"\n")
	})
	handle("/", func(w http.ResponseWriter, _ *http.Request, _ string) {
		refuse(w, 404, "NOT_FOUND", "there is no such route", `{}`)
	})
	f.Server = httptest.NewServer(mux)
	return f
}

func say(w http.ResponseWriter, status int, body string) {
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func refuse(w http.ResponseWriter, status int, code, message, details string) {
	say(w, status, fmt.Sprintf(`{"error":{"code":%q,"message":%q,"details":%s},"requestId":"req_1"}`, code, message, details))
}

func missing(w http.ResponseWriter, resource, id string) {
	refuse(w, 404, "NOT_FOUND", fmt.Sprintf("%s %q does not exist", resource, id),
		fmt.Sprintf(`{"resource":%q,"id":%q}`, resource, id))
}

func (f *fake) listPatterns(w http.ResponseWriter, r *http.Request, _ string) {
	const row = `{"name":"%s","version":"1.1.0","description":"Sort tickets","createdAt":"2026-01-02T03:04:05.000Z","updatedAt":"2026-01-02T03:04:05.000Z"}`
	switch {
	case r.URL.Query().Get("search") == "none":
		say(w, 200, `{"patterns":[],"total":0,"limit":20,"offset":0,"hasMore":false}`)
	case r.URL.Query().Get("cursor") == "c1":
		say(w, 200, `{"patterns":[`+fmt.Sprintf(row, "échelle")+`],"total":2,"limit":1,"offset":0,"hasMore":false}`)
	default:
		say(w, 200, `{"patterns":[`+fmt.Sprintf(row, "triage")+`],"total":2,"limit":1,"offset":0,"hasMore":true,"nextCursor":"c1"}`)
	}
}

func (f *fake) getPattern(w http.ResponseWriter, r *http.Request, _ string) {
	name := r.PathValue("name")
	if name != "triage" {
		missing(w, "pattern", name)
		return
	}
	version := r.URL.Query().Get("version")
	if version == "" {
		version = "1.1.0"
	}
	say(w, 200, fmt.Sprintf(`{"name":"triage","version":%q,"description":"Sort tickets","definition":{"agents":{"min":3}},`+
		`"createdAt":"2026-01-02T03:04:05.000Z","updatedAt":"2026-01-02T03:04:05.000Z","createdBy":"anonymous"}`, version))
}

// definition reads the name and version of a definition in a request.
func definition(body string) (name, version string) {
	var in struct{ Definition string }
	_ = json.Unmarshal([]byte(body), &in)
	for line := range strings.Lines(in.Definition) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ": "); ok && key == "name" {
			name = value
		} else if ok && key == "version" {
			version = value
		}
	}
	return name, version
}

func (f *fake) createPattern(w http.ResponseWriter, _ *http.Request, body string) {
	name, version := definition(body)
	switch {
	case name == "bad":
		refuse(w, 400, "VALIDATION_ERROR", "definition: agents.min: must be at least 1 (and 1 more)",
			`{"errors":[{"path":"agents.min","line":4,"reason":"must be at least 1"},{"path":"output","reason":"is missing"}]}`)
	case name == "triage":
		refuse(w, 409, "CONFLICT", "pattern triage 1.1.0 exists", `{"resource":"pattern","id":"triage"}`)
	default:
		say(w, 201, fmt.Sprintf(`{"name":%q,"version":%q,"created":true}`, name, version))
	}
}

func (f *fake) putPattern(w http.ResponseWriter, r *http.Request, body string) {
	name := r.PathValue("name")
	_, version := definition(body)
	switch {
	case name != "triage":
		missing(w, "pattern", name)
	case version == "1.1.0":
		say(w, 200, `{"name":"triage","version":"1.1.0","created":false,"updated":true}`)
	default:
		say(w, 201, fmt.Sprintf(`{"name":"triage","version":%q,"created":true,"previousVersion":"1.1.0"}`, version))
	}
}

func (f *fake) deletePattern(w http.ResponseWriter, r *http.Request, _ string) {
	if r.PathValue("name") != "triage" {
		missing(w, "pattern", r.PathValue("name"))
		return
	}
	removed := 2
	if r.URL.Query().Get("version") != "" {
		removed = 1
	}
	say(w, 200, fmt.Sprintf(`{"deleted":true,"versionsRemoved":%d}`, removed))
}

func (f *fake) versions(w http.ResponseWriter, _ *http.Request, _ string) {
	say(w, 200, `{"versions":[{"version":"1.1.0","createdAt":"2026-01-02T03:04:05.000Z"},{"version":"1.0.0","createdAt":"2026-01-01T03:04:05.000Z"}]}`)
}

// refused answers for the patterns that never run.
func refused(w http.ResponseWriter, name string) bool {
	switch name {
	case "lonely":
		refuse(w, 503, "NO_AGENTS", "needs 3 agents with classify; 1 is connected", `{"required":3,"available":1,"capabilities":["classify"]}`)
	case "late":
		refuse(w, 408, "TIMEOUT", "the execution took longer than 50 ms", `{"timeoutMs":50,"executionId":"exec_9"}`)
	case "secret":
		refuse(w, 403, "FORBIDDEN", "not for you", `{"action":"executions.create","requiredScope":"executions:create"}`)
	case "locked":
		refuse(w, 401, "UNAUTHORIZED", "no credential", `{"reason":"missing"}`)
	case "busy":
		w.Header().Set("Retry-After", "7")
		refuse(w, 429, "RATE_LIMITED", "too many", `{"limit":100,"windowSeconds":60,"retryAfter":7}`)
	case "full":
		refuse(w, 503, "INTERNAL_ERROR", "the disk is full", `{"reason":"store_read_only"}`)
	case "triage", "broken", "odd":
		return false
	default:
		missing(w, "pattern", name)
	}
	return true
}

func (f *fake) execute(w http.ResponseWriter, r *http.Request, body string) {
	name := r.PathValue("name")
	switch {
	case refused(w, name):
	case strings.Contains(body, `"wrong"`):
		refuse(w, 400, "VALIDATION_ERROR", "input: text: is required", `{"field":"text","reason":"is required","errors":[{"path":"text","reason":"is required"}]}`)
	case r.URL.Query().Get("async") == "true":
		say(w, 202, `{"executionId":"exec_1","status":"pending","statusUrl":"/api/executions/exec_1"}`)
	case name == "broken":
		say(w, 200, `{"executionId":"exec_1","pattern":{"name":"broken","version":"1.0.0"},"status":"failed","result":null,`+
			`"error":{"code":"AGENT_ERROR","message":"agent agent_2: out of ideas"},"duration":12,"agents":[{"id":"agent_2","status":"failed"}]}`)
	default:
		say(w, 200, `{"executionId":"exec_1","pattern":{"name":"triage","version":"1.1.0"},"status":"completed",`+
			`"result":{"category":"billing","confidence":0.9},"duration":12,"agents":[{"id":"agent_1","status":"completed","result":{"category":"billing"}},`+
			`{"id":"agent_2","status":"completed","result":{"category":"billing\u001b[31m"}}]}`)
	}
}

func (f *fake) stream(w http.ResponseWriter, r *http.Request, _ string) {
	name := r.PathValue("name")
	switch {
	case name != "" && refused(w, name):
		return
	case r.PathValue("id") == "exec_none":
		missing(w, "execution", "exec_none")
		return
	case r.Header.Get("Last-Event-ID") == "9":
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	events := ": hello\n\nid: 4\nevent: started\ndata: {\"executionId\":\"exec_1\",\"status\":\"running\"}\n\n" +
		"event: agent_progress\ndata: {\"agentId\":\"agent_1\",\"text\":\"half\"}\n\n" +
		"id: 6\nevent: agent_result\ndata: {\"agentId\":\"agent_1\",\"result\":{\"category\":\"billing\"}}\n\n" +
		"id: 7\nevent: step_completed\ndata: {\"step\":\"vote\",\"result\":\"billing\",\"confidence\":0.5}\n\n"
	end := "id: 9\nevent: completed\ndata: {\"executionId\":\"exec_1\",\"status\":\"completed\",\"result\":{\"category\":\"billing\"}}\n\n"
	switch {
	case r.PathValue("id") == "exec_chart":
		events, end = chartEvents, ""
	case name == "broken" || r.PathValue("id") == "exec_broken":
		end = "id: 9\nevent: failed\ndata: {\"executionId\":\"exec_1\",\"status\":\"failed\",\"error\":{\"code\":\"TIMEOUT\",\"message\":\"took longer than 50 ms\"}}\n\n"
	case r.PathValue("id") == "exec_cancelled":
		end = "id: 9\nevent: cancelled\ndata: {\"executionId\":\"exec_1\",\"status\":\"cancelled\",\"reason\":\"not needed\"}\n\n"
	}
	_, _ = io.WriteString(w, events+end)
}

func (f *fake) executions(w http.ResponseWriter, r *http.Request, _ string) {
	if r.URL.Query().Get("pattern") == "none" {
		say(w, 200, `{"executions":[],"total":0,"limit":20,"offset":0,"hasMore":false}`)
		return
	}
	say(w, 200, `{"executions":[{"executionId":"exec_2","pattern":"triage","version":"1.1.0","status":"running","createdAt":"2026-01-02T03:04:05.000Z",`+
		`"startedAt":"2026-01-02T03:04:05.000Z","duration":65000},{"executionId":"exec_1","pattern":"triage","version":"1.0.0","status":"completed",`+
		`"createdAt":"2026-01-02T03:04:04.000Z","startedAt":"2026-01-02T03:04:04.000Z","duration":12}],"total":2,"limit":20,"offset":0,"hasMore":false}`)
}

func (f *fake) execution(w http.ResponseWriter, r *http.Request, _ string) {
	if r.PathValue("id") == "exec_none" {
		missing(w, "execution", "exec_none")
		return
	}
	if r.PathValue("id") == "exec_chart" {
		say(w, 200, `{"executionId":"exec_chart","pattern":{"name":"startup-team","version":"1.0.0"},"status":"completed","result":1,"duration":1500,`+
			`"patternName":"startup-team","output":1,"metrics":{"durationMs":1500,"stepsExecuted":3,"agentsUsed":1},"partial":true}`)
		return
	}
	say(w, 200, `{"executionId":"exec_1","pattern":{"name":"triage","version":"1.1.0"},"status":"completed","input":{"text":"my invoice"},`+
		`"result":"billing","createdAt":"2026-01-02T03:04:05.000Z","startedAt":"2026-01-02T03:04:05.000Z","completedAt":"2026-01-02T03:04:06.500Z",`+
		`"duration":1500,"agents":[{"id":"agent_1","step":"vote","status":"completed","result":1}]}`)
}

func (f *fake) startBatch(w http.ResponseWriter, _ *http.Request, body string) {
	var in struct {
		Pattern string
		Inputs  []json.RawMessage
	}
	_ = json.Unmarshal([]byte(body), &in)
	if refused(w, in.Pattern) {
		return
	}
	id := "batch_1"
	if in.Pattern == "broken" {
		id = "batch_broken"
	}
	say(w, 202, fmt.Sprintf(`{"batchId":%q,"status":"running","total":%d,"completed":0,"failed":0,"statusUrl":"/api/batch/%s"}`, id, len(in.Inputs), id))
}

func (f *fake) batch(w http.ResponseWriter, r *http.Request, _ string) {
	switch r.PathValue("id") {
	case "batch_1":
		say(w, 200, `{"batchId":"batch_1","status":"completed","total":2,"completed":2,"failed":0,"statusUrl":"/api/batch/batch_1","results":[`+
			`{"index":0,"executionId":"exec_1","status":"completed","result":{"category":"billing"}},`+
			`{"index":1,"executionId":"exec_2","status":"completed","result":{"category":"技術"}}]}`)
	case "batch_broken":
		say(w, 200, `{"batchId":"batch_broken","status":"completed","total":2,"completed":1,"failed":1,"statusUrl":"/api/batch/batch_broken","results":[`+
			`{"index":0,"executionId":"exec_1","status":"completed","result":1},`+
			`{"index":1,"status":"failed","error":{"code":"VALIDATION_ERROR","message":"text: is required"}}]}`)
	case "batch_stopped":
		say(w, 200, `{"batchId":"batch_stopped","status":"failed","total":2,"completed":1,"failed":1,"statusUrl":"","results":[]}`)
	default:
		missing(w, "batch", r.PathValue("id"))
	}
}

const agentRow = `{"id":"agent_1","name":"lexicon","status":"connected","healthy":%s,"capabilities":["classify","en"],"region":"eu",` +
	`"connectedAt":"2026-01-02T03:04:05.000Z","lastHeartbeat":"2026-01-02T03:05:05.000Z","tasksCompleted":7,"metadata":{"model":"lex","version":"2"}%s}`

func (f *fake) agents(w http.ResponseWriter, r *http.Request, _ string) {
	if r.URL.Query().Get("region") == "none" {
		say(w, 200, `{"agents":[],"total":0,"connected":0,"disconnected":0,"limit":20,"offset":0,"hasMore":false}`)
		return
	}
	say(w, 200, `{"agents":[`+fmt.Sprintf(agentRow, "true", "")+`,`+fmt.Sprintf(agentRow, "false", "")+`],"total":2,"connected":2,"disconnected":0,"limit":20,"offset":0,"hasMore":false}`)
}

func (f *fake) agent(w http.ResponseWriter, r *http.Request, _ string) {
	if r.PathValue("id") != "agent_1" {
		missing(w, "agent", r.PathValue("id"))
		return
	}
	say(w, 200, fmt.Sprintf(agentRow, "true", `,"statistics":{"tasksCompleted":7,"tasksSucceeded":6,"tasksFailed":1,"averageLatency":12.34,"uptime":3661}`))
}

func (f *fake) health(w http.ResponseWriter, r *http.Request, _ string) {
	if r.URL.Query().Get("detailed") == "" {
		say(w, 200, `{"status":"healthy","version":"1.2.3","uptime":61}`)
		return
	}
	say(w, 200, `{"status":"degraded","version":"1.2.3","uptime":3661,"components":{"database":"ok","redis":"disabled",`+
		`"agents":{"connected":3,"healthy":2}},"metrics":{"executionsTotal":42,"executionsActive":1,"avgExecutionTime":12.5},`+
		`"checks":[{"name":"store","severity":"required","status":"degraded","message":"little space","hint":"free some","since":"2026-01-02T03:04:05.000Z"}]}`)
}
