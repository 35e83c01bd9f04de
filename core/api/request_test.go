package api_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

func TestErrors(t *testing.T) {
	secret := errors.New("pq: password of admin is hunter2")
	for _, c := range []struct {
		name   string
		err    error
		status int
		code   core.Code
		header string
	}{
		{"validation", core.Invalid("f", "is bad"), 400, core.CodeValidation, ""},
		{"unauthorized", core.Errorf(core.CodeUnauthorized, "who are you"), 401, core.CodeUnauthorized, "WWW-Authenticate"},
		{"forbidden", core.Errorf(core.CodeForbidden, "no"), 403, core.CodeForbidden, ""},
		{"not found", core.NotFound("pattern", "x"), 404, core.CodeNotFound, ""},
		{"conflict", core.Conflict("pattern", "x", "", "taken"), 409, core.CodeConflict, ""},
		{"rate limited", &core.Error{Code: core.CodeRateLimited, Message: "slow down", Details: map[string]any{"retryAfter": 7}}, 429, core.CodeRateLimited, "Retry-After"},
		{"no agents", core.Errorf(core.CodeNoAgents, "none"), 503, core.CodeNoAgents, "Retry-After"},
		{"unavailable", core.Unavailable("read_only", "the disk is full"), 503, core.CodeInternal, "Retry-After"},
		{"internal", core.Errorf(core.CodeInternal, "oops").WithCause(secret), 500, core.CodeInternal, ""},
		{"foreign", secret, 500, core.CodeInternal, ""},
		{"wrapped", fmt.Errorf("store: %w", core.NotFound("pattern", "y")), 404, core.CodeNotFound, ""},
		{"not a code of answers", core.Errorf(core.CodeAgentError, "secret text"), 500, core.CodeInternal, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t)
			// The status of a route is part of its declaration; these need one that may fail in each way.
			r.executions.retry = func(context.Context, string) (*core.Execution, error) { return nil, c.err }
			p := r.do("POST", "/api/executions/x/retry", "", "X-Request-Id: my.request-1")
			p.wants(t, c.status, c.code)
			if p.at("requestId") != "my.request-1" || p.at("error", "details") == nil {
				t.Errorf("body %s", p.text)
			}
			if c.header != "" && p.header.Get(c.header) == "" {
				t.Errorf("no header %s", c.header)
			}
			if strings.Contains(p.text, "hunter2") || strings.Contains(p.text, "secret text") || strings.Contains(p.text, "oops") {
				t.Errorf("internals in %s", p.text)
			}
			r.http.Close()
			if c.code == core.CodeInternal && strings.Count(r.log.String(), "my.request-1") != 1 {
				t.Errorf("the log has not exactly one line on it:\n%s", r.log)
			}
		})
	}
}

func TestRetryAfter(t *testing.T) {
	r := newRig(t)
	r.patterns.versions = func(string) ([]*core.Pattern, error) {
		return nil, &core.Error{Code: core.CodeRateLimited, Message: "m", Details: map[string]any{"retryAfter": 7}}
	}
	if p := r.do("GET", "/api/patterns/a/versions", ""); p.header.Get("Retry-After") != "7" {
		t.Errorf("Retry-After %q", p.header.Get("Retry-After"))
	}
}

func TestPanic(t *testing.T) {
	r := newRig(t)
	r.patterns.versions = func(string) ([]*core.Pattern, error) { panic("secret state") }
	p := r.do("GET", "/api/patterns/a/versions", "", "X-Request-Id: boom")
	p.wants(t, 500, core.CodeInternal)
	if strings.Contains(p.text, "secret") || p.at("requestId") != "boom" {
		t.Errorf("body %s", p.text)
	}
	r.http.Close()
	if log := r.log.String(); !strings.Contains(log, "secret state") || !strings.Contains(log, "request_test.go") {
		t.Errorf("the log lacks the panic or its stack:\n%s", log)
	}
}

func TestUnmatched(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{"/", "/api", "/api/", "/api/none", "/api/patterns/", "/api//patterns", "/api/patterns/a/b/c", "/API/patterns"} {
		p := r.do("GET", path+"?x=1", "")
		p.wants(t, 404, core.CodeNotFound)
		if p.at("error", "details", "resource") != "route" {
			t.Errorf("%s: %s", path, p.text)
		}
	}
	r.do("POST", "/api/patterns//execute", "{}").wants(t, 404, core.CodeNotFound)
	p := r.do("PATCH", "/api/patterns/a", "{}")
	p.wants(t, 405, core.CodeValidation)
	if p.at("error", "details", "field") != "method" || p.at("error", "details", "errors") == nil {
		t.Errorf("details %v lack field or errors", p.at("error", "details"))
	}
	allow := p.header.Get("Allow")
	for _, m := range []string{"GET", "PUT", "DELETE"} {
		if !strings.Contains(allow, m) {
			t.Errorf("Allow %q lacks %s", allow, m)
		}
	}
}

func TestHeaders(t *testing.T) {
	r := newRig(t)
	p := r.do("GET", "/api/patterns", "")
	for name, want := range map[string]string{
		"X-Service-Version": "1.2.3", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
		"Content-Type": "application/json; charset=utf-8", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
	} {
		if got := p.header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	made := p.header.Get("X-Request-Id")
	if !core.ValidID(core.PrefixRequest, made) {
		t.Errorf("request id %q", made)
	}
	for given, kept := range map[string]bool{
		"abc-1._Z": true, strings.Repeat("x", 128): true,
		strings.Repeat("x", 129): false, "a b": false, "a/b": false, "é": false, "a;b": false,
	} {
		got := r.do("GET", "/api/none", "", "X-Request-Id: "+given)
		if id := got.header.Get("X-Request-Id"); (id == given) != kept || got.at("requestId") != id {
			t.Errorf("%q: header %q, body %v", given, id, got.at("requestId"))
		}
	}
}

func TestHead(t *testing.T) {
	r := newRig(t)
	for _, path := range []string{"/api/patterns", "/api/health/live", "/api/executions/" + execID + "/stream"} {
		p := r.do("HEAD", path, "")
		if p.status != 200 || p.text != "" || p.header.Get("X-Wardroom-Head") != "" {
			t.Errorf("%s: %d %q %v", path, p.status, p.text, p.header)
		}
	}
	r.executions.find = func(id string) (*core.Execution, error) { return nil, core.NotFound("execution", id) }
	if p := r.do("HEAD", "/api/executions/x/stream", ""); p.status != 404 {
		t.Errorf("status %d", p.status)
	}
}

func TestContentType(t *testing.T) {
	r := newRig(t)
	for media, status := range map[string]int{
		"application/json":                       200,
		"Application/JSON; charset=utf-8":        200,
		"application/json; charset=\"UTF-8\"":    200,
		"application/json; charset=latin1":       415,
		"text/plain":                             415,
		"application/x-www-form-urlencoded":      415,
		"application/x-yaml":                     415,
		"multipart/form-data; boundary=x":        415,
		"nonsense;;":                             415,
		"application/json; charset=utf-8; =":     415,
		"application/vnd.something+json; q=long": 415,
		"":                                       415,
	} {
		p := r.do("POST", "/api/patterns/a/execute", "{}", "Content-Type: "+media)
		if p.status != status {
			t.Errorf("%q: %d %s, want %d", media, p.status, p.text, status)
		}
		if status == 415 && p.at("error", "code") != "VALIDATION_ERROR" {
			t.Errorf("%q: %s", media, p.text)
		}
	}
}

func TestBodyLimit(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.Config.MaxBody = 3 << 20 })
	body := func(n int) string { return `{"input":{"t":"` + strings.Repeat("x", n-18) + `"}}` + " " }
	r.do("POST", "/api/patterns/a/execute", body(3 << 20)[:3<<20]).wants(t, 200, "")
	r.do("POST", "/api/patterns/a/execute", body(3<<20)+" ").wants(t, 413, core.CodeValidation)
	// The same without a stated length.
	for n, status := range map[int]int{3 << 20: 200, 3<<20 + 2: 413} {
		req, _ := http.NewRequest("POST", r.http.URL+"/api/patterns/a/execute", struct{ *strings.Reader }{strings.NewReader(body(n)[:n])})
		req.Header.Set("Content-Type", "application/json")
		req.ContentLength = -1
		if p := r.send(req); p.status != status {
			t.Errorf("%d bytes: status %d", n, p.status)
		}
	}
	// The limit is live.
	r.server.ApplyConfig(api.Config{MaxBody: 10})
	r.do("POST", "/api/patterns/a/execute", `{"input":{"a":1}}`).wants(t, 413, core.CodeValidation)
}

func TestContentEncoding(t *testing.T) {
	r := newRig(t)
	p := r.do("POST", "/api/patterns/a/execute", "{}", "Content-Encoding: gzip")
	p.wants(t, 415, core.CodeValidation)
	if p.at("error", "details", "field") != "Content-Encoding" {
		t.Errorf("details %v", p.at("error", "details"))
	}
}

// A body that does not arrive is given up, and so is its connection.
func TestSlowBody(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.Config.BodyTimeout = 30 * time.Millisecond })
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.http.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "POST /api/patterns/a/execute HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{")
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"HTTP/1.1 408 ", `"code":"TIMEOUT"`, `"timeoutMs":30`} {
		if !strings.Contains(string(answer), want) {
			t.Errorf("%q is not in\n%s", want, answer)
		}
	}
	// A body that is there in time leaves no deadline behind for the work after it.
	r.executions.wait = func(ctx context.Context, id string) (*core.Execution, error) {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(100 * time.Millisecond):
			return someExecution(id, core.ExecutionCompleted), nil
		}
	}
	r.do("POST", "/api/patterns/a/execute", "{}").wants(t, 200, "")
}

func TestUnexpectedBody(t *testing.T) {
	r := newRig(t)
	r.do("DELETE", "/api/patterns/a", "{}").wants(t, 400, core.CodeValidation)
}

func TestOrigins(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.Config.CORSOrigins = []string{"https://console.example"} })
	host := strings.TrimPrefix(r.http.URL, "http://")
	for origin, status := range map[string]int{
		"http://" + host: 200, "https://console.example": 200,
		"https://evil.example": 403, "null": 403, "https://console.example.evil": 403,
	} {
		p := r.do("POST", "/api/patterns/a/execute", "", "Origin: "+origin)
		if p.status != status {
			t.Errorf("%s: %d %s", origin, p.status, p.text)
		}
		allowed := p.header.Get("Access-Control-Allow-Origin")
		if want := map[bool]string{true: origin}[origin == "https://console.example"]; allowed != want {
			t.Errorf("%s: Access-Control-Allow-Origin %q", origin, allowed)
		}
	}
	// What an editor names in its If-Match has to be readable there.
	read := r.do("GET", "/api/patterns/a", "", "Origin: https://console.example")
	if exposed := read.header.Get("Access-Control-Expose-Headers"); read.header.Get("ETag") == "" || !slices.Contains(strings.Split(exposed, ", "), "ETag") {
		t.Errorf("exposed are %s", exposed)
	}
	p := r.do("OPTIONS", "/api/patterns", "", "Origin: https://console.example", "Access-Control-Request-Method: POST")
	if p.status != 204 || p.header.Get("Access-Control-Allow-Origin") != "https://console.example" ||
		!strings.Contains(p.header.Get("Access-Control-Allow-Headers"), "Idempotency-Key") {
		t.Errorf("%d %v", p.status, p.header)
	}
	p = r.do("OPTIONS", "/api/patterns", "", "Origin: https://evil.example", "Access-Control-Request-Method: POST")
	if p.status != 403 || p.header.Get("Access-Control-Allow-Origin") != "" || p.at("error", "code") != "FORBIDDEN" {
		t.Errorf("%d %v", p.status, p.header)
	}
	r.do("OPTIONS", "/api/patterns", "").wants(t, 405, core.CodeValidation)
	r.server.ApplyConfig(api.Config{CORSOrigins: []string{"*"}})
	r.do("GET", "/api/patterns", "", "Origin: https://any.example").wants(t, 200, "")
}

// Over TLS a page of plain http is of another site, though its host is the same; without TLS a proxy may have had it.
func TestOriginsOfTLS(t *testing.T) {
	r := newRig(t)
	for _, tt := range []struct {
		method, target, origin string
		want                   int
	}{
		{"POST", "https://example.com/api/patterns/a/execute", "https://example.com", 200},
		{"POST", "https://example.com/api/patterns/a/execute", "http://example.com", 403},
		{"GET", "https://example.com/api/agents/connect", "http://example.com", 403},
		{"GET", "https://example.com" + magentPath + "/terminal", "http://example.com", 403},
		{"OPTIONS", "https://example.com/api/patterns", "http://example.com", 403},
		{"POST", "http://example.com/api/patterns/a/execute", "https://example.com", 200},
		{"POST", "http://example.com/api/patterns/a/execute", "http://example.com", 200},
	} {
		req := httptest.NewRequest(tt.method, tt.target, http.NoBody)
		req.Header.Set("Origin", tt.origin)
		if tt.method == "OPTIONS" {
			req.Header.Set("Access-Control-Request-Method", "POST")
		}
		w := httptest.NewRecorder()
		if r.server.ServeHTTP(w, req); w.Code != tt.want {
			t.Errorf("%s %s from %s: %d, want %d", tt.method, tt.target, tt.origin, w.Code, tt.want)
		}
	}
}

// Whoever may not gets the refusal before anything else about the request is looked at.
func TestAuthorization(t *testing.T) {
	alice := core.Principal{Kind: "apikey", ID: "alice"}
	var asked []api.Access
	r := newRig(t, func(o *api.Options) {
		o.Authenticate = func(req *http.Request) (core.Principal, error) {
			if req.Header.Get("Authorization") == "" {
				return core.Principal{}, &core.Error{Code: core.CodeUnauthorized, Message: "a credential is required",
					Details: map[string]any{"reason": "missing"}}
			}
			return alice, nil
		}
		o.Authorize = func(ctx context.Context, p core.Principal, a api.Access) error {
			if p.ID != alice.ID || core.PrincipalFrom(ctx).ID != alice.ID {
				t.Errorf("asked for %+v", p)
			}
			asked = append(asked, a)
			if a.ID == "a/b" {
				return &core.Error{Code: core.CodeForbidden, Message: "no", Details: map[string]any{"action": a.Action}}
			}
			return nil
		}
	})
	r.do("GET", "/api/patterns", "").wants(t, 401, core.CodeUnauthorized)
	r.do("GET", "/api/metrics", "").wants(t, 401, core.CodeUnauthorized)
	r.do("GET", "/api/health/live", "").wants(t, 200, "")
	r.do("GET", "/api/openapi.json", "").wants(t, 200, "")
	r.do("GET", "/api/patterns", "", "Authorization: Bearer x").wants(t, 200, "")
	p := r.do("POST", "/api/patterns/a%2Fb/execute?bad=1", "no json", "Authorization: Bearer x", "Content-Type: text/plain")
	p.wants(t, 403, core.CodeForbidden)
	want := []api.Access{
		{Action: "patterns.read", Resource: "patterns", Scope: "patterns:read"},
		{Action: "executions.create", Resource: "executions", Scope: "executions:create", ID: "a/b", Pattern: "a/b"},
	}
	if len(asked) != 2 || asked[0] != want[0] || asked[1] != want[1] {
		t.Errorf("asked %+v", asked)
	}
	r.server.ApplyConfig(api.Config{MetricsPublic: true})
	r.do("GET", "/api/metrics", "").wants(t, 200, "")
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("New made a server without services")
		}
	}()
	api.New(api.Options{})
}
