package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/runtime"
	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
	"github.com/wardroom/wardroom/sdk/runtimetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 10 * time.Second

// rig is a server over a world.
type rig struct {
	*httptest.Server
	world *runtimetest.World
	rt    *runtimetest.Runtime
	token string
}

func newRig(t *testing.T, o runtimeserver.Options) *rig {
	t.Helper()
	r := &rig{world: runtimetest.NewWorld(), token: o.Token}
	t.Cleanup(r.world.Close)
	r.rt = r.world.Runtime()
	if o.Runtime == nil {
		o.Runtime = r.rt
	}
	server, err := runtimeserver.New(o)
	if err != nil {
		t.Fatal(err)
	}
	r.Server = httptest.NewServer(server.Handler())
	t.Cleanup(r.Server.Close)
	return r
}

// answer is the response to a call.
type answer struct {
	status int
	header http.Header
	text   string
	body   map[string]any // of JSON
}

// field walks into the body.
func (a answer) field(path ...string) any {
	var value any = a.body
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

// call calls with headers NAME, VALUE, ... and demands JSON.
func (r *rig) call(t *testing.T, method, path, body string, header ...string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.URL+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			request.Host = header[i+1]
			continue
		}
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := answer{status: response.StatusCode, header: response.Header, text: string(data)}
	if response.StatusCode != http.StatusNoContent && method != http.MethodHead {
		if err := json.Unmarshal(data, &a.body); err != nil || response.Header.Get("Content-Type") != "application/json; charset=utf-8" {
			t.Fatalf("%s %s answers %d %s %q", method, path, response.StatusCode, response.Header.Get("Content-Type"), data)
		}
	}
	return a
}

// expect calls and checks the status.
func (r *rig) expect(t *testing.T, status int, method, path, body string, header ...string) answer {
	t.Helper()
	a := r.call(t, method, path, body, header...)
	if a.status != status {
		t.Fatalf("%s %s %s answers %d %s, want %d", method, path, body, a.status, a.text, status)
	}
	return a
}

// spawn starts an agent that is ready.
func (r *rig) spawn(t *testing.T, id string) {
	t.Helper()
	r.expect(t, http.StatusCreated, http.MethodPost, "/agents", `{"id":"`+id+`","type":"shell"}`)
	r.until(t, id, "ready", "")
}

// until waits for a status.
func (r *rig) until(t *testing.T, id, status, reason string) answer {
	t.Helper()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); ; <-ticker.C {
		a := r.expect(t, http.StatusOK, http.MethodGet, "/agents/"+id, "")
		if a.field("status") == status && (reason == "" || a.field("statusReason") == reason) {
			return a
		}
		if time.Now().After(deadline) {
			t.Fatalf("agent %s is %s", id, a.text)
		}
	}
}

// stub is a runtime that fails as a test wants.
type stub struct {
	runtime.Unimplemented
	err   error
	panic bool
}

func (s stub) Inspect(_ context.Context, id string) (runtime.Agent, error) {
	if s.panic {
		panic("inspect panics over hunter2")
	}
	return runtime.Agent{ID: id}, s.err
}
