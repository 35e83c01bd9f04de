package cmd_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
)

// managedRow is a managed agent; its fields are id, status and more of them.
const managedRow = `{"id":%q,"name":"reviewer","type":"claude","status":%s,"runtime":"local","capabilities":["review"],` +
	`"workdir":"/srv/w","pid":4711,"sessionId":"s-1","turn":2,"createdAt":"2026-01-02T03:04:05.000Z","lastActivityAt":"2026-01-02T03:05:05.000Z"%s}`

// managedAgent is the agent of an id: magent_blocked asks, magent_stopped has stopped, magent_login needs a login.
func managedAgent(id string) string {
	switch id {
	case "magent_blocked":
		return fmt.Sprintf(managedRow, id, `"busy","statusReason":"blocked"`, `,"prompt":{"id":"q1","kind":"approval","text":"Run this command?",`+
			`"tool":"Bash","input":{"command":"ls\u001b[31m"},"options":[{"id":"allow","label":"Yes"},{"id":"deny","label":"No"}]},"labels":{"team":"core","k":"v"}`)
	case "magent_lines":
		return fmt.Sprintf(managedRow, id, `"busy","statusReason":"blocked"`, `,"prompt":{"id":"q1","kind":"approval","text":"Run this command?",`+
			`"tool":"Bash","input":{"command":"echo a > a.txt && \\\n  git add a.txt\nmake <x","timeout":5,"why":"as told"},"options":[{"id":"allow","label":"Yes"}]},`+
			`"labels":{"team":"core","k":"v"},"lastTurn":{"error":{"code":"MODEL_CUT","message":"broke off","retryable":true}},`+
			`"usage":{"model":"m-1","inputTokens":1200,"outputTokens":34,"cacheReadTokens":5,"requests":2,"costUsd":0.0125}`)
	case "magent_away":
		return fmt.Sprintf(managedRow, id, `"unreachable","statusReason":"agent_away"`, "")
	case "magent_stopped":
		return fmt.Sprintf(managedRow, id, `"stopped","statusReason":"exited"`, `,"exitCode":130,"stoppedAt":"2026-01-02T03:06:05.000Z"`)
	case "magent_login":
		return fmt.Sprintf(managedRow, id, `"error","statusReason":"login_required"`, `,"loginUrl":"https://login.example"`)
	}
	return fmt.Sprintf(managedRow, id, `"ready"`, "")
}

// managed adds the operations of managed agents.
func (f *fake) managed(handle func(route string, h func(w http.ResponseWriter, r *http.Request, body string))) {
	one := func(h func(w http.ResponseWriter, r *http.Request, id, body string)) func(http.ResponseWriter, *http.Request, string) {
		return func(w http.ResponseWriter, r *http.Request, body string) {
			id := r.PathValue("id")
			if id == "magent_none" {
				missing(w, "managed agent", id)
				return
			}
			h(w, r, id, body)
		}
	}
	agent := one(func(w http.ResponseWriter, _ *http.Request, id, _ string) { say(w, 200, managedAgent(id)) })
	handle("GET /api/runtimes", func(w http.ResponseWriter, _ *http.Request, _ string) {
		say(w, 200, `{"runtimes":[{"name":"local","priority":10,"ready":true,"types":["claude","codex"],"missingTypes":["codex"],"agents":2,"maxAgents":10,"isolation":{"noNewPrivs":true,"landlock":6,"user":"wardroom-agent"}},`+
			`{"name":"docker","priority":20,"ready":false,"reason":"the socket is not there","types":[],"agents":0,"maxAgents":0}]}`)
	})
	handle("GET /api/managed-agents", func(w http.ResponseWriter, r *http.Request, _ string) {
		if labels := r.URL.Query()["label"]; r.URL.Query().Get("type") == "gemini" || len(labels) > 0 && strings.Join(labels, ",") != "k=v,team=core" {
			say(w, 200, `{"agents":[],"total":0,"limit":20,"offset":0,"hasMore":false}`)
			return
		}
		say(w, 200, `{"agents":[`+managedAgent("magent_1")+`,`+managedAgent("magent_blocked")+`],"total":2,"limit":20,"offset":0,"hasMore":false}`)
	})
	handle("POST /api/managed-agents", func(w http.ResponseWriter, _ *http.Request, body string) {
		switch {
		case strings.Contains(body, `"nosuch"`):
			refuse(w, 422, "VALIDATION_ERROR", "type: the command nosuch is not installed", `{"field":"type","reason":"the command nosuch is not installed","runtimeCode":"CLI_NOT_FOUND"}`)
		case strings.Contains(body, `"login"`):
			say(w, 201, managedAgent("magent_login"))
		case strings.Contains(body, `"asks"`):
			say(w, 201, managedAgent("magent_blocked"))
		default:
			say(w, 201, fmt.Sprintf(managedRow, "magent_1", `"starting"`, ""))
		}
	})
	handle("GET /api/managed-agents/{id}", agent)
	handle("GET /api/managed-agents/{id}/metrics", one(func(w http.ResponseWriter, _ *http.Request, id, _ string) {
		if id == "magent_blocked" {
			refuse(w, 503, "INTERNAL_ERROR", "away", `{"reason":"agent_unreachable"}`)
			return
		}
		say(w, 200, `{"cpuPercent":12.34,"memoryBytes":104857600,"memoryLimitBytes":536870912,"uptimeSeconds":75,"messagesSent":3,"lastResponseMs":1500}`)
	}))
	handle("DELETE /api/managed-agents/{id}", one(func(w http.ResponseWriter, _ *http.Request, _, _ string) { w.WriteHeader(204) }))
	handle("POST /api/managed-agents/{id}/restart", agent)
	handle("POST /api/managed-agents/{id}/answer", one(func(w http.ResponseWriter, _ *http.Request, id, _ string) {
		if id != "magent_blocked" {
			refuse(w, 409, "CONFLICT", "the agent asks nothing", fmt.Sprintf(`{"resource":"managed agent","id":%q,"status":"ready","runtimeCode":"NO_PROMPT"}`, id))
			return
		}
		say(w, 200, managedAgent("magent_1"))
	}))
	handle("POST /api/managed-agents/{id}/send", one(func(w http.ResponseWriter, r *http.Request, id, body string) {
		switch {
		case id == "magent_blocked":
			refuse(w, 409, "CONFLICT", "the agent waits for an answer", `{"resource":"managed agent","id":"magent_blocked","status":"busy","runtimeCode":"BLOCKED"}`)
		case id == "magent_stopped":
			refuse(w, 409, "CONFLICT", "the agent has stopped (exited)", `{"resource":"managed agent","id":"magent_stopped","status":"stopped","runtimeCode":"NOT_RUNNING"}`)
		case strings.Contains(body, `"interrupt":true`):
			say(w, 200, `{"sent":true}`)
		case strings.Contains(body, "FAIL"):
			say(w, 200, `{"sent":true,"response":{"turn":3,"durationMs":12,"error":{"code":"MODEL_RATE_LIMITED","message":"429 \u001b[31mtoo many","retryable":true}}}`)
		case strings.Contains(body, "KEYLESS"):
			say(w, 200, `{"sent":true,"response":{"turn":3,"durationMs":12,"error":{"code":"LOGIN_REQUIRED","message":"Invalid API key","retryable":false}}}`)
		case strings.Contains(body, "STOPPED"):
			say(w, 200, `{"sent":true,"response":{"text":"","turn":3,"durationMs":12,"interrupted":true}}`)
		case strings.Contains(body, "REFUSED"):
			say(w, 200, `{"sent":true,"response":{"text":"I may not.","turn":3,"durationMs":12,"refused":true}}`)
		case strings.Contains(body, "AWAY"):
			// The server goes away over the message, and finds its turn by the key when it is back.
			f.mu.Lock()
			defer f.mu.Unlock()
			f.tries = append(f.tries, r.Header.Get("Idempotency-Key"))
			switch len(f.tries) {
			case 1:
				panic(http.ErrAbortHandler)
			case 2:
				refuse(w, 503, "INTERNAL_ERROR", "the runtime local is not ready", `{"reason":"runtime_unavailable"}`)
			case 3:
				refuse(w, 409, "CONFLICT", "it may have been taken", `{"resource":"managed agent","runtimeCode":"DELIVERY_UNKNOWN"}`)
			default:
				if f.tries[0] == "" || f.tries[0] != f.tries[3] {
					refuse(w, 400, "VALIDATION_ERROR", "another key", "{}")
					return
				}
				say(w, 200, `{"sent":true,"response":{"text":"the answer","turn":3,"durationMs":12}}`)
			}
		case strings.Contains(body, `"expectResponse":true`):
			say(w, 200, `{"sent":true,"response":{"text":"Two\tcolumns\nand a \u001b[31mred line","turn":3,"durationMs":1200}}`)
		default:
			say(w, 200, `{"sent":true}`)
		}
	}))
	handle("GET /api/managed-agents/{id}/logs", one(func(w http.ResponseWriter, r *http.Request, _, _ string) {
		const line = `{"timestamp":"2026-01-02T03:04:05.678Z","stream":"output","line":"done\u001b[31m"}`
		if r.URL.Query().Get("follow") != "true" {
			say(w, 200, `{"logs":[{"timestamp":"2026-01-02T03:04:05.000Z","stream":"input","line":"do it"},`+line+`],"tail":1000}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "id: 2026-01-02T03:04:05.678Z\nevent: log\ndata: "+line+"\n\nevent: end\ndata: {}\n\n")
	}))
	handle("GET /api/managed-agents/{id}/events", one(func(w http.ResponseWriter, r *http.Request, id, _ string) {
		row := func(seq int, kind, data string) string {
			return fmt.Sprintf(`{"agentId":%q,"sequence":%d,"type":"managed_agent.%s","timestamp":"2026-01-02T03:04:05.678Z","data":%s}`, id, seq, kind, data)
		}
		ready := row(24, "ready", `{"status":"ready"}`)
		if before := r.URL.Query().Get("before"); before != "" { // two pages
			list := map[string]string{"0": row(29, "stopped", `{"status":"stopped"}`) + `],"limit":1,"hasMore":true,"nextSince":40,"nextBefore":29}`,
				"29": ready + `],"limit":1,"hasMore":true,"nextSince":28,"nextBefore":24}`}[before]
			say(w, 200, `{"events":[`+list)
			return
		}
		if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
			say(w, 200, `{"events":[`+ready+`,`+row(25, "tool_running", `{"status":"busy","tool":{"name":"Bash","input":{"command":"ls"}}}`)+`,`+
				row(29, "stopped", `{"status":"stopped","reason":"exited","exitCode":3}`)+`],"limit":100,"hasMore":true,"nextSince":29}`)
			return
		}
		if r.Header.Get("Last-Event-ID") == "24" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "retry: 1\n\nid: 24\nevent: managed_agent.ready\ndata: "+ready+"\n\n")
	}))
}
