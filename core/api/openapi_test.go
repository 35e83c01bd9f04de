package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/api/apitest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// document fetches the served document.
func document(tb testing.TB, r *rig) map[string]any {
	tb.Helper()
	p := r.do("GET", "/api/openapi.json", "")
	p.wants(tb, 200, "")
	return p.json
}

// The interface's own list of operations: none is missing and none is there by accident.
func TestOperations(t *testing.T) {
	want := []string{
		"DELETE /api/admin/plugins/{name}",
		"DELETE /api/auth/agent-tokens/{tokenId}",
		"DELETE /api/auth/keys/{keyId}",
		"DELETE /api/auth/sessions/{sessionId}",
		"DELETE /api/executions/{executionId}",
		"DELETE /api/managed-agents/{agentId}",
		"DELETE /api/managed-threads/{threadId}",
		"DELETE /api/managed-threads/{threadId}/queue/{inputId}",
		"DELETE /api/patterns/{name}",
		"DELETE /api/schedules/{scheduleId}",
		"DELETE /api/session",
		"DELETE /api/triggers/{triggerId}",
		"DELETE /api/webhooks/{webhookId}",
		"GET /api/admin/log",
		"GET /api/admin/plugins",
		"GET /api/admin/plugins/{name}",
		"GET /api/admin/plugins/{name}/logs",
		"GET /api/admin/secrets/providers",
		"GET /api/agents",
		"GET /api/agents/connect",
		"GET /api/agents/{agentId}",
		"GET /api/agents/{agentId}/tasks",
		"GET /api/audit",
		"GET /api/audit/export",
		"GET /api/audit/status",
		"GET /api/auth/agent-tokens",
		"GET /api/auth/agent-tokens/{tokenId}",
		"GET /api/auth/can",
		"GET /api/auth/keys",
		"GET /api/auth/keys/{keyId}",
		"GET /api/auth/methods",
		"GET /api/auth/sessions",
		"GET /api/batch/{batchId}",
		"GET /api/batches",
		"GET /api/compliance/{profile}",
		"GET /api/data/erasures",
		"GET /api/data/erasures/{erasureId}",
		"GET /api/events",
		"GET /api/executions",
		"GET /api/executions/histogram",
		"GET /api/executions/{executionId}",
		"GET /api/executions/{executionId}/events",
		"GET /api/executions/{executionId}/questions",
		"GET /api/executions/{executionId}/questions/{questionId}",
		"GET /api/executions/{executionId}/steps/{path}",
		"GET /api/executions/{executionId}/stream",
		"GET /api/executions/{executionId}/tasks/{taskId}",
		"GET /api/executions/{executionId}/threads/stream",
		"GET /api/executions/{executionId}/timeline",
		"GET /api/health",
		"GET /api/health/live",
		"GET /api/health/ready",
		"GET /api/ids/{id}",
		"GET /api/inbox",
		"GET /api/managed-agents",
		"GET /api/managed-agents/screens",
		"GET /api/managed-agents/{agentId}",
		"GET /api/managed-agents/{agentId}/events",
		"GET /api/managed-agents/{agentId}/logs",
		"GET /api/managed-agents/{agentId}/metrics",
		"GET /api/managed-agents/{agentId}/screen",
		"GET /api/managed-agents/{agentId}/terminal",
		"GET /api/managed-threads",
		"GET /api/managed-threads/executions/{executionId}",
		"GET /api/managed-threads/executions/{executionId}/shared-decisions",
		"GET /api/managed-threads/experiences",
		"GET /api/managed-threads/experiences/{experienceId}",
		"GET /api/managed-threads/{threadId}",
		"GET /api/managed-threads/{threadId}/diff",
		"GET /api/managed-threads/{threadId}/events",
		"GET /api/managed-threads/{threadId}/queue",
		"GET /api/managed-threads/{threadId}/shared-decisions",
		"GET /api/metrics",
		"GET /api/openapi.json",
		"GET /api/overview",
		"GET /api/patterns",
		"GET /api/patterns/{name}",
		"GET /api/patterns/{name}/drawing",
		"GET /api/patterns/{name}/versions",
		"GET /api/questions",
		"GET /api/questions/{questionId}",
		"GET /api/runtimes",
		"GET /api/schedules",
		"GET /api/schedules/{scheduleId}",
		"GET /api/schedules/{scheduleId}/ticks",
		"GET /api/schemas/pattern",
		"GET /api/session",
		"GET /api/triggers",
		"GET /api/triggers/{triggerId}",
		"GET /api/webhooks",
		"GET /api/webhooks/{webhookId}",
		"GET /api/webhooks/{webhookId}/deliveries",
		"GET /api/webhooks/{webhookId}/deliveries/{deliveryId}",
		"GET /api/workspaces",
		"GET /api/workspaces/usage",
		"GET /api/workspaces/{workspaceId}",
		"GET /api/workspaces/{workspaceId}/changes",
		"GET /api/workspaces/{workspaceId}/changes/{path}",
		"GET /auth/callback",
		"GET /auth/cli",
		"GET /auth/login",
		"GET /auth/logout",
		"PATCH /api/schedules/{scheduleId}",
		"PATCH /api/triggers/{triggerId}",
		"PATCH /api/webhooks/{webhookId}",
		"POST /api/admin/plugins/{name}/disable",
		"POST /api/admin/plugins/{name}/enable",
		"POST /api/admin/plugins/{name}/restart",
		"POST /api/admin/plugins/{name}/verify",
		"POST /api/admin/secrets/test",
		"POST /api/agents/{agentId}/disconnect",
		"POST /api/auth/agent-tokens",
		"POST /api/auth/keys",
		"POST /api/auth/keys/{keyId}/rotate",
		"POST /api/batch/execute",
		"POST /api/batch/{batchId}/cancel",
		"POST /api/data/erasures",
		"POST /api/data/export",
		"POST /api/executions/{executionId}/cancel",
		"POST /api/executions/{executionId}/questions/{questionId}/answer",
		"POST /api/executions/{executionId}/rerun",
		"POST /api/executions/{executionId}/retry",
		"POST /api/hooks/{triggerId}",
		"POST /api/managed-agents",
		"POST /api/managed-agents/{agentId}/answer",
		"POST /api/managed-agents/{agentId}/restart",
		"POST /api/managed-agents/{agentId}/send",
		"POST /api/managed-agents/{agentId}/terminal/tickets",
		"POST /api/managed-threads",
		"POST /api/managed-threads/prepare",
		"POST /api/managed-threads/{threadId}/answer",
		"POST /api/managed-threads/{threadId}/complete",
		"POST /api/managed-threads/{threadId}/continue",
		"POST /api/managed-threads/{threadId}/merge",
		"POST /api/managed-threads/{threadId}/rebase",
		"POST /api/managed-threads/{threadId}/send",
		"POST /api/managed-threads/{threadId}/shared-decisions",
		"POST /api/patterns",
		"POST /api/patterns/drawing",
		"POST /api/patterns/validate",
		"POST /api/patterns/{name}/execute",
		"POST /api/patterns/{name}/execute/stream",
		"POST /api/schedules",
		"POST /api/schedules/preview",
		"POST /api/schedules/{scheduleId}/pause",
		"POST /api/schedules/{scheduleId}/resume",
		"POST /api/schedules/{scheduleId}/run",
		"POST /api/session",
		"POST /api/triggers",
		"POST /api/triggers/{triggerId}/rotate",
		"POST /api/triggers/{triggerId}/test",
		"POST /api/webhooks",
		"POST /api/webhooks/{webhookId}/deliveries/retry",
		"POST /api/webhooks/{webhookId}/deliveries/{deliveryId}/retry",
		"POST /api/webhooks/{webhookId}/test",
		"POST /api/workspaces/prune",
		"POST /auth/cli",
		"POST /auth/cli/decide",
		"POST /auth/cli/token",
		"PUT /api/patterns/{name}",
	}
	r := newRig(t)
	table := r.server.Operations()
	slices.Sort(table)
	if !slices.Equal(table, want) {
		t.Errorf("table\n%s\nwant\n%s", strings.Join(table, "\n"), strings.Join(want, "\n"))
	}

	text, _ := json.Marshal(document(t, r))
	doc, err := apitest.Parse(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	documented := doc.Operations()
	slices.Sort(documented)
	if !slices.Equal(documented, table) {
		t.Errorf("document\n%s\ntable\n%s", strings.Join(documented, "\n"), strings.Join(table, "\n"))
	}

	// The router has each of them: an operation that is not mounted answers 404 for its route, or 405.
	for _, op := range table {
		method, path, _ := strings.Cut(op, " ")
		path = strings.NewReplacer("{", "", "}", "").Replace(path)
		p := r.do(method, path, "")
		if p.status == 405 || p.at("error", "details", "resource") == "route" {
			t.Errorf("%s is not mounted: %d %s", op, p.status, p.text)
		}
	}
}

// Every operation says what authorization is asked with, what it takes and what may go wrong.
func TestDocument(t *testing.T) {
	doc := document(t, newRig(t))
	if doc["openapi"] != "3.1.0" || doc["info"].(map[string]any)["version"] != "1.2.3" {
		t.Errorf("head of the document: %v %v", doc["openapi"], doc["info"])
	}
	ids := map[string]bool{}
	for path, item := range doc["paths"].(map[string]any) {
		for method, v := range item.(map[string]any) {
			op := v.(map[string]any)
			for _, key := range []string{"operationId", "summary", "x-action", "x-resource", "x-scope"} {
				if s, _ := op[key].(string); s == "" {
					t.Errorf("%s %s has no %s", method, path, key)
				}
			}
			if ids[op["operationId"].(string)] {
				t.Errorf("operation id %s is used twice", op["operationId"])
			}
			ids[op["operationId"].(string)] = true
			for _, status := range []string{"400", "401", "403", "429", "500", "503"} {
				if op["responses"].(map[string]any)[status] == nil {
					t.Errorf("%s %s does not document %s", method, path, status)
				}
			}
			inPath := 0
			for _, p := range op["parameters"].([]any) {
				if p.(map[string]any)["in"] == "path" {
					inPath++
				}
			}
			if inPath != strings.Count(path, "{") {
				t.Errorf("%s %s documents %d path parameters", method, path, inPath)
			}
		}
	}
	schemas := doc["components"].(map[string]any)["schemas"].(map[string]any)
	for name, s := range schemas {
		if s.(map[string]any)["additionalProperties"] != false {
			t.Errorf("schema %s lets unknown fields pass", name)
		}
		env, _ := s.(map[string]any)["properties"].(map[string]any)["env"].(map[string]any)
		if env != nil && (env["maxProperties"] != float64(core.MaxEnv) || env["propertyNames"] == nil) {
			t.Errorf("schema %s takes any environment: %v", name, env)
		}
		if env != nil && !reflect.DeepEqual(env["propertyNames"].(map[string]any)["not"], map[string]any{"pattern": wire.ReservedEnvPattern}) {
			t.Errorf("schema %s lets names pass that no agent may be given: %v", name, env)
		}
	}
}

// Error examples of the document are themselves error answers.
func TestErrorExamples(t *testing.T) {
	doc := document(t, newRig(t))
	text, _ := json.Marshal(doc)
	parsed, err := apitest.Parse(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for path, item := range doc["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			for status, v := range op.(map[string]any)["responses"].(map[string]any) {
				content, _ := v.(map[string]any)["content"].(map[string]any)
				js, _ := content["application/json"].(map[string]any)
				if js == nil || js["example"] == nil {
					continue
				}
				n++
				example, _ := json.Marshal(js["example"])
				code := map[string]int{}
				_ = json.Unmarshal([]byte(`{"s":`+status+`}`), &code)
				if err := parsed.Check(strings.ToUpper(method), path, code["s"], "application/json", example); err != nil {
					t.Errorf("%s %s %s: %v", method, path, status, err)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d examples were found", n)
	}
}

func TestRouteDeclarations(t *testing.T) {
	handle := api.Route{
		Method: "POST", Path: "/x", OperationID: "x", Summary: "s", Tag: "t",
		Action: "a.b", Resource: "a", Scope: "a:b", Responses: []api.Response{{Status: 200, Doc: "d"}},
		Stream: nil,
	}
	for _, c := range []struct {
		name   string
		change func(*api.Route)
		want   string
	}{
		{"no action", func(r *api.Route) { r.Action = "" }, "has no action"},
		{"no scope", func(r *api.Route) { r.Scope = "" }, "has no scope"},
		{"no resource", func(r *api.Route) { r.Resource = "" }, "has no resource"},
		{"no handler", func(*api.Route) {}, "needs either a handler or a stream"},
		{"no response", func(r *api.Route) { r.Responses = nil }, "declares no response"},
		{"no summary", func(r *api.Route) { r.Summary = "" }, "has no summary"},
		{"creating GET", func(r *api.Route) { r.Method, r.Creates = "GET", true }, "only a POST creates"},
		{"untyped body", func(r *api.Route) { r.Body = &api.Body{} }, "declares a body without its type"},
		{"relative path", func(r *api.Route) { r.Path = "x" }, "has no method or path"},
		{"no id", func(r *api.Route) { r.OperationID = "" }, "has no operation id"},
	} {
		route := handle
		c.change(&route)
		if err := api.CheckRoutes([]api.Route{route}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := api.CheckRoutes([]api.Route{handle, handle}); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a double route: %v", err)
	}
}

// Two parts of one resource are a mistake in the program.
func TestPartTwice(t *testing.T) {
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "the resource secrets is declared twice") {
			t.Errorf("it panicked with %s", got)
		}
	}()
	newRig(t, func(o *api.Options) { o.Parts = append(o.Parts, api.Secrets(fakeSecrets{})) })
}

// The wrapper does find what is wrong.
func TestApitestFinds(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ name, method, path, answer, want string }{
		{"an unknown field", "GET", "/api/patterns", `{"patterns":[],"total":0,"limit":1,"offset":0,"hasMore":false,"extra":1}`, "extra"},
		{"a missing field", "GET", "/api/patterns", `{"patterns":[],"total":0,"limit":1,"offset":0}`, "hasMore"},
		{"a wrong type", "GET", "/api/patterns", `{"patterns":{},"total":0,"limit":1,"offset":0,"hasMore":false}`, "array"},
		{"a bad time", "GET", "/api/patterns/a/versions", `{"versions":[{"version":"1","createdAt":"yesterday"}]}`, "createdAt"},
		{"no JSON", "GET", "/api/patterns", `{`, "no JSON"},
		{"an unknown operation", "GET", "/api/none", `{}`, "no such operation"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fake := &recordingT{TB: t}
			rt := apitest.Wrap(fake, answering(r, c.path, c.answer), "http://x")
			req := httptest.NewRequest(c.method, "http://x"+c.path, nil)
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if !strings.Contains(fake.text, c.want) {
				t.Errorf("reported %q, want %q", fake.text, c.want)
			}
		})
	}
}

// recordingT keeps the first error of a test in place of failing it.
type recordingT struct {
	testing.TB
	text string
}

func (r *recordingT) Helper() {}

func (r *recordingT) Errorf(_ string, args ...any) {
	for _, a := range args {
		if err, ok := a.(error); ok {
			r.text += err.Error()
		}
	}
}

// answering is a transport to the rig's server that answers one path by itself.
func answering(r *rig, path, body string) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		if req.URL.Path != path {
			r.server.ServeHTTP(w, req)
			return w.Result(), nil
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Service-Version", "1")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = io.WriteString(w, body)
		return w.Result(), nil
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Undocumented statuses are found too.
func TestApitestStatus(t *testing.T) {
	r := newRig(t)
	text, _ := json.Marshal(document(t, r))
	doc, err := apitest.Parse(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	body := []byte(`{"error":{"code":"` + string(core.CodeConflict) + `","message":"m","details":{}},"requestId":"r"}`)
	if err := doc.Check("GET", "/api/patterns", 409, "application/json", body); err == nil {
		t.Error("a status that the document lacks passes")
	}
	if err := doc.Check("POST", "/api/patterns", 409, "application/json", body); err != nil {
		t.Error(err)
	}
}

// TestSchemesOfTheDocument: what an operation may be asked with is declared, the cookie of sessions where there are sessions.
func TestSchemesOfTheDocument(t *testing.T) {
	for _, sessions := range []bool{false, true} {
		r := newRig(t, func(o *api.Options) {
			if !sessions {
				o.SignIn = api.SignIn{}
			}
		})
		var doc struct {
			Components struct {
				SecuritySchemes map[string]map[string]string `json:"securitySchemes"`
			} `json:"components"`
			Paths map[string]map[string]struct {
				Security []map[string][]string `json:"security"`
			} `json:"paths"`
		}
		if err := json.Unmarshal(r.server.Document(), &doc); err != nil {
			t.Fatal(err)
		}
		cookie, declared := doc.Components.SecuritySchemes["session"]
		if declared != sessions || sessions && (cookie["in"] != "cookie" || cookie["name"] != core.SessionCookie(false, "")) {
			t.Errorf("sessions %v: the scheme is %v", sessions, cookie)
		}
		offered := false
		for _, way := range doc.Paths["/api/executions"]["get"].Security {
			scopes, ok := way["session"]
			offered = offered || ok && slices.Equal(scopes, []string{core.ScopeExecutionsRead})
		}
		if offered != sessions {
			t.Errorf("sessions %v: the operation asks for %v", sessions, doc.Paths["/api/executions"]["get"].Security)
		}
	}
}
