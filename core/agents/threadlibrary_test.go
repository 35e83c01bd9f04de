package agents_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// echoHost runs threads that answer each message with its own text. It counts what it was given.
type echoHost struct {
	mu    sync.Mutex // guards all below
	given map[string]int
	turns map[string]int
}

func newEchoHost() *echoHost { return &echoHost{given: map[string]int{}, turns: map[string]int{}} }

func (h *echoHost) count(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.given[what]++
}

func (h *echoHost) Spawn(ctx context.Context, t *agent.Thread) error {
	h.count("spawn " + t.Spec.ThreadID)
	if err := t.Tell(ctx, agent.ThreadEvent{Type: protocol.ThreadStarted}); err != nil {
		return err
	}
	return t.Ready(ctx)
}

func (h *echoHost) Message(ctx context.Context, t *agent.Thread, m agent.ThreadMessage) error {
	h.count("message " + m.ID)
	h.mu.Lock()
	h.turns[t.Spec.ThreadID]++
	turn := h.turns[t.Spec.ThreadID]
	h.mu.Unlock()
	for _, tell := range []func() error{
		func() error { return t.Busy(ctx, m) },
		func() error { return t.Say(ctx, m.Text) },
		func() error { return t.TurnComplete(ctx, turn, m.Text) },
		func() error { return t.Ready(ctx) },
	} {
		if err := tell(); err != nil {
			return err
		}
	}
	return nil
}

func (h *echoHost) Answer(_ context.Context, t *agent.Thread, a protocol.ThreadAnswer) error {
	h.count("answer " + a.Choice)
	return nil
}

func (h *echoHost) Stop(context.Context, *agent.Thread, protocol.ThreadStop) error { return nil }

// chopper dials connections that break after a number of bytes in either direction.
type chopper struct {
	limit func() int64 // of the next connection; nil: none
	dials atomic.Int64
	conn  atomic.Pointer[net.Conn] // the latest
}

// cut cuts the connection, if there is one.
func (c *chopper) cut() {
	if conn := c.conn.Load(); conn != nil {
		_ = (*conn).Close()
	}
}

type choppedConn struct {
	net.Conn
	left *atomic.Int64 // nil: no limit
}

func (c *chopper) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	c.dials.Add(1)
	c.conn.Store(&conn)
	out := choppedConn{Conn: conn}
	if c.limit != nil {
		out.left = &atomic.Int64{}
		out.left.Store(c.limit())
	}
	return out, nil
}

func (c choppedConn) spend(n int) {
	if c.left != nil && c.left.Add(int64(-n)) < 0 {
		_ = c.Close() // as a cable that is cut
	}
}

func (c choppedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.spend(n)
	return n, err
}

func (c choppedConn) Write(p []byte) (int, error) {
	if c.left != nil && int64(len(p)) > c.left.Load() { // the part that still gets through
		n, _ := c.Conn.Write(p[:max(0, c.left.Load())])
		c.spend(len(p))
		return n, net.ErrClosed
	}
	n, err := c.Conn.Write(p)
	c.spend(n)
	return n, err
}

// runHost starts a host of threads made with the client library, and returns what ends it.
func (r *rig) runHost(o agent.Options, c *chopper) (a *agent.Agent, end func()) {
	r.tb.Helper()
	o.URL, o.DialContext, o.Name = r.http.URL, c.dial, "edge"
	o.ReconnectMin, o.ReconnectMax = time.Millisecond, 5*time.Millisecond
	a, err := agent.New(o)
	if err != nil {
		r.tb.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := a.Run(ctx); err != nil {
			r.tb.Errorf("host: %v", err)
		}
	}()
	end = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	r.tb.Cleanup(end)
	coretest.WaitFor(r.tb, "the registration of the host", func() bool { return a.ID() != "" })
	return a, end
}

// wantEcho returns the events that the server must have got of a thread of an echoHost.
func wantEcho(messages int) []string {
	want := []string{"1 started", "2 ready"}
	seq := 3
	for i := range messages {
		text := fmt.Sprint("m", i)
		for _, e := range []string{"busy", "message " + text, "turn_complete " + text, "ready"} {
			want = append(want, fmt.Sprint(seq, " ", e))
			seq++
		}
	}
	return append(want, fmt.Sprint(seq, " stopped stopped"))
}

// fast lets tests send more than people do.
func fast() agents.Config { return agents.Config{MessagesPerSecond: 20000, ResumeGrace: time.Hour} }

func newFastThreadRig(t *testing.T) (*rig, *threadSink) {
	threads := newThreadSink()
	return startRigWith(t, fast(), newMemory(t), coretest.NewClock(), newSink(), threads), threads
}

// Connections break after any number of bytes; what the server sees of each thread is what its host told, in order
// and once, and no input is given twice.
func TestThreadsThroughBrokenConnections(t *testing.T) {
	const messages, count = 6, 3
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 7))
			r, threads := newFastThreadRig(t)
			cuts := rand.New(rand.NewPCG(seed, 8))
			host, chop := newEchoHost(), &chopper{limit: func() int64 { return 1000 + cuts.Int64N(8000) }}
			a, _ := r.runHost(agent.Options{Threads: &agent.ThreadOptions{Max: count, Types: []string{"claude"}, Host: host}}, chop)
			id := a.ID()
			for i := range count {
				r.svc.SpawnThread(id, remote(fmt.Sprint("thread_", i)))
			}
			for m := range messages {
				for i := range count {
					thread, input := fmt.Sprint("thread_", i), fmt.Sprint("in_", i, "_", m)
					if !r.svc.InputThread(id, core.RemoteInput{ThreadID: thread, InputID: input, Message: fmt.Sprint("m", m)}) {
						t.Fatal("the agent is gone")
					}
					if random.IntN(3) == 0 {
						r.svc.InputThread(id, core.RemoteInput{ThreadID: thread, InputID: input, Message: "twice"})
					}
				}
				if random.IntN(2) == 0 {
					chop.cut()
				}
			}
			done := func(n int) bool {
				for i := range count {
					if len(threads.seen(fmt.Sprint("thread_", i))) < n {
						return false
					}
				}
				return true
			}
			coretest.WaitFor(t, "all turns", func() bool { return done(2 + 4*messages) })
			for i := range count {
				r.svc.StopThread(id, fmt.Sprint("thread_", i), "done", false)
			}
			coretest.WaitFor(t, "the ends", func() bool { return done(3 + 4*messages) })
			for i := range count {
				if got := threads.seen(fmt.Sprint("thread_", i)); !slices.Equal(got, wantEcho(messages)) {
					t.Errorf("thread %d: %q", i, got)
				}
			}
			host.mu.Lock()
			defer host.mu.Unlock()
			for what, n := range host.given {
				if n != 1 {
					t.Errorf("%s came %d times", what, n)
				}
			}
			if want := count * (messages + 1); len(host.given) != want {
				t.Errorf("%d things were given, want %d", len(host.given), want)
			}
			t.Logf("%d connections", chop.dials.Load())
		})
	}
}

// A host that is killed and started anew goes on where it was: its journal knows what the server does not have.
func TestThreadsOutliveTheirHost(t *testing.T) {
	r, threads := newFastThreadRig(t)
	dir := t.TempDir()
	host := &lastingHost{echoHost: newEchoHost(), adopted: make(chan string, 10)}
	options := agent.Options{
		StateFile: filepath.Join(dir, "session.json"),
		Threads:   &agent.ThreadOptions{Max: 2, Types: []string{"claude"}, Host: host, StateDir: filepath.Join(dir, "threads")},
	}
	a, end := r.runHost(options, &chopper{})
	id := a.ID()
	r.svc.SpawnThread(id, remote("thread_1"))
	r.svc.InputThread(id, core.RemoteInput{ThreadID: "thread_1", InputID: "in_0", Message: "m0"})
	coretest.WaitFor(t, "the first turn", func() bool { return len(threads.seen("thread_1")) == 6 })
	threads.mu.Lock()
	threads.hold = true // the rest is not durable, so it stays with the host
	threads.mu.Unlock()
	r.svc.InputThread(id, core.RemoteInput{ThreadID: "thread_1", InputID: "in_1", Message: "m1"})
	coretest.WaitFor(t, "the second turn", func() bool { return len(threads.seen("thread_1")) == 10 })
	end()
	coretest.WaitFor(t, "the host to be away", func() bool { return slices.Contains(threads.told(), "away") })
	threads.mu.Lock()
	threads.hold = false
	threads.last["thread_1"], threads.events = 6, threads.events[:6] // as after a crash of the server too
	threads.mu.Unlock()

	a, _ = r.runHost(options, &chopper{})
	if a.ID() != id {
		t.Fatalf("the host came back as %s, was %s", a.ID(), id)
	}
	if mark := <-host.adopted; mark != "first" {
		t.Fatalf("adopted with mark %q", mark)
	}
	r.svc.InputThread(id, core.RemoteInput{ThreadID: "thread_1", InputID: "in_1", Message: "twice"})
	r.svc.InputThread(id, core.RemoteInput{ThreadID: "thread_1", InputID: "in_2", Message: "m2"})
	coretest.WaitFor(t, "the third turn", func() bool { return len(threads.seen("thread_1")) >= 14 })
	r.svc.StopThread(id, "thread_1", "", false)
	coretest.WaitFor(t, "the end", func() bool { return len(threads.seen("thread_1")) >= 15 })
	if got := threads.seen("thread_1"); !slices.Equal(got, wantEcho(3)) {
		t.Fatalf("seen %q", got)
	}
	if slices.Contains(threads.told(), "gone") {
		t.Fatalf("hosts %q", threads.told())
	}
	left := func() bool {
		files, err := filepath.Glob(filepath.Join(dir, "threads", "*"))
		return err == nil && len(files) == 0
	}
	coretest.WaitFor(t, "the journal to be removed", left)
}

// lastingHost is an echoHost whose threads outlive it.
type lastingHost struct {
	*echoHost
	adopted chan string
}

func (h *lastingHost) Spawn(ctx context.Context, t *agent.Thread) error {
	if err := t.Tell(ctx, agent.ThreadEvent{Type: protocol.ThreadStarted}); err != nil {
		return err
	}
	return t.Tell(ctx, agent.ThreadEvent{Type: protocol.ThreadReady, Mark: "first"})
}

func (h *lastingHost) Adopt(_ context.Context, _ *agent.Thread, mark string) { h.adopted <- mark }
