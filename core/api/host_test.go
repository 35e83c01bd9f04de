package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
)

// paths fills the parameters of a route.
var paths = strings.NewReplacer("{name}", "a", "{executionId}", execID, "{batchId}", "b", "{agentId}", "c", "{threadId}", "d",
	"{id}", "e", "{version}", "1.0.0", "{webhookId}", "f", "{questionId}", "g", "{workspaceId}", "h", "{plugin}", "i", "{deliveryId}", "j")

// While there is no authentication, a request to a host that is not ours is refused on every route, stream and socket,
// before anything is looked at: the page of a name that was pointed to us is of the same origin.
func TestForeignHostsAreRefused(t *testing.T) {
	r := newRig(t)
	operations := append(r.server.Operations(), "GET /nowhere", "TRACE /api/health", "HEAD /api/health")
	if len(operations) < 80 {
		t.Fatalf("only %d operations", len(operations))
	}
	send := func(operation, host string, header http.Header) *httptest.ResponseRecorder {
		method, path, _ := strings.Cut(operation, " ")
		req := httptest.NewRequest(method, paths.Replace(path), strings.NewReader("{}")).WithContext(t.Context())
		req.Host = host
		req.Header.Set("Origin", "http://"+host)
		for key, values := range header {
			req.Header[key] = values
		}
		w := httptest.NewRecorder()
		r.server.Handler().ServeHTTP(w, req)
		return w
	}
	upgrade := http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="},
	}
	events := http.Header{"Accept": {"text/event-stream"}}
	for _, operation := range operations {
		for _, header := range []http.Header{nil, upgrade, events} {
			w := send(operation, "evil.example:8080", header)
			if w.Code != http.StatusMisdirectedRequest || !strings.HasPrefix(operation, "HEAD") && !strings.Contains(w.Body.String(), `"VALIDATION_ERROR"`) {
				t.Errorf("%s %v: %d %s", operation, header, w.Code, w.Body)
			}
		}
	}
	if w := send("OPTIONS /api/patterns", "evil.example", http.Header{"Access-Control-Request-Method": {"POST"}}); w.Code != http.StatusMisdirectedRequest {
		t.Errorf("a preflight is answered %d", w.Code)
	}
	if text := r.log.String(); !strings.Contains(text, "request refused") || !strings.Contains(text, "operation=connectAgent") {
		t.Errorf("the log does not say so: %.500s", text)
	}
}

// The document tells of it for every operation.
func TestForeignHostsInTheDocument(t *testing.T) {
	r := newRig(t)
	for path, item := range document(t, r)["paths"].(map[string]any) {
		for method, op := range item.(map[string]any) {
			responses := op.(map[string]any)["responses"].(map[string]any)
			answer, _ := responses["421"].(map[string]any)
			if text, _ := json.Marshal(answer); !strings.Contains(string(text), `"code":"VALIDATION_ERROR"`) {
				t.Errorf("%s %s: 421 is described as %s", method, path, text)
			}
		}
	}
}

// What is ours is served, in every way to write it; with authentication any host is.
func TestServedHosts(t *testing.T) {
	r := newRig(t, func(o *api.Options) { o.Config.Hosts = []string{"wardroom.example", "10.0.0.7", "fd00::7"} })
	guarded := newRig(t, func(o *api.Options) {
		o.Authenticate = func(*http.Request) (core.Principal, error) { return core.Principal{ID: "p"}, nil }
		o.Authorize = func(context.Context, core.Principal, api.Access) error { return nil }
	})
	status := func(r *rig, host string) int {
		req := httptest.NewRequest("GET", "/api/health", nil)
		req.Host = host
		w := httptest.NewRecorder()
		r.server.Handler().ServeHTTP(w, req)
		return w.Code
	}
	for _, host := range []string{
		"localhost", "LOCALHOST:80", "localhost.", "127.0.0.1:8080", "127.8.9.1", "[::1]:8080", "[::1]", "[::ffff:127.0.0.1]:1",
		"wardroom.example", "Wardroom.Example.:8443", "10.0.0.7:1", "[fd00::7]:2",
	} {
		if got := status(r, host); got != 200 {
			t.Errorf("%s: %d", host, got)
		}
	}
	for _, host := range []string{
		"", ":8080", "evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "xlocalhost", "10.0.0.8", "[fd00::8]",
		"wardroom.example.evil", "0.0.0.0", "[::]:80", "128.0.0.1", "localhost@evil.example", "evil.example#localhost",
	} {
		if got := status(r, host); got != http.StatusMisdirectedRequest {
			t.Errorf("%s: %d", host, got)
		}
		if got := status(guarded, host); got != 200 {
			t.Errorf("%s with authentication: %d", host, got)
		}
	}
}
