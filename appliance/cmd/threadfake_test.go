package cmd_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// threadRow is a thread: its id, status with more fields, and what follows.
const threadRow = `{"id":%q,"executionId":"exec_1","name":"fix-login","agentType":"claude","role":"implementer","objective":"Fix the flaky\nlogin test",` +
	`"status":%s,"runtime":"local","managedAgentId":"magent_1","sessionId":"s-1","workspace":` + workspaceRow + `,` +
	`"preparation":{"workspace":{"workspaceId":"ws_1","repo":"app"},"approvalPreset":"standard","envNames":["TOKEN"]},"policy":{"maxTurns":1,"maxTokens":5000,"maxCost":1.5},"metadata":{},` +
	`"summary":"The test waits for the clock.","turnCount":2,"eventCount":9,"queuedInputs":1,"restarts":0,` +
	`"createdAt":"2026-01-02T03:04:05.000Z","updatedAt":"2026-01-02T03:05:05.000Z","lastActivityAt":"2026-01-02T03:05:05.000Z","startedAt":"2026-01-02T03:04:06.000Z"%s}`

const workspaceRow = `{"workspaceId":"ws_1","threadId":"thread_1","executionId":"exec_1","status":"ready","path":"/srv/w/trees/ws_1","repo":"app",` +
	`"url":"https://git.example.com/app.git","branch":"main","workBranch":"wardroom/exec_1/implementer-fix-login","baseCommit":"0123abc",` +
	`"sizeBytes":1234567,"warnings":["2 files are LFS pointers"],"createdAt":"2026-01-02T03:04:05.000Z"}`

const threadPrompt = `{"id":"p1","kind":"approval","text":"Run this command?","tool":"Bash","input":{"command":"go test ./..."},` +
	`"options":[{"id":"allow","label":"Yes"},{"id":"deny","label":"No"}]}`

const threadDone = `{"state":"complete","summary":"The test passes\nten times.","artifacts":[{"type":"commit","value":"89abcd"},{"type":"file","value":"login_test.go"}],` +
	`"changes":{"commits":[],"commitCount":1,"files":[],"fileCount":2,"insertions":12,"deletions":3,"uncommitted":1,"unpushed":1},` +
	`"tests":{"run":10,"passed":10,"failed":0,"command":"go test"}}`

// aThread is the thread of an id: thread_blocked asks, thread_done completed, thread_failed failed, thread_stopped was stopped.
func aThread(id string) string {
	const ended = `,"endedAt":"2026-01-02T03:06:05.000Z"`
	switch id {
	case "thread_blocked":
		return fmt.Sprintf(threadRow, id, `"blocked"`, `,"prompt":`+threadPrompt)
	case "thread_done":
		return fmt.Sprintf(threadRow, id, `"completed"`, ended+`,"completion":`+threadDone)
	case "thread_failed":
		return fmt.Sprintf(threadRow, id, `"failed","statusReason":"crashed"`, ended+`,"error":{"code":"AGENT_ERROR","message":"the agent ended with code 3"}`)
	case "thread_refused":
		return fmt.Sprintf(threadRow, id, `"failed","statusReason":"turn_failed"`, ended+`,"failedTurns":2,"continuedBy":"thread_next",`+
			`"lastTurn":{"turn":4,"durationMs":900,"error":{"code":"MODEL_ERROR","message":"API Error: 400","retryable":false}},`+
			`"usage":{"model":"m-1","inputTokens":1200,"outputTokens":34,"costUsd":0.0125},`+
			`"error":{"code":"AGENT_ERROR","message":"turn 4 failed: MODEL_ERROR: API Error: 400"}`)
	case "thread_stopped":
		return fmt.Sprintf(threadRow, id, `"stopped","statusReason":"requested"`, ended)
	}
	return fmt.Sprintf(threadRow, id, `"running"`, "")
}

// threads adds the operations of threads, their memory and workspaces.
func (f *fake) threads(handle func(route string, h func(w http.ResponseWriter, r *http.Request, body string))) {
	one := func(h func(w http.ResponseWriter, r *http.Request, id, body string)) func(http.ResponseWriter, *http.Request, string) {
		return func(w http.ResponseWriter, r *http.Request, body string) {
			id := r.PathValue("id")
			if id == "thread_none" {
				missing(w, "thread", id)
				return
			}
			h(w, r, id, body)
		}
	}
	const threads = "/api/managed-threads"
	page := func(w http.ResponseWriter, name string, rows ...string) {
		say(w, 200, fmt.Sprintf(`{%q:[%s],"total":%d,"limit":20,"offset":0,"hasMore":false}`, name, strings.Join(rows, ","), len(rows)))
	}
	list := func(w http.ResponseWriter, r *http.Request, _ string) {
		if r.URL.Query().Get("status") == "idle" {
			page(w, "threads")
			return
		}
		page(w, "threads", aThread("thread_1"), aThread("thread_blocked"), aThread("thread_done"))
	}
	handle("GET "+threads, list)
	handle("POST "+threads, func(w http.ResponseWriter, _ *http.Request, body string) {
		if strings.Contains(body, `"nosuch"`) {
			refuse(w, 400, "VALIDATION_ERROR", "preparation.workspace.repo: there is no such repository",
				`{"field":"preparation.workspace.repo","reason":"there is no such repository"}`)
			return
		}
		id := "thread_1"
		if strings.Contains(body, `"role":"watched"`) {
			id = "thread_live"
		}
		say(w, 201, fmt.Sprintf(threadRow, id, `"pending"`, ""))
	})
	handle("POST "+threads+"/prepare", func(w http.ResponseWriter, _ *http.Request, _ string) {
		say(w, 200, `{"executionId":"new","name":"fix-login","objective":"Fix it","role":"implementer","preparation":{"workspace":{"workspaceId":"ws_1",`+
			`"path":"/srv/w/trees/ws_1","repo":"app","branch":"main","workBranch":"wardroom/new/implementer-fix-it","baseCommit":"0123abc"},`+
			`"contextFiles":[{"path":"notes.md","content":"be kind"},{"path":".wardroom/thread-memory.md","content":"# Memory\n\nYou are told \u001b[31mthis.\n"}],`+
			`"approvalPreset":"standard"},"policy":{},"metadata":{"memoryContext":{"sharedDecisionCount":1,"episodicExperienceCount":2,"repo":"app","role":"implementer","objective":"Fix it"}}}`)
	})
	thread := one(func(w http.ResponseWriter, _ *http.Request, id, _ string) { say(w, 200, aThread(id)) })
	handle("GET "+threads+"/{id}", func(w http.ResponseWriter, r *http.Request, body string) {
		thread(w, r, body)
		if r.PathValue("id") == "thread_blocked" {
			select {
			case f.looks <- struct{}{}:
			default:
			}
		}
	})
	handle("DELETE "+threads+"/{id}", one(func(w http.ResponseWriter, _ *http.Request, _, _ string) { w.WriteHeader(204) }))
	handle("POST "+threads+"/{id}/continue", one(func(w http.ResponseWriter, _ *http.Request, id, body string) {
		if id == "thread_1" {
			refuse(w, 409, "CONFLICT", "the thread is running; send it a message instead", `{"resource":"thread","id":"thread_1","status":"running"}`)
			return
		}
		response := ""
		switch waits := strings.Contains(body, `"expectResponse":true`); {
		case waits && id == "thread_failed":
			response = `,"response":{"turn":1,"durationMs":3,"error":{"code":"AGENT_ENDED","message":"the agent ended within the turn","retryable":true}}`
		case waits:
			response = `,"response":{"text":"All of it.","turn":1,"durationMs":3}`
		}
		say(w, 201, fmt.Sprintf(threadRow, "thread_next", `"pending"`, fmt.Sprintf(`,"continues":%q%s`, id, response)))
	}))
	handle("DELETE "+threads+"/{id}/queue/{input}", one(func(w http.ResponseWriter, r *http.Request, _, _ string) {
		if input := r.PathValue("input"); input == "in_1" {
			refuse(w, 409, "CONFLICT", "the agent has the message already; interrupt its turn instead", `{"resource":"input","id":"in_1","status":"working"}`)
			return
		}
		w.WriteHeader(204)
	}))
	handle("POST "+threads+"/{id}/merge", one(func(w http.ResponseWriter, _ *http.Request, id, _ string) {
		if id == "thread_done" {
			refuse(w, 409, "CONFLICT", "main and the work of the thread conflict in login_test.go; nothing was changed",
				`{"resource":"workspace","id":"ws_1","status":"ready","conflicts":["login_test.go"]}`)
			return
		}
		say(w, 200, `{"workspaceId":"ws_1","branch":"main","baseCommit":"4567cdef","headCommit":"89abcdef","changed":true}`)
	}))
	handle("POST "+threads+"/{id}/rebase", one(func(w http.ResponseWriter, _ *http.Request, _, _ string) {
		say(w, 200, `{"workspaceId":"ws_1","branch":"main","baseCommit":"0123abc","headCommit":"89abcdef","changed":false}`)
	}))
	handle("POST "+threads+"/{id}/complete", one(func(w http.ResponseWriter, _ *http.Request, _, _ string) { say(w, 200, aThread("thread_done")) }))
	handle("POST "+threads+"/{id}/answer", one(func(w http.ResponseWriter, _ *http.Request, id, _ string) {
		if id != "thread_blocked" {
			refuse(w, 409, "CONFLICT", "the thread asks nothing", fmt.Sprintf(`{"resource":"thread","id":%q,"status":"running"}`, id))
			return
		}
		say(w, 200, aThread("thread_1"))
	}))
	handle("POST "+threads+"/{id}/send", one(func(w http.ResponseWriter, _ *http.Request, id, body string) {
		switch {
		case id == "thread_done":
			refuse(w, 409, "CONFLICT", "the thread is completed", `{"resource":"thread","id":"thread_done","status":"completed"}`)
		case id == "thread_blocked" && strings.Contains(body, `"expectResponse":true`):
			for range 2 { // the second look comes when what the first one saw is shown
				<-f.looks
			}
			say(w, 200, `{"threadId":"thread_blocked","inputId":"in_1","sent":true,"queued":0,"response":{"turn":3,"text":"Done.","durationMs":20}}`)
		case strings.Contains(body, `"message"`):
			say(w, 200, `{"threadId":"thread_1","inputId":"in_1","sent":false,"queued":3}`)
		default:
			say(w, 200, `{"threadId":"thread_1","sent":true,"queued":0}`)
		}
	}))
	decision := func(id string, n int) string {
		return fmt.Sprintf(`{"id":%q,"executionId":"exec_1","threadId":"thread_1","category":"finding","summary":"The clock\nis slow","createdBy":"system",`+
			`"createdAt":"2026-01-02T03:04:05.000Z","count":%d}`, id, n)
	}
	events := one(func(w http.ResponseWriter, _ *http.Request, id, _ string) {
		var rows []string
		for i, e := range threadLife {
			rows = append(rows, fmt.Sprintf(`{"id":"evt_%d","threadId":%q,"executionId":"exec_1","sequence":%d,"type":%q,"timestamp":"2026-01-02T03:04:05.678Z","data":%s}`,
				i+1, id, i+11, e.kind, e.data))
		}
		say(w, 200, `{"events":[`+strings.Join(rows, ",")+`],"limit":100,"hasMore":true,"nextSince":29}`)
	})
	// The mux of the tests takes no words beside a wildcard, so both kinds of paths come here.
	handle("GET "+threads+"/{id}/{what}", func(w http.ResponseWriter, r *http.Request, body string) {
		switch id, what := r.PathValue("id"), r.PathValue("what"); {
		case id == "executions" && what == "exec_over":
			page(w, "threads", aThread("thread_done"), aThread("thread_failed"))
		case id == "executions":
			list(w, r, body)
		case what == "events":
			events(w, r, body)
		case what == "queue" && id == "thread_done":
			say(w, 200, `{"threadId":"thread_done","queued":0,"inputs":[],"hasMore":false}`)
		case what == "queue":
			say(w, 200, `{"threadId":"thread_1","queued":1,"inputs":[{"inputId":"in_1","number":3,"state":"working","attempt":1,"message":"Fix it","createdAt":"2026-01-02T03:04:05.000Z"},`+
				`{"inputId":"in_2","number":4,"state":"waiting","message":"Then the docs","createdAt":"2026-01-02T03:04:06.000Z"}],"hasMore":true,"nextAfter":4}`)
		case what == "diff":
			say(w, 200, `{"threadId":"thread_1","workspaceId":"ws_1","baseCommit":"0123abc","workBranch":"wardroom/x","patch":"--- a/login_test.go\n+++ b/login_test.go\n@@ -1 +1 @@\n-old\n+new\n",`+
				`"truncated":true,"changes":{"commits":[],"commitCount":1,"files":[{"path":"login_test.go","status":"modified","insertions":1,"deletions":1}],"fileCount":1,"insertions":1,"deletions":1,"uncommitted":0,"unpushed":1}}`)
		default:
			page(w, "decisions", decision("dec_1", 2))
		}
	})
	handle("GET "+threads+"/executions/{id}/shared-decisions", func(w http.ResponseWriter, _ *http.Request, _ string) { page(w, "decisions") })
	handle("POST "+threads+"/{id}/shared-decisions", one(func(w http.ResponseWriter, _ *http.Request, _, body string) {
		n := 1
		if strings.Contains(body, "again") {
			n = 2
		}
		say(w, 201, decision("dec_2", n))
	}))
	handle("GET "+threads+"/experiences", func(w http.ResponseWriter, r *http.Request, _ string) {
		if r.URL.Query().Get("q") == "none" {
			page(w, "experiences")
			return
		}
		page(w, "experiences", `{"id":"exp_1","executionId":"exec_1","role":"implementer","repo":"app","objective":"Fix it","summary":"Was the clock","outcome":"partial",`+
			`"createdAt":"2026-01-02T03:04:05.000Z","count":1,"score":1.5}`)
	})
	handle("GET /api/executions/{id}/threads/stream", threadStream)
	f.workspaces(handle)
}

// workspaces adds the operations of workspaces.
func (f *fake) workspaces(handle func(route string, h func(w http.ResponseWriter, r *http.Request, body string))) {
	kept := strings.Replace(workspaceRow, `"status":"ready"`, `"status":"released","kept":"2 commits are not pushed","expiresAt":"2026-01-09T03:04:05.000Z"`, 1)
	handle("GET /api/workspaces", func(w http.ResponseWriter, r *http.Request, _ string) {
		rows := workspaceRow + "," + kept
		if r.URL.Query().Get("status") == "reserved" {
			rows = ""
		}
		say(w, 200, `{"workspaces":[`+rows+`],"total":2,"limit":20,"offset":0,"hasMore":false}`)
	})
	handle("GET /api/workspaces/{id}", func(w http.ResponseWriter, r *http.Request, _ string) {
		if id := r.PathValue("id"); id != "ws_1" {
			missing(w, "workspace", id)
			return
		}
		say(w, 200, kept)
	})
	const diff = `{"workspaceId":"ws_1","baseCommit":"abc","workBranch":"w","patch":"+x\n","truncated":false,"changes":{"commits":[],"commitCount":0,` +
		`"files":[{"path":"src/main.go","from":"main.go","status":"renamed","insertions":1,"deletions":0}],"fileCount":1,"insertions":1,"deletions":0,"uncommitted":1,"unpushed":0}}`
	handle("GET /api/workspaces/{id}/changes", func(w http.ResponseWriter, _ *http.Request, _ string) { say(w, 200, diff) })
	handle("GET /api/workspaces/{id}/changes/{path}", func(w http.ResponseWriter, r *http.Request, _ string) {
		if path := r.PathValue("path"); path != "src/main.go" {
			missing(w, "changed file", path)
			return
		}
		say(w, 200, diff)
	})
	handle("POST /api/workspaces/prune", func(w http.ResponseWriter, _ *http.Request, body string) {
		if strings.Contains(body, `"mirrors":true`) {
			say(w, 200, `{"pruned":[],"removed":0,"freedBytes":0,"dryRun":false}`)
			return
		}
		say(w, 200, `{"pruned":[{"id":"ws_1","removed":true,"freedBytes":1234567},{"id":"ws_2","removed":false,"reason":"2 commits are not pushed","freedBytes":0}],`+
			`"removed":1,"freedBytes":1234567,"dryRun":`+strconv.FormatBool(strings.Contains(body, `"dryRun":true`))+`}`)
	})
}

// threadLife is what happens to a thread.
var threadLife = []struct{ kind, data string }{
	{"thread_started", `{"agentType":"claude","runtime":"local","managedAgentId":"magent_1"}`},
	{"thread_ready", `{}`},
	{"thread_status", `{"status":"running"}`},
	{"thread_tool_running", `{"tool":"Read","input":{"path":"login_test.go"}}`},
	{"thread_blocked", `{"prompt":` + threadPrompt + `,"autoAnswered":false}`},
	{"thread_blocked", `{"prompt":` + threadPrompt + `,"autoAnswered":true,"answer":"allow"}`},
	{"thread_output", `{"text":"It is the clock.\n\u001b[31mNot the test.","turn":1}`},
	{"thread_turn_complete", `{"output":"It is the clock.","turn":1,"durationMs":1500}`},
	{"thread_turn_complete", `{"turn":2,"durationMs":1500,"error":{"code":"MODEL_UNAVAILABLE","message":"API Error: 529","retryable":true},"usage":{"inputTokens":7,"outputTokens":0}}`},
	{"thread_status", `{"status":"input_repeated","reason":"MODEL_UNAVAILABLE","inputId":"in_1"}`},
	{"thread_summary_updated", `{"summary":"It was the clock","turns":1}`},
	{"thread_idle", `{"idleMs":60000}`},
	{"thread_completed", `{"completion":` + threadDone + `}`},
}

// threadStream streams the life of a thread. exec_over has threads that are over already; thread_broken fails.
func threadStream(w http.ResponseWriter, r *http.Request, _ string) {
	execution, id := r.PathValue("id"), r.URL.Query().Get("threadIds")
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "retry: 1\n\nevent: connected\ndata: {\"executionId\":%q,\"threadIds\":[]}\n\n", execution)
	if execution == "exec_over" || id == "thread_done" {
		flush(w)
		<-r.Context().Done()
		return
	}
	if id == "" {
		id = "thread_live"
		_, _ = io.WriteString(w, "event: gap\ndata: {\"from\":1,\"to\":9,\"reason\":\"trimmed\"}\n\n")
	}
	for i, e := range threadLife {
		kind, data := e.kind, e.data
		if id == "thread_failed" && kind == "thread_completed" {
			kind, data = "thread_failed", `{"error":{"code":"AGENT_ERROR","message":"the agent ended with code 3"}}`
		}
		switch kind { // as the interface has it
		case "thread_ready", "thread_idle", "thread_summary_updated":
			data = `{"status":"` + strings.TrimPrefix(kind, "thread_") + `",` + data[1:]
			data = strings.Replace(data, ",}", "}", 1)
			kind = "thread_status"
		}
		_, _ = fmt.Fprintf(w, "id: %d\nevent: %s\ndata: {\"executionId\":%q,\"threadId\":%q,\"type\":\"gateway_%s\",\"data\":{\"thread_id\":%q,\"event_type\":%q,"+
			"\"data_json\":%s,\"timestamp_ms\":1767323045678,\"sequence\":%d},\"timestamp\":\"2026-01-02T03:04:05.678Z\"}\n\n",
			i+11, kind, execution, id, kind, id, kind, strconv.Quote(data), i+11)
	}
	flush(w)
	<-r.Context().Done()
}
