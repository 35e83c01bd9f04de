package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/client"
)

// The dialog shows what the runtime says of an agent in a container that cannot be: its code, why, and what to do.
func TestSpawnRefused(t *testing.T) {
	s, cut := containers(t)
	start := func(t *testing.T, kind string) *page {
		t.Helper()
		p := openIn(t, s.URL+"/agents?tab=managed")
		p.away(true) // refusals are errors to browsers
		p.click(button("Start one"))
		p.choose("dialog select[name=type]", kind)
		p.click(`[...document.querySelectorAll("dialog footer button")].find((b) => b.innerText === "Start" && !b.disabled)`)
		return p
	}
	refused := func(name, kind string, words ...string) {
		t.Run(name, func(t *testing.T) {
			p := start(t, kind)
			all, err := json.Marshal(append(words, name))
			if err != nil {
				t.Fatal(err)
			}
			p.until("the refusal", fmt.Sprintf(`((n) => n && %s.every((w) => n.innerText.includes(w)))(document.querySelector("dialog .notice.bad"))`, all))
			if p.holds(`/INTERNAL_ERROR|VALIDATION_ERROR/.test(document.querySelector("dialog .notice.bad").innerText)`) {
				t.Errorf("what it is stands beside a code that says less:\n%s", p.text())
			}
			p.checkAxe(t, "a refused start")
			p.shoot("refused")
		})
	}
	refused("IMAGE_NOT_FOUND", "ghost", "/lab/none:1", "manifest unknown")
	refused("NETWORK_ERROR", "far", "/lab/agent:1", "connection refused")
	cut.Store(true)
	refused("SOCKET_ERROR", "shell", "the container engine is not reached", "start the engine")
	cut.Store(false)
	p := start(t, "shell")
	p.until("the agent", `location.pathname.startsWith("/agents/magent_")`)
	refused("RESOURCE_LIMIT", "shell", "stop an agent, or raise the limit")
	list, err := s.Client.ListManagedAgents(t.Context(), client.ManagedAgentFilter{})
	if err != nil || len(list.Agents) != 1 {
		t.Errorf("beside the one that started there are %+v, %v", list, err)
	}
	for _, a := range list.Agents {
		if err := s.Client.StopManagedAgent(t.Context(), a.ID, true, 0); err != nil {
			t.Error(err)
		}
	}
}

// containers starts a server whose agents have containers of a real engine, one at a time: of the types shell, ghost, whose image
// no registry has, and far, whose registry is away. While the value that it returns is set, the engine is lost when a container
// is to be made.
func containers(t *testing.T) (*testbed.Server, *atomic.Bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	engine, err := testbed.NewEngine(ctx)
	if err != nil {
		if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
	})
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/" {
			http.Error(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`, http.StatusNotFound)
		}
	}))
	t.Cleanup(registry.Close)
	away := httptest.NewServer(http.NotFoundHandler())
	away.Close()
	host := func(of *httptest.Server) string { return strings.TrimPrefix(of.URL, "http://") }
	dir, err := os.MkdirTemp("", "spawn") // sockets have short names
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	cut := new(atomic.Bool)
	socket := fragile(t, filepath.Join(dir, "engine.sock"), engine.Socket, cut)
	if err := testbed.BuildPlugin(ctx, shared.binary, "runtime-docker"); err != nil {
		t.Fatal(err)
	}
	runtimes, err := testbed.Runtimes(shared.binary, map[string]string{"docker": fmt.Sprintf(
		`, config: {socket: %q, image: %s, images: {ghost: "%s/lab/none:1", far: "%s/lab/agent:1"}, pull: if-missing, maxAgents: 1}`,
		socket, testbed.EngineImage, host(registry), host(away))})
	if err != nil {
		t.Fatal(err)
	}
	const kind = `{command: sh, env: {PS1: "ready> "}, ready: {pattern: "^ready> $"}}`
	s, err := testbed.NewServer(shared.binary, dir, fmt.Sprintf("server: {listen: $LISTEN}\nstore: {path: $DIR/store, minFree: 64MiB}\nagentTypes: {shell: %s, ghost: %s, far: %s}\n", kind, kind, kind)+runtimes)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	runtimeReady(ctx, t, s.Client)
	return s, cut
}

// fragile leads from a socket to an engine's, and ends a connection on which a container is to be made while cut is set.
func fragile(t *testing.T, at, engine string, cut *atomic.Bool) string {
	t.Helper()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", engine)
	}}
	pass := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = "http", "engine"
	}}
	proxy := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if cut.Load() && strings.HasSuffix(r.URL.Path, "/containers/create") {
			panic(http.ErrAbortHandler)
		}
		pass.ServeHTTP(w, r)
	}))
	listener, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	_ = proxy.Listener.Close()
	proxy.Listener = listener
	proxy.Start()
	t.Cleanup(func() {
		proxy.CloseClientConnections()
		proxy.Close()
		transport.CloseIdleConnections()
	})
	return at
}
