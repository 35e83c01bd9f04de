package edge_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent/agenttest"
	"github.com/wardroom/wardroom/sdk/agent/edge"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// site is an edge between a scripted server and a fake runtime.
type site struct {
	t      *testing.T
	ctx    context.Context
	server *agenttest.Server
	rt     *fakeRuntime
	opts   edge.Options
	conn   *agenttest.Conn
	stop   func()
}

func newSite(t *testing.T) *site {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	s := &site{t: t, ctx: ctx, server: agenttest.NewServer(agenttest.Options{MessagesPerSecond: 100000}), rt: newFakeRuntime()}
	t.Cleanup(s.server.Close)
	s.opts = edge.Options{URL: s.server.URL, Name: "site-1", Runtime: s.rt, Root: t.TempDir(), AllowFile: true, Max: 2}
	s.start()
	return s
}

// start starts the edge, as a process is started, and waits for its session.
func (s *site) start() {
	s.t.Helper()
	e, err := edge.New(s.opts)
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := e.Run(ctx); err != nil {
			s.t.Errorf("run: %v", err)
		}
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		<-ended
	})
	s.t.Cleanup(s.stop)
	s.accept()
}

func (s *site) accept() {
	s.t.Helper()
	conn, err := s.server.Accept(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	s.conn = conn
}

func (s *site) send(typ protocol.Type, payload any) {
	s.t.Helper()
	if err := s.conn.Send(typ, "", payload); err != nil {
		s.t.Fatal(err)
	}
}

func (s *site) spawn(id string, change func(*protocol.ThreadSpawn)) {
	s.t.Helper()
	p := protocol.ThreadSpawn{
		ThreadID: id, ExecutionID: "exec_1", Name: "n", AgentType: "claude", ApprovalPreset: "standard",
		Env:          map[string]string{"KEY": "secret"},
		ContextFiles: []protocol.ThreadFile{{Path: ".wardroom/thread-memory.md", Content: "remember"}},
	}
	if change != nil {
		change(&p)
	}
	s.send(protocol.TypeThreadSpawn, p)
}

func (s *site) status() protocol.ThreadStatus {
	s.t.Helper()
	var p protocol.ThreadStatus
	if _, err := s.conn.Next(s.ctx, protocol.TypeThreadStatus, &p); err != nil {
		s.t.Fatal(err)
	}
	return p
}

// next is the next event; it is acknowledged.
func (s *site) next() protocol.ThreadEvent {
	s.t.Helper()
	e := s.peek()
	s.send(protocol.TypeThreadAck, protocol.ThreadAck{ThreadID: e.ThreadID, Sequence: e.Sequence})
	return e
}

// peek is the next event, which is not acknowledged.
func (s *site) peek() protocol.ThreadEvent {
	s.t.Helper()
	var e protocol.ThreadEvent
	if _, err := s.conn.Next(s.ctx, protocol.TypeThreadEvent, &e); err != nil {
		s.t.Fatal(err)
	}
	return e
}

// want reads that many events, written as sequence, type and what they say.
func (s *site) want(want ...string) {
	s.t.Helper()
	var got []string
	for range want {
		e := s.next()
		got = append(got, strings.Join(strings.Fields(fmt.Sprint(e.Sequence, " ", e.Type, " ", e.InputTaken, " ", e.Data.Text, " ", e.Data.Reason)), " "))
	}
	if !reflect.DeepEqual(got, want) {
		s.t.Fatalf("events\n got %q\nwant %q", got, want)
	}
}

func (s *site) message(thread, id, text string) {
	s.t.Helper()
	s.send(protocol.TypeThreadInput, protocol.ThreadInput{ThreadID: thread, InputID: id, Message: text})
}

func TestLife(t *testing.T) {
	s := newSite(t)
	offer := s.conn.Register.Config.Threads
	if offer == nil || offer.Max != 2 || !reflect.DeepEqual(offer.Types, []string{"claude"}) {
		t.Fatalf("offered %+v", offer)
	}
	s.spawn("thread_1", nil)
	if st := s.status(); st.Status != protocol.ThreadAccepted {
		t.Fatalf("status %+v", st)
	}
	s.want("1 started", "2 ready")
	spec, _ := s.rt.spec("thread_1")
	raw, err := os.ReadFile(filepath.Join(spec.Workdir, ".wardroom", "thread-memory.md"))
	if err != nil || string(raw) != "remember" || spec.Env["KEY"] != "secret" || spec.Labels[edge.LabelThread] != "thread_1" {
		t.Fatalf("spec %+v, memory %q, %v", spec, raw, err)
	}
	s.message("thread_1", "in_1", "hello")
	s.message("thread_1", "in_1", "hello") // comes twice
	s.want("3 busy in_1", "4 tool_running", "5 turn_complete hello", "6 ready")
	s.send(protocol.TypeThreadInput, protocol.ThreadInput{ThreadID: "thread_1", InputID: "in_2", Keys: []string{"escape"}})
	if st := s.status(); st.Status != protocol.ThreadTaken || st.InputID != "in_2" || s.rt.keys()[0] != "[escape]" {
		t.Fatalf("status %+v, typed %q", st, s.rt.keys())
	}
	s.send(protocol.TypeThreadStop, protocol.ThreadStop{ThreadID: "thread_1"})
	e := s.next()
	if e.Type != protocol.ThreadStopped || e.Data.Reason != runtime.ReasonStopped || *e.Data.ExitCode != 143 || e.Data.Status != "stopped" ||
		e.SessionID != "session-thread_1" {
		t.Fatalf("the end was %+v", e)
	}
	s.send(protocol.TypeThreadStop, protocol.ThreadStop{ThreadID: "thread_1"})
	if st := s.status(); st.Status != protocol.ThreadUnknown {
		t.Fatalf("status %+v", st)
	}
	s.spawn("thread_1", func(p *protocol.ThreadSpawn) { p.SessionID = "session-thread_1" }) // goes on elsewhere
	if st := s.status(); st.Status != protocol.ThreadAccepted {
		t.Fatalf("status %+v", st)
	}
	s.want("8 started", "9 ready")
	if spec, _ := s.rt.spec("thread_1-2"); spec.Resume != "session-thread_1" {
		t.Fatalf("spec %+v", spec)
	}
}

func TestBlocked(t *testing.T) {
	s := newSite(t)
	s.rt.blocks = true
	s.spawn("thread_1", nil)
	s.want("1 started", "2 ready")
	s.message("thread_1", "in_1", "go")
	s.want("3 busy in_1")
	if e := s.next(); e.Type != protocol.ThreadBlocked || e.Data.Prompt == nil || e.Data.Prompt.ID != "p1" || e.Data.Status != "blocked" ||
		len(e.Data.Prompt.Options) != 1 {
		t.Fatalf("event %+v", e)
	}
	s.send(protocol.TypeThreadInput, protocol.ThreadInput{
		ThreadID: "thread_1", InputID: "in_2", Answer: &protocol.ThreadAnswer{PromptID: "p1", Choice: "allow"},
	})
	s.want("5 unblocked", "6 tool_running", "7 turn_complete answered allow", "8 ready")
	s.send(protocol.TypeThreadInput, protocol.ThreadInput{
		ThreadID: "thread_1", InputID: "in_3", Answer: &protocol.ThreadAnswer{Choice: "allow"},
	})
	accepted, taken := s.status(), s.status()
	if refused := s.status(); accepted.Status != protocol.ThreadAccepted || taken.InputID != "in_2" ||
		refused.Status != protocol.ThreadRefused || refused.Code != string(runtime.CodeNoPrompt) {
		t.Fatalf("statuses %+v %+v %+v", accepted, taken, refused)
	}
}

// Neither the loss of the connection, nor of the runtime, nor the end of the process costs an event or an input.
func TestLosses(t *testing.T) {
	s := newSite(t)
	s.spawn("thread_1", nil)
	s.want("1 started", "2 ready")
	s.peekAll("thread_1", "in_1", "one", 3, 6)
	s.server.DropAll()
	s.accept()
	if got := s.conn.Register.Resume; got == nil || !reflect.DeepEqual(got.Threads, []string{"thread_1"}) {
		t.Fatalf("resumed with %+v", got)
	}
	s.want("3 busy in_1", "4 tool_running", "5 turn_complete one", "6 ready")

	s.rt.setDown(true)
	s.message("thread_1", "in_2", "two")
	s.rt.setDown(false)
	s.want("7 busy in_2", "8 tool_running", "9 turn_complete two", "10 ready")

	s.peekAll("thread_1", "in_3", "three", 11, 14)
	s.stop()
	if err := s.conn.Ended(s.ctx); err == nil {
		t.Fatal("the connection did not end")
	}
	for _, typ := range s.conn.Types() {
		if typ == protocol.TypeDisconnect {
			t.Fatal("the session ended with the process")
		}
	}
	s.rt.mu.Lock() // meanwhile
	s.rt.finish(s.rt.agents["thread_1"], "alone")
	s.rt.mu.Unlock()
	s.start()
	if !s.conn.Registered.Resumed {
		t.Fatal("the session was not resumed")
	}
	s.want("11 busy in_3", "12 tool_running", "13 turn_complete three", "14 ready", "15 tool_running", "16 turn_complete alone", "17 ready")
	s.message("thread_1", "in_3", "three")
	s.message("thread_1", "in_4", "four")
	s.want("18 busy in_4", "19 tool_running", "20 turn_complete four", "21 ready")
	if got, want := s.rt.deliveries(), map[string]int{"in_1": 1, "in_2": 1, "in_3": 1, "in_4": 1}; !reflect.DeepEqual(got, want) {
		t.Fatalf("delivered %v", got)
	}

	s.stop()
	s.rt.mu.Lock() // the runtime loses it
	delete(s.rt.agents, "thread_1")
	s.rt.mu.Unlock()
	s.start()
	s.want("22 stopped lost")
}

// peekAll sends a message and reads the events up to a sequence without an acknowledgement.
func (s *site) peekAll(thread, id, text string, from, to uint64) {
	s.t.Helper()
	s.message(thread, id, text)
	for seq := from; seq <= to; seq++ {
		if e := s.peek(); e.Sequence != seq {
			s.t.Fatalf("event %d, want %d", e.Sequence, seq)
		}
	}
}

// The word that a message was taken and the turn that it began come over different ways. However they meet, the
// first event of the turn tells it.
func TestTakenMeetsItsTurn(t *testing.T) {
	t.Run("AnswerLost", func(t *testing.T) {
		s := newSite(t)
		s.rt.lossy = true
		s.spawn("thread_1", nil)
		s.want("1 started", "2 ready")
		s.message("thread_1", "in_1", "one")
		s.want("3 busy in_1", "4 tool_running", "5 turn_complete one", "6 ready")
		if n := s.rt.deliveries()["in_1"]; n != 1 {
			t.Fatalf("delivered %d times", n)
		}
	})
	t.Run("TurnLate", func(t *testing.T) {
		s := newSite(t)
		s.rt.late = true
		s.spawn("thread_1", nil)
		s.want("1 started", "2 ready")
		s.message("thread_1", "in_1", "one")
		s.until(func() bool { return s.rt.deliveries()["in_1"] == 1 })
		s.rt.finishLate("thread_1", "one")
		s.want("3 busy in_1", "4 tool_running", "5 turn_complete one", "6 ready")
	})
	t.Run("NoTurn", func(t *testing.T) { // an agent type that tells of none
		s := newSite(t)
		s.rt.late = true
		s.spawn("thread_1", nil)
		s.want("1 started", "2 ready")
		s.message("thread_1", "in_1", "one")
		s.want("3 ready in_1")
	})
	t.Run("TurnOfSomebodyElse", func(t *testing.T) { // who types at the terminal while the message waits
		s := newSite(t)
		s.spawn("thread_1", nil)
		s.want("1 started", "2 ready")
		s.rt.setDown(true)
		s.message("thread_1", "in_1", "one")
		s.rt.finishLate("thread_1", "typed")
		s.rt.setDown(false)
		var taken []uint64
		for range 8 {
			if e := s.next(); e.InputTaken != "" {
				taken = append(taken, e.Sequence)
			}
		}
		if len(taken) != 1 {
			t.Fatalf("events %v tell that it was taken", taken)
		}
	})
}

// until waits for a condition that has no channel to wait on.
func (s *site) until(holds func() bool) {
	s.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-s.ctx.Done():
			s.t.Fatal("it never came")
		}
	}
}

// A server that forgot the session has the agents stopped, those of a lost state directory too.
func TestServerForgets(t *testing.T) {
	s := newSite(t)
	s.spawn("thread_1", nil)
	s.want("1 started", "2 ready")
	s.server.Forget()
	s.server.DropAll()
	s.accept()
	s.untilStopped("thread_1")

	s.spawn("thread_2", nil)
	s.want("1 started", "2 ready")
	s.stop()
	s.opts.Root = t.TempDir()
	s.start()
	s.untilStopped("thread_2")
}

// busyRuntime is a fakeRuntime whose Spawn returns when it is allowed to, and whose List does not answer at once and lists
// the agents that are being spawned first.
type busyRuntime struct {
	*fakeRuntime
	spawned, release chan struct{}
	refusals         atomic.Int64 // of List, still to come
}

func (b *busyRuntime) Spawn(ctx context.Context, spec runtime.Spec) (runtime.Agent, error) {
	a, err := b.fakeRuntime.Spawn(ctx, spec)
	close(b.spawned)
	<-b.release
	return a, err
}

func (b *busyRuntime) List(ctx context.Context, filter runtime.ListFilter) ([]runtime.Agent, error) {
	<-b.spawned
	if b.refusals.Add(-1) >= 0 {
		return nil, runtime.Errorf(runtime.CodeUnavailable, "the runtime is not there")
	}
	list, err := b.fakeRuntime.List(ctx, filter)
	slices.SortFunc(list, func(x, y runtime.Agent) int { return strings.Compare(y.ID, x.ID) })
	return list, err
}

// TestOrphans checks that agents of a session that is gone are stopped, although the runtime does not answer at first, and
// that one which is being spawned meanwhile is left alone.
func TestOrphans(t *testing.T) {
	s := newSite(t)
	s.spawn("thread_1", nil)
	s.want("1 started", "2 ready")
	s.stop()
	rt := &busyRuntime{fakeRuntime: s.rt, spawned: make(chan struct{}), release: make(chan struct{})}
	rt.refusals.Store(1)
	s.opts.Root, s.opts.Runtime = t.TempDir(), rt
	s.start()
	release := sync.OnceFunc(func() { close(rt.release) })
	t.Cleanup(release)
	s.spawn("thread_2", nil)
	s.untilStopped("thread_1")
	release()
	s.want("1 started", "2 ready")
	if a, err := s.rt.Inspect(s.ctx, "thread_2"); err != nil || a.Status != runtime.StatusReady {
		t.Fatalf("the new agent is %+v, %v", a, err)
	}
}

func TestRefusedSpawns(t *testing.T) {
	s := newSite(t)
	repo := func(r, branch string) func(*protocol.ThreadSpawn) {
		return func(p *protocol.ThreadSpawn) { p.Workspace = &protocol.ThreadWorkspace{Repo: r, Branch: branch} }
	}
	file := func(path string) func(*protocol.ThreadSpawn) {
		return func(p *protocol.ThreadSpawn) { p.ContextFiles = []protocol.ThreadFile{{Path: path}} }
	}
	for i, c := range []struct {
		name, code, words string
		change            func(*protocol.ThreadSpawn)
	}{
		{"Type", "UNKNOWN_TYPE", "no agent type", func(p *protocol.ThreadSpawn) { p.AgentType = "gemini" }},
		{"Shorthand", "INVALID_SPEC", "shorthands", repo("core", "")},
		{"Option", "INVALID_SPEC", "address", repo("--upload-pack=touch /tmp/x", "")},
		{"Ext", "INVALID_SPEC", "repo", repo("ext::sh -c touch% /tmp/x", "")},
		{"Password", "INVALID_SPEC", "password", repo("https://u:p@example.com/x.git", "")},
		{"Branch", "INVALID_SPEC", "branch", repo("file:///x", "-b")},
		{"Missing", "CLONE_FAILED", "git clone failed", repo("file:///does/not/exist", "")},
		{"Traversal", "INVALID_SPEC", "contextFiles[0].path", file("../x")},
		{"Absolute", "INVALID_SPEC", "contextFiles[0].path", file("/etc/x")},
		{"Git", "INVALID_SPEC", ".git", file(".GIT/hooks/post-checkout")},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.spawn(fmt.Sprint("thread_", i), c.change)
			st := s.status()
			if st.Status != protocol.ThreadRefused || st.Code != c.code || !strings.Contains(st.Message, c.words) {
				t.Fatalf("status %+v", st)
			}
			if strings.Contains(st.Message, s.opts.Root) {
				t.Fatalf("the message tells a path: %s", st.Message)
			}
		})
	}
	s.spawn("thread_a", nil)
	s.spawn("thread_b", nil)
	if a, b := s.status(), s.status(); a.Status != protocol.ThreadAccepted || b.Status != protocol.ThreadAccepted {
		t.Fatalf("statuses %+v %+v", a, b)
	}
	s.spawn("thread_c", nil)
	if st := s.status(); st.Code != "RESOURCE_LIMIT" {
		t.Fatalf("status %+v", st)
	}
}

func TestRuntimeRefuses(t *testing.T) {
	s := newSite(t)
	s.stop()
	s.opts.Types = []string{"broken"}
	s.start()
	s.spawn("thread_1", func(p *protocol.ThreadSpawn) { p.AgentType = "broken" })
	if st := s.status(); st.Code != string(runtime.CodeCLINotFound) || st.Message != "broken is not installed; install it" {
		t.Fatalf("status %+v", st)
	}
}

// withGit has a script take the place of git.
func (s *site) withGit(script string) {
	s.t.Helper()
	s.stop()
	s.opts.Git = filepath.Join(s.t.TempDir(), "git")
	if err := os.WriteFile(s.opts.Git, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		s.t.Fatal(err)
	}
	s.start()
}

// TestCloneInTime ends a clone that takes too long, and with it what git started, which holds its output open.
func TestCloneInTime(t *testing.T) {
	s := newSite(t)
	s.opts.CloneTimeout = 100 * time.Millisecond
	s.withGit("sleep 60 &\nwait\n")
	began := time.Now()
	s.spawn("thread_1", func(p *protocol.ThreadSpawn) { p.Workspace = &protocol.ThreadWorkspace{Repo: "https://example.com/x"} })
	if st := s.status(); st.Code != "CLONE_FAILED" || !strings.Contains(st.Message, "in time") {
		t.Errorf("status %+v", st)
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("it ended after %v: a child of git lives", took)
	}
}

// TestCloneWithMuchOutput keeps the last words of a git that writes megabytes.
func TestCloneWithMuchOutput(t *testing.T) {
	s := newSite(t)
	var log bytes.Buffer
	s.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s.withGit("head -c 4194304 /dev/zero | tr '\\0' x >&2\necho the reason >&2\nexit 128\n")
	s.spawn("thread_1", func(p *protocol.ThreadSpawn) { p.Workspace = &protocol.ThreadWorkspace{Repo: "https://example.com/x"} })
	if st := s.status(); st.Code != "CLONE_FAILED" || !strings.HasSuffix(st.Message, "the reason") {
		t.Errorf("status %+v", st)
	}
	s.stop()
	if !strings.Contains(log.String(), "the reason") || log.Len() > 100<<10 {
		t.Errorf("a log of %d bytes", log.Len())
	}
}

func TestClone(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	origin := filepath.Join(t.TempDir(), "origin")
	git := func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.MkdirAll(origin, 0o700); err != nil {
		t.Fatal(err)
	}
	git(origin, "init", "--quiet", "--initial-branch=main")
	// A link out of the workspace, where the context files go.
	if err := os.Symlink(t.TempDir(), filepath.Join(origin, ".wardroom")); err != nil {
		t.Fatal(err)
	}
	git(origin, "add", "-A")
	git(origin, "commit", "--quiet", "-m", "evil")
	git(origin, "checkout", "--quiet", "-b", "work")
	if err := errors.Join(os.Remove(filepath.Join(origin, ".wardroom")), os.WriteFile(filepath.Join(origin, "a.txt"), []byte("a"), 0o600)); err != nil {
		t.Fatal(err)
	}
	git(origin, "add", "-A")
	git(origin, "commit", "--quiet", "-m", "good")

	s := newSite(t)
	with := func(branch string) func(*protocol.ThreadSpawn) {
		return func(p *protocol.ThreadSpawn) {
			p.Workspace = &protocol.ThreadWorkspace{Repo: "file://" + origin, Branch: branch, WorkBranch: "wardroom/x/dev-1"}
		}
	}
	s.spawn("thread_1", with("work"))
	if st := s.status(); st.Status != protocol.ThreadAccepted {
		t.Fatalf("status %+v", st)
	}
	spec, _ := s.rt.spec("thread_1")
	if got := git(spec.Workdir, "branch", "--show-current"); got != "wardroom/x/dev-1" {
		t.Fatalf("branch %q", got)
	}
	if got := git(spec.Workdir, "status", "--porcelain"); got != "" {
		t.Fatalf("the clone is not clean: %q", got)
	}
	// An agent has a home of its own, where it does not see what the site's user is called.
	for _, key := range []string{"user.name", "user.email"} {
		if got := git(spec.Workdir, "config", "--local", "--get", key); got == "" {
			t.Errorf("the clone has no %s", key)
		}
	}
	s.spawn("thread_2", with("main"))
	if st := s.status(); st.Status != protocol.ThreadRefused {
		t.Fatalf("a link out of the workspace was followed: %+v", st)
	}
}

func TestOptions(t *testing.T) {
	good := edge.Options{URL: "http://127.0.0.1:1", Name: "n", Runtime: newFakeRuntime(), Root: t.TempDir()}
	if _, err := edge.New(good); err != nil {
		t.Fatal(err)
	}
	for words, change := range map[string]func(*edge.Options){
		"name is empty":       func(o *edge.Options) { o.Name = "" },
		"runtime is nil":      func(o *edge.Options) { o.Runtime = nil },
		"not an absolute":     func(o *edge.Options) { o.Root = "x" },
		"max is -1":           func(o *edge.Options) { o.Max = -1 },
		"clone timeout":       func(o *edge.Options) { o.CloneTimeout = -1 },
		"url is empty":        func(o *edge.Options) { o.URL = "" },
		"the scheme must be ": func(o *edge.Options) { o.URL = "ftp://x" },
	} {
		bad := good
		change(&bad)
		if _, err := edge.New(bad); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("want %q, got %v", words, err)
		}
	}
}

// TestRootInUse: a second edge on the root of one that runs would take its session.
func TestRootInUse(t *testing.T) {
	s := newSite(t)
	second, err := edge.New(s.opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Run(s.ctx); err == nil || !strings.Contains(err.Error(), "used by another process") {
		t.Errorf("run: %v", err)
	}
	s.stop()
	s.start() // the root is free again
}
