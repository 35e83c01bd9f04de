package cmd_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/appliance/cmd"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/agenttest"
	runtimeserver "github.com/wardroom/wardroom/sdk/runtime/server"
	"github.com/wardroom/wardroom/sdk/runtimetest"
)

func TestEdgeUsage(t *testing.T) {
	for _, tt := range []struct {
		want string
		args []string
	}{
		{"--root is missing", nil},
		{"--max must be at least 1", []string{"--root", "x", "--max", "0"}},
		{"--runtime: ", []string{"--root", "x", "--runtime", "ftp://h"}},
		{"certificate and its key belong together", []string{"--root", "x", "--cert", "agent.crt"}},
		{"the certificate of the agent", []string{"--root", "x", "--cert", "none.crt", "--key", "none.key"}},
		{"the authorities", []string{"--root", "x", "--ca", "none.pem"}},
		{"unexpected argument", []string{"--root", "x", "more"}},
	} {
		execute(t, "http://127.0.0.1:1", append([]string{"edge"}, tt.args...)...).expect(t, 2, tt.want)
	}
}

// runtimeServer serves a runtime in memory.
func runtimeServer(t *testing.T) string {
	t.Helper()
	world := runtimetest.NewWorld()
	t.Cleanup(world.Close)
	server, err := runtimeserver.New(runtimeserver.Options{Runtime: world.Runtime()})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(server.Handler())
	t.Cleanup(s.Close)
	return s.URL
}

// A runtime that does not answer is logged once, with what to do.
func TestEdgeWithoutRuntime(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	r := start(ctx, "http://127.0.0.1:1", cmd.Deps{}, "edge", "--root", t.TempDir(), "--runtime", "http://127.0.0.1:1")
	<-r.done
	if text := r.stderr.String(); strings.Count(text, "tells no agent types") != 1 ||
		!strings.Contains(text, "--runtime") || !strings.Contains(text, "runtime-local") {
		t.Errorf("stderr: %s", text)
	}
}

// The command offers what the runtime has, and ends in order with a signal.
func TestEdge(t *testing.T) {
	server := agenttest.NewServer(agenttest.Options{})
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := start(ctx, server.URL, cmd.Deps{}, "edge", "--root", t.TempDir(), "--name", "site-1", "--runtime", runtimeServer(t), "--max", "2")
	conn, err := server.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	offer := conn.Register.Config.Threads
	if conn.Register.Name != "site-1" || offer == nil || offer.Max != 2 || len(offer.Types) != 1 || offer.Types[0] != runtimetest.Type {
		t.Errorf("registered %+v with threads %+v", conn.Register, offer)
	}
	cancel()
	r.expect(t, 0)
}

func TestEdgeRefused(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"code":"UNAUTHORIZED","message":"no credential","details":{"reason":"missing"}},"requestId":"req_1"}`)
	})
	r := start(t.Context(), url, cmd.Deps{}, "edge", "--root", t.TempDir(), "--name", "site-1", "--types", "claude")
	coretest.WaitFor(t, "the end of the command", func() bool {
		select {
		case <-r.done:
			return true
		default:
			return false
		}
	})
	r.expect(t, 5, "refused the session", "WARDROOM_TOKEN")
}
