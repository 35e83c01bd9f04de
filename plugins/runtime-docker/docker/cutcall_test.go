package docker_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/plugins/runtime-docker/docker"
	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// cutter is a way to an engine that breaks at one call.
type cutter struct {
	socket string
	calls  atomic.Int64
	at     int64         // the call at which it breaks; 0: none
	done   bool          // the engine does what is asked for all the same
	hangs  bool          // calls are held from there on, as those of a process that was killed; else they are cut
	hung   chan struct{} // closed at that call
	mended chan struct{} // closed when calls go through again
}

// cutAt makes a way to an engine that breaks at a call.
func (e *engine) cutAt(t *testing.T, at int64, done, hangs bool) *cutter {
	t.Helper()
	dir, err := os.MkdirTemp("", "cut")
	if err != nil {
		t.Fatal(err)
	}
	c := &cutter{socket: filepath.Join(dir, "s"), at: at, done: done, hangs: hangs, hung: make(chan struct{}), mended: make(chan struct{})}
	listener, err := net.Listen("unix", c.socket)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var conns []net.Conn // guarded by mu: those that were taken over, which the server does not close
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", e.socket)
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			conns = append(conns, conn)
		}
		return conn, err
	}}
	proxy := &httputil.ReverseProxy{
		Transport:     transport,
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: "engine"})
			r.Out.Host = r.In.Host
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.serve(proxy, w, r) })}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()
	t.Cleanup(func() {
		c.mend()
		_ = server.Close()
		<-served
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range conns {
			_ = conn.Close()
		}
		_ = os.RemoveAll(dir)
	})
	return c
}

func (c *cutter) serve(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
	select {
	case <-c.mended:
		proxy.ServeHTTP(w, r)
		return
	default:
	}
	select {
	case <-c.hung:
	default:
		if n := c.count(r); c.at == 0 || n != c.at {
			proxy.ServeHTTP(w, r)
			return
		}
		if c.done {
			drop(proxy, r)
		}
		close(c.hung)
	}
	if c.hangs {
		<-c.mended
	}
	panic(http.ErrAbortHandler)
}

// count counts the calls of a start, and returns 0 for those that look after the engine at the same time.
func (c *cutter) count(r *http.Request) int64 {
	switch path.Base(r.URL.Path) {
	case "_ping", "version":
		return 0
	case "json":
		if path.Base(path.Dir(r.URL.Path)) == "containers" {
			return 0
		}
	}
	return c.calls.Add(1)
}

// mend lets calls through again. Those that were held end without an answer.
func (c *cutter) mend() {
	select {
	case <-c.mended:
	default:
		close(c.mended)
	}
}

// drop has a call done, and its answer dropped. What would take the connection over is refused.
func drop(proxy http.Handler, r *http.Request) {
	defer func() { _ = recover() }()
	proxy.ServeHTTP(nowhere{http.Header{}}, r)
}

// nowhere drops an answer.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (n nowhere) WriteHeader(int)             {}

// begin prepares and launches an agent.
func begin(ctx context.Context, l *docker.Launcher, spec *runtime.Spec) (agentcli.Process, error) {
	room, err := l.Prepare(ctx, spec)
	if err != nil {
		return nil, err
	}
	return l.Launch(ctx, agentcli.Command{Spec: spec, Room: room, Path: "/bin/sh", Args: []string{"sh"}, Env: room.Env, Cols: 80, Rows: 24})
}

// calls returns how many calls of an engine a start takes.
func (e *engine) callsOfStart(t *testing.T) int64 {
	t.Helper()
	ctx, spec := within(t), shell(id(t))
	c := e.cutAt(t, 0, false, false)
	l := e.open(t, t.TempDir(), map[string]any{"socket": c.socket})
	p, err := begin(ctx, l, &spec)
	if err != nil {
		t.Fatal(err)
	}
	n := c.calls.Load()
	if err := errors.Join(p.Kill(ctx), p.Close(), l.Remove(ctx, spec.ID), l.Close()); err != nil {
		t.Fatal(err)
	}
	return n
}

// eachCall runs a test for each call of the engine that a start takes: lost before it gets there, and done without an answer.
func (e *engine) eachCall(t *testing.T, test func(t *testing.T, at int64, done bool)) {
	t.Helper()
	n := e.callsOfStart(t)
	for at := range n {
		for _, done := range []bool{false, true} {
			name := strconv.FormatInt(at+1, 10) + "Lost"
			if done {
				name = strconv.FormatInt(at+1, 10) + "Done"
			}
			t.Run(name, func(t *testing.T) { test(t, at+1, done) })
		}
	}
}

// TestKilledAtEachCall ends a runtime at each call of the engine within a start: the next one finds the agent running, or gone for
// good, and removes all of it.
func TestKilledAtEachCall(t *testing.T) {
	e := need(t)
	e.eachCall(t, func(t *testing.T, at int64, done bool) {
		ctx, state, spec := within(t), t.TempDir(), shell(id(t))
		c := e.cutAt(t, at, done, true)
		l := e.open(t, state, map[string]any{"socket": c.socket})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if p, err := begin(ctx, l, &spec); err == nil {
				_ = p.Close()
			}
		}()
		select {
		case <-c.hung:
		case <-ended:
		}
		next := e.open(t, state, nil)
		handle, err := next.Latest(ctx, spec.ID, time.Time{})
		if err == nil {
			var p agentcli.Process
			if p, err = next.Find(ctx, handle); err == nil {
				err = errors.Join(p.Kill(ctx), p.Close())
			} else if errors.Is(err, agentcli.ErrGone) {
				for _, one := range e.containers(ctx, t, spec.ID) {
					if one.State == "running" {
						t.Errorf("the agent is gone, and its container runs")
					}
				}
			}
		}
		if err != nil && !errors.Is(err, agentcli.ErrGone) {
			t.Errorf("find: %v", err)
		}
		if err := next.Remove(ctx, spec.ID); err != nil {
			t.Errorf("remove: %v", err)
		}
		if left := e.containers(ctx, t, spec.ID); len(left) > 0 {
			t.Errorf("%d containers are left, the first is %s", len(left), left[0].State)
		}
		c.mend()
		<-ended
	})
}

// TestEngineLostAtEachCall takes the engine away at each call within a start, until the start has failed: nothing of it is left when
// the engine is back, whether or not the agent is asked for again.
func TestEngineLostAtEachCall(t *testing.T) {
	e := need(t)
	e.eachCall(t, func(t *testing.T, at int64, done bool) {
		ctx, state, spec := within(t), t.TempDir(), shell(id(t))
		c := e.cutAt(t, at, done, false)
		l := e.open(t, state, map[string]any{"socket": c.socket, "orphanGrace": "1s"})
		p, err := begin(ctx, l, &spec)
		c.mend()
		if err == nil {
			_ = p.Close()
		} else {
			if runtime.ErrorCode(err) != runtime.CodeSocketError {
				t.Errorf("the error is %v", err)
			}
			until(ctx, t, "the removal of the container", func() bool { return len(e.containers(ctx, t, spec.ID)) == 0 })
			if handle, err := l.Latest(ctx, spec.ID, time.Time{}); err == nil {
				if found, err := l.Find(ctx, handle); !errors.Is(err, agentcli.ErrGone) {
					t.Errorf("found: %v, %v", found, err)
				}
			}
		}
		if err := l.Remove(ctx, spec.ID); err != nil {
			t.Errorf("remove: %v", err)
		}
	})
}
