package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/api"
	"github.com/wardroom/wardroom/core/coretest"
)

// accessLines keeps what is written, for tests that look while requests are under way.
type accessLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *accessLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *accessLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Each request has one line, with what is known of it and nothing that a client sent but the request id.
func TestAccessLog(t *testing.T) {
	var log accessLines
	r := newRig(t, func(o *api.Options) {
		o.AccessLog, o.Config.AccessLog = &log, true
		o.Authenticate = func(req *http.Request) (core.Principal, error) {
			if req.Header.Get("Authorization") == "" {
				return core.Principal{}, core.Errorf(core.CodeUnauthorized, "a credential is required")
			}
			return core.Principal{Kind: core.PrincipalAPIKey, ID: "ann", Name: "ann"}, nil
		}
	})
	const secret = "s3cret"
	for _, c := range []struct {
		name, method, path string
		header             []string
		route, operation   string
		principal, code    string
		status             int
	}{
		{"served", "GET", "/api/executions/" + execID, []string{"Authorization: Bearer " + secret, "X-Request-Id: mine"},
			"/api/executions/{executionId}", "getExecution", "ann", "", 200},
		{"refused", "GET", "/api/executions?limit=10", nil, "/api/executions", "listExecutions", "anonymous", "UNAUTHORIZED", 401},
		{"query", "GET", "/api/executions?limit=" + secret, []string{"Authorization: Bearer " + secret}, "/api/executions", "listExecutions", "ann", "VALIDATION_ERROR", 400},
		{"unmatched", "GET", "/" + secret, nil, "", "unmatched", "anonymous", "NOT_FOUND", 404},
		{"stream", "GET", "/api/executions/" + execID + "/stream", []string{"Authorization: Bearer " + secret},
			"/api/executions/{executionId}/stream", "streamExecution", "ann", "", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := len(log.String())
			reply := r.do(c.method, c.path, "", c.header...)
			coretest.WaitFor(t, "the line", func() bool { return strings.HasSuffix(log.String()[before:], "\n") })
			text := log.String()[before:]
			if strings.Count(text, "\n") != 1 || strings.Contains(text, secret) {
				t.Fatalf("%q", text)
			}
			var line map[string]any
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatal(err)
			}
			want := map[string]any{
				"log": "access", "method": c.method, "route": c.route, "operation": c.operation, "principal": c.principal,
				"status": float64(c.status), "bytes": float64(len(reply.text)), "requestId": reply.header.Get("X-Request-Id"),
			}
			if c.code != "" {
				want["code"] = c.code
			}
			for name, value := range want {
				if line[name] != value {
					t.Errorf("%s is %v, want %v", name, line[name], value)
				}
			}
			for name := range line {
				if _, ok := want[name]; !ok && !slices.Contains([]string{"time", "durationMs", "address"}, name) {
					t.Errorf("there is %s as well", name)
				}
			}
		})
	}
}

func TestAccessLogIsOff(t *testing.T) {
	var log accessLines
	r := newRig(t, func(o *api.Options) { o.AccessLog = &log })
	r.do(http.MethodGet, "/api/executions", "")
	if text := log.String(); text != "" {
		t.Errorf("%q", text)
	}
}
