package kubernetes_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/wardroom/wardroom/plugins/runtime-kubernetes/kubernetes"
	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// cut says how a way to the API server breaks.
type cut struct {
	at    string // the call at which it does, as counted has it; empty: none
	done  bool   // the server does what is asked for all the same, and its answer is lost
	hangs bool   // calls are held from there on, as those of a process that was killed; else they are cut
	once  bool   // only that call is cut
	after bool   // of an exec: what its command writes first gets through, and what is written to it then is lost
}

// cutter is a way to the API server that breaks at one call.
type cutter struct {
	kubeconfig string

	mu     sync.Mutex // guards what follows
	cut    cut
	calls  []string      // that counted
	broken chan struct{} // closed at the call of the cut
	mended chan struct{} // closed when calls go through again
	live   context.Context
	sever  func() // ends live, and what goes through with it
}

// cutter makes a way to the API server.
func (c *cluster) cutter(t testing.TB) *cutter {
	t.Helper()
	tls, err := rest.TLSConfigFor(c.config)
	if err != nil {
		t.Fatal(err)
	}
	to, err := url.Parse(c.config.Host)
	if err != nil {
		t.Fatal(err)
	}
	k := &cutter{broken: make(chan struct{}), mended: make(chan struct{})}
	k.live, k.sever = context.WithCancel(context.Background())
	transport := &http.Transport{TLSClientConfig: tls} // of HTTP/1.1, as what takes connections over needs
	proxy := &httputil.ReverseProxy{
		Transport: transport, FlushInterval: -1,
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: k.answer,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	ctx, end := context.WithCancel(context.Background())
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		k.mu.Lock()
		live := k.live
		k.mu.Unlock()
		defer context.AfterFunc(live, cancel)()
		k.serve(proxy, w, r.WithContext(inner))
	}))
	t.Cleanup(func() {
		k.mend()
		end()
		server.CloseClientConnections()
		server.Close()
		transport.CloseIdleConnections()
	})
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: server.URL}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c"}
	config.CurrentContext = "c"
	k.kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, k.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return k
}

// arm counts anew, and has the way break. It returns what is closed at that call.
func (k *cutter) arm(how cut) <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut, k.calls, k.broken, k.mended = how, nil, make(chan struct{}), make(chan struct{})
	return k.broken
}

// armAndSever arms, and cuts all that goes through at the moment.
func (k *cutter) armAndSever(how cut) {
	k.arm(how)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sever()
	k.live, k.sever = context.WithCancel(context.Background())
}

// mend lets calls through again. Those that were held end without an answer.
func (k *cutter) mend() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cut = cut{}
	close(k.mended)
	k.mended = make(chan struct{})
}

// counted returns the calls since arm.
func (k *cutter) counted() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.calls
}

// lost marks a call whose answer is lost.
type lost struct{}

// lookCall is the call that looks at one pod: as often as it takes, so that it is not counted.
const lookCall = "GET-pod"

// callOf names a call by what it does to which resource, or by what an exec runs. Those have no name that look at the cluster all the
// time, or as often as it takes.
func callOf(r *http.Request) string {
	parts := strings.Split(r.URL.Path, "/namespaces/")
	if len(parts) < 2 {
		return "" // what an account may do
	}
	parts = strings.Split(parts[1], "/")[1:]
	if command := r.URL.Query()["command"]; len(command) > 1 {
		return command[1]
	}
	if parts[0] == "pods" && r.Method == http.MethodGet {
		if len(parts) == 2 {
			return lookCall
		}
		return ""
	}
	return r.Method + "-" + parts[0]
}

// judge counts a call and reports what is to be done with it.
func (k *cutter) judge(r *http.Request) (break_, answerLost bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.broken:
		return k.cut.at != "" && !k.cut.once, false
	default:
	}
	call := callOf(r)
	if call == "" || call == lookCall && k.cut.at != lookCall {
		return false, false
	}
	k.calls = append(k.calls, call)
	if call != k.cut.at {
		return false, false
	}
	if k.cut.done || k.cut.after {
		return false, true
	}
	close(k.broken)
	return true, false
}

func (k *cutter) serve(proxy http.Handler, w http.ResponseWriter, r *http.Request) {
	breaks, answer := k.judge(r)
	switch {
	case breaks:
		k.hold()
		panic(http.ErrAbortHandler)
	case answer:
		r = r.WithContext(context.WithValue(r.Context(), lost{}, true))
	}
	proxy.ServeHTTP(w, r)
}

// hold holds a call where calls are held.
func (k *cutter) hold() {
	k.mu.Lock()
	hangs, mended := k.cut.hangs, k.mended
	k.mu.Unlock()
	if hangs {
		<-mended
	}
}

// lose notes that an answer is lost, and holds the call.
func (k *cutter) lose() {
	k.mu.Lock()
	close(k.broken)
	k.mu.Unlock()
	k.hold()
}

// answer loses the answer of a call that is marked: that of an exec once the command over there has written something.
func (k *cutter) answer(r *http.Response) error {
	if r.Request.Context().Value(lost{}) == nil {
		return nil
	}
	if stream, ok := r.Body.(io.ReadWriteCloser); ok && r.StatusCode == http.StatusSwitchingProtocols {
		k.mu.Lock()
		after := k.cut.after
		k.mu.Unlock()
		r.Body = &cutStream{ReadWriteCloser: stream, in: bufio.NewReader(stream), lose: k.lose, after: after}
		return nil
	}
	k.lose()
	return http.ErrAbortHandler
}

// cutStream is what an exec answers, until its command writes.
type cutStream struct {
	io.ReadWriteCloser
	in    *bufio.Reader
	frame []byte // what of it was not read
	lose  func()
	after bool        // what its command writes gets through
	heard atomic.Bool // it has written, and what is written to it is lost
}

// Write implements io.Writer.
func (c *cutStream) Write(p []byte) (int, error) {
	if c.heard.CompareAndSwap(true, false) {
		c.lose()
		_ = c.Close()
		return 0, io.ErrClosedPipe
	}
	return c.ReadWriteCloser.Write(p)
}

// Read implements io.Reader. It reads frames of a WebSocket, whose first byte of data is the channel: 1 is standard output.
func (c *cutStream) Read(p []byte) (int, error) {
	if len(c.frame) == 0 {
		head, err := c.in.Peek(2)
		if err != nil {
			return 0, err
		}
		size, length := 2, int(head[1])
		if length == 126 {
			size = 4
			if head, err = c.in.Peek(size); err != nil {
				return 0, err
			}
			length = int(binary.BigEndian.Uint16(head[2:]))
		}
		c.frame = make([]byte, size+length)
		if _, err := io.ReadFull(c.in, c.frame); err != nil {
			return 0, err
		}
		if c.frame[0]&0xf == 2 && length > 1 && c.frame[size] == 1 {
			if !c.after {
				c.lose()
				return 0, io.ErrUnexpectedEOF
			}
			c.heard.Store(true)
		}
	}
	n := copy(p, c.frame)
	c.frame = c.frame[n:]
	return n, nil
}

// begin prepares and launches an agent.
func begin(ctx context.Context, l *kubernetes.Launcher, spec *runtime.Spec) (p agentcli.Process, prepared bool, err error) {
	room, err := l.Prepare(ctx, spec)
	if err != nil {
		return nil, false, err
	}
	sh, err := room.LookPath("sh")
	if err != nil {
		return nil, true, err
	}
	p, err = l.Launch(ctx, agentcli.Command{
		Spec: spec, Room: room, Path: sh, Env: room.Env, Cols: 80, Rows: 24,
		Files: []agentcli.File{{Path: room.Home + "/file", Data: []byte("x")}},
	})
	return p, true, err
}

// eachCall runs a test for each call that a start takes, at the same time: lost before it gets to the server, and done without an
// answer.
func (c *cluster) eachCall(t *testing.T, test func(t *testing.T, k *cutter, how cut)) {
	t.Helper()
	ctx, spec := within(t), shell(id(t))
	k := c.cutter(t)
	l := c.open(t, t.TempDir(), map[string]any{"kubeconfig": k.kubeconfig})
	p, _, err := begin(ctx, l, &spec)
	if err != nil {
		t.Fatal(err)
	}
	calls := k.counted()
	if err := errors.Join(p.Kill(ctx), p.Close(), l.Remove(ctx, spec.ID), l.Close()); err != nil {
		t.Fatal(err)
	}
	for _, call := range calls {
		for name, done := range map[string]bool{"Lost": false, "Done": true} {
			t.Run(call+"-"+name, func(t *testing.T) {
				t.Parallel()
				test(t, c.cutter(t), cut{at: call, done: done})
			})
		}
	}
}

// TestKilledAtEachCall ends a runtime at each call within a start: the next one finds the agent running, or gone for good, and
// nothing of it is left once it is removed.
func TestKilledAtEachCall(t *testing.T) {
	t.Parallel()
	c := need(t)
	c.eachCall(t, func(t *testing.T, k *cutter, how cut) {
		ctx, state, spec := within(t), t.TempDir(), shell(id(t))
		how.hangs = true
		broken := k.arm(how)
		l := c.open(t, state, map[string]any{"kubeconfig": k.kubeconfig})
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if p, _, err := begin(ctx, l, &spec); err == nil {
				_ = p.Close()
			}
		}()
		select {
		case <-broken:
		case <-ended:
			t.Errorf("the start has ended before that call, by %q", k.counted())
		}
		next := c.open(t, state, map[string]any{"orphanGrace": "1s"})
		handle, err := next.Latest(ctx, spec.ID, time.Time{})
		if err == nil {
			var p agentcli.Process
			if p, err = next.Find(ctx, handle); err == nil {
				err = errors.Join(p.Kill(ctx), p.Close())
			}
		}
		if err != nil && !errors.Is(err, agentcli.ErrGone) {
			t.Errorf("find: %v", err)
		}
		if err := next.Remove(ctx, spec.ID); err != nil {
			t.Errorf("remove: %v", err)
		}
		until(ctx, t, "no pod", func() bool { return len(c.pods(ctx, t, spec.ID)) == 0 })
		k.mend()
		<-ended
	})
}

// TestServerLostAtEachCall takes the API server away at each call within a start, until the start has failed: the error says so, and no
// agent runs that is not known, whether or not it is asked for again.
func TestServerLostAtEachCall(t *testing.T) {
	t.Parallel()
	c := need(t)
	c.eachCall(t, func(t *testing.T, k *cutter, how cut) {
		ctx, spec := within(t), shell(id(t))
		k.arm(how)
		l := c.open(t, t.TempDir(), map[string]any{"kubeconfig": k.kubeconfig})
		p, prepared, err := begin(ctx, l, &spec)
		k.mend()
		if err == nil {
			t.Fatalf("it has started, %v, by %q", p.Close(), k.counted())
		}
		if runtime.ErrorCode(err) != runtime.CodeUnavailable {
			t.Errorf("the error is %v", err)
		}
		if how.at == "start" || !prepared { // else there is a room without an agent, for the next try
			until(ctx, t, "no pod", func() bool {
				kubernetes.Sweep(l, ctx, time.Millisecond)
				return len(c.pods(ctx, t, spec.ID)) == 0
			})
		}
		if err := l.Remove(ctx, spec.ID); err != nil {
			t.Errorf("remove: %v", err)
		}
		until(ctx, t, "no pod", func() bool { return len(c.pods(ctx, t, spec.ID)) == 0 })
	})
}

// TestMadeWithoutAnswer loses the answer to the making of a pod, and nothing more: what was made is removed at once, though nothing
// but its name is known of it.
func TestMadeWithoutAnswer(t *testing.T) {
	t.Parallel()
	c := need(t)
	ctx := within(t)
	k, spec := c.cutter(t), shell(id(t))
	k.arm(cut{at: "POST-pods", done: true, once: true})
	l := c.open(t, t.TempDir(), map[string]any{"kubeconfig": k.kubeconfig})
	_, err := l.Prepare(ctx, &spec)
	wantError(t, err, runtime.CodeUnavailable, "does not answer")
	until(ctx, t, "no pod", func() bool { return len(c.pods(ctx, t, spec.ID)) == 0 })
}

// TestStartAgain starts an agent whose last start ran and was given up, as the API server was lost at its end: the next one has a pod of
// its own, and what ran in the other is gone.
func TestStartAgain(t *testing.T) {
	t.Parallel()
	c := need(t)
	ctx := within(t)
	k, spec := c.cutter(t), shell(id(t))
	k.arm(cut{at: "start", done: true})
	l := c.open(t, t.TempDir(), map[string]any{"kubeconfig": k.kubeconfig})
	_, _, err := begin(ctx, l, &spec)
	k.mend()
	wantError(t, err, runtime.CodeUnavailable, "does not answer")
	before := c.pods(ctx, t, spec.ID)
	if len(before) != 1 {
		t.Fatalf("%d pods are left", len(before))
	}
	p, _, err := begin(ctx, l, &spec)
	if err != nil {
		t.Fatal(err)
	}
	if p.Info().PodName == before[0].Name {
		t.Error("two lives are in one pod")
	}
	until(ctx, t, "the first pod to go", func() bool {
		now := c.pods(ctx, t, spec.ID)
		return len(now) == 1 && now[0].Name == p.Info().PodName
	})
	if err := errors.Join(p.Kill(ctx), p.Close(), l.Remove(ctx, spec.ID)); err != nil {
		t.Error(err)
	}
}
