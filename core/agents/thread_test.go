package agents_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// threadSink records what the service tells of threads. A repeat of an event is settled and not recorded, as the
// threads do.
type threadSink struct {
	mu     sync.Mutex // guards all below
	hold   bool       // events are not settled
	held   []func()
	last   map[string]uint64 // by thread
	events []core.RemoteThreadEvent
	hosts  []string // away, back and gone, in order
}

func newThreadSink() *threadSink { return &threadSink{last: map[string]uint64{}} }

func (s *threadSink) RemoteThreadEvented(e core.RemoteThreadEvent) {
	s.mu.Lock()
	if e.Seq > s.last[e.ThreadID] {
		s.last[e.ThreadID] = e.Seq
		s.events = append(s.events, e)
	}
	hold := s.hold
	if hold {
		s.held = append(s.held, e.Settled)
	}
	s.mu.Unlock()
	if !hold {
		e.Settled()
	}
}

func (s *threadSink) RemoteInputRefused(_, thread, input string, why core.InputRefusal) {
	s.host("refused " + thread + " " + input + " " + why.Reason)
}

func (s *threadSink) RemoteInputTaken(_, thread, input string) {
	s.host("taken " + thread + " " + input)
}

func (s *threadSink) HostAway(id string) { s.host("away") }
func (s *threadSink) HostBack(id string, threads []string) {
	s.host("back " + strings.Join(threads, " "))
}
func (s *threadSink) HostGone(id string) { s.host("gone") }
func (s *threadSink) HostsChanged()      {}

func (s *threadSink) host(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts = append(s.hosts, what)
}

func (s *threadSink) told() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.hosts)
}

func (s *threadSink) all() []core.RemoteThreadEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.events)
}

// seen lists the events of a thread: sequence, type, text or reason.
func (s *threadSink) seen(threadID string) []string {
	var out []string
	for _, e := range s.all() {
		if e.ThreadID == threadID {
			kind := strings.TrimPrefix(string(e.Type), "managed_agent.")
			out = append(out, strings.TrimSpace(fmt.Sprint(e.Seq, " ", kind, " ", e.Signal.Text+e.Signal.Reason)))
		}
	}
	return out
}

func newThreadRig(t *testing.T) (*rig, *threadSink) {
	return openThreadRig(t, newMemory(t), coretest.NewClock())
}

func openThreadRig(t *testing.T, store memory, clock *coretest.Clock) (*rig, *threadSink) {
	t.Helper()
	threads := newThreadSink()
	r := startRigWith(t, agents.Config{}, store, clock, newSink(), threads)
	return r, threads
}

// host registers an agent that hosts threads.
func (r *rig) host(limit int) (*peer, protocol.Registered) {
	r.tb.Helper()
	p := r.dial()
	return p, p.register(hostRegister(limit, nil))
}

func hostRegister(limit int, resume *protocol.Resume) protocol.Register {
	return protocol.Register{
		Name: "edge", Capabilities: []string{"threads"}, Resume: resume,
		Config: protocol.RegisterConfig{Threads: &protocol.ThreadOffer{Max: limit, Types: []string{"claude", "codex"}}},
	}
}

func (r *rig) resumeHost(old protocol.Registered, threads ...string) *peer {
	r.tb.Helper()
	p := r.dial()
	got := p.register(hostRegister(3, &protocol.Resume{
		AgentID: old.AgentID, Token: old.ResumeToken, Tasks: []string{}, Threads: threads,
	}))
	if !got.Resumed {
		r.tb.Fatal("the session was not resumed")
	}
	return p
}

func (p *peer) event(thread string, seq uint64, kind string, data protocol.ThreadData) {
	p.tb.Helper()
	p.send(protocol.TypeThreadEvent, fmt.Sprint("e", seq), protocol.ThreadEvent{
		ThreadID: thread, Sequence: seq, Type: kind, Data: data,
	})
}

func (p *peer) acked(thread string, seq uint64) {
	p.tb.Helper()
	var ack protocol.ThreadAck
	p.expect(protocol.TypeThreadAck, &ack)
	if ack.ThreadID != thread || ack.Sequence != seq {
		p.tb.Fatalf("acknowledged %+v, want %s %d", ack, thread, seq)
	}
}

func (p *peer) refused(code core.Code, words string) {
	p.tb.Helper()
	var e protocol.Error
	p.expect(protocol.TypeError, &e)
	if e.Code != string(code) || e.Fatal || !strings.Contains(e.Message, words) {
		p.tb.Fatalf("got error %+v, want %s with %q", e, code, words)
	}
}

func remote(id string) core.RemoteThread {
	return core.RemoteThread{
		ThreadID: id, ExecutionID: "exec_1", Name: "n", AgentType: "claude", Role: "dev", Objective: "fix <it>",
		Workspace:    &core.WorkspaceSpec{Repo: "https://git.example/x.git", Branch: "main"},
		ContextFiles: []core.ContextFile{{Path: ".wardroom/thread-memory.md", Content: "# <memory> & more"}},
		Approval:     "standard", Env: map[string]string{"A": "b"}, SessionID: "s-1",
	}
}

func TestThreadLife(t *testing.T) {
	r, threads := newThreadRig(t)
	p, reg := r.host(3)
	coretest.WaitFor(t, "the host", func() bool { return len(r.svc.Hosts()) == 1 })
	want := core.RemoteHost{AgentID: reg.AgentID, Name: "edge", Types: []string{"claude", "codex"}, MaxThreads: 3}
	if got := r.svc.Hosts()[0]; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("host %+v", got)
	}
	if !r.svc.SpawnThread(reg.AgentID, remote("thread_1")) {
		t.Fatal("the agent is gone")
	}
	var spawn protocol.ThreadSpawn
	if e := p.expect(protocol.TypeThreadSpawn, &spawn); e.ID != "thread_1" || spawn.Workspace.Repo == "" || spawn.Env["A"] != "b" ||
		spawn.ContextFiles[0].Content != "# <memory> & more" || spawn.ApprovalPreset != "standard" || spawn.SessionID != "s-1" {
		t.Fatalf("spawn %+v", spawn)
	}
	p.send(protocol.TypeThreadStatus, "", protocol.ThreadStatus{ThreadID: "thread_1", Status: protocol.ThreadAccepted})
	p.event("thread_1", 1, protocol.ThreadStarted, protocol.ThreadData{})
	p.acked("thread_1", 1)
	p.event("thread_1", 2, protocol.ThreadReady, protocol.ThreadData{})
	p.acked("thread_1", 2)

	r.svc.InputThread(reg.AgentID, core.RemoteInput{ThreadID: "thread_1", InputID: "in_1", Message: "go"})
	var in protocol.ThreadInput
	if e := p.expect(protocol.TypeThreadInput, &in); e.ID != "in_1" || in.Message != "go" || in.Answer != nil {
		t.Fatalf("input %+v", in)
	}
	p.send(protocol.TypeThreadEvent, "", protocol.ThreadEvent{
		ThreadID: "thread_1", Sequence: 3, Type: protocol.ThreadBusy, SessionID: "s-2", InputTaken: "in_1",
	})
	p.acked("thread_1", 3)
	if e := threads.all()[2]; e.InputTaken != "in_1" || e.SessionID != "s-2" || e.AgentID != reg.AgentID ||
		e.Type != core.EventManagedBusy || e.Signal.Status != core.ManagedBusy || e.Signal.AgentID != "thread_1" {
		t.Fatalf("event %+v", e)
	}
	p.event("thread_1", 4, protocol.ThreadBlocked, protocol.ThreadData{Prompt: &protocol.ThreadPrompt{
		ID: "p1", Text: "may it?", Tool: "Bash", Options: []protocol.ThreadOption{{ID: "allow", Label: "Allow"}},
	}})
	p.acked("thread_1", 4)
	if got := string(threads.all()[3].Signal.Prompt); got !=
		`{"id":"p1","kind":"approval","text":"may it?","tool":"Bash","options":[{"id":"allow","label":"Allow"}]}` {
		t.Fatalf("prompt %s", got)
	}
	r.svc.InputThread(reg.AgentID, core.RemoteInput{ThreadID: "thread_1", PromptID: "p1", Choice: "allow"})
	in = protocol.ThreadInput{}
	p.expect(protocol.TypeThreadInput, &in)
	if in.InputID == "" || in.Answer == nil || in.Answer.PromptID != "p1" || in.Answer.Choice != "allow" {
		t.Fatalf("answer %+v", in)
	}
	r.svc.StopThread(reg.AgentID, "thread_1", "requested", true)
	var stop protocol.ThreadStop
	if p.expect(protocol.TypeThreadStop, &stop); !stop.Force || stop.Reason != "requested" {
		t.Fatalf("stop %+v", stop)
	}
	if n := r.svc.Hosts()[0].Threads; n != 1 {
		t.Fatalf("%d threads before the end", n)
	}
	p.event("thread_1", 5, protocol.ThreadStopped, protocol.ThreadData{Reason: "killed"})
	p.acked("thread_1", 5)
	if n := r.svc.Hosts()[0].Threads; n != 0 {
		t.Fatalf("%d threads after the end", n)
	}
	wantSeen := []string{"1 started", "2 ready", "3 busy", "4 blocked", "5 stopped killed"}
	if got := threads.seen("thread_1"); !slices.Equal(got, wantSeen) {
		t.Fatalf("seen %q", got)
	}
	p.event("thread_1", 6, protocol.ThreadReady, protocol.ThreadData{})
	p.refused(core.CodeNotFound, "does not host")
	p.event("thread_1", 5, protocol.ThreadStopped, protocol.ThreadData{Reason: "killed"})
	p.acked("thread_1", 5)
}

// A thread that was lost at its host is asked for anew there. The host has not heard that the end of the old one is
// durable; it must not take the new one for the old.
func TestThreadAnew(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		t.Run(fmt.Sprint("ServerRestarted=", restarted), func(t *testing.T) {
			store, clock := newMemory(t), coretest.NewClock()
			r, threads := openThreadRig(t, store, clock)
			p, reg := r.host(3)
			r.svc.SpawnThread(reg.AgentID, remote("thread_1"))
			p.expect(protocol.TypeThreadSpawn, nil)
			p.event("thread_1", 1, protocol.ThreadStarted, protocol.ThreadData{})
			p.acked("thread_1", 1)
			p.event("thread_1", 2, protocol.ThreadStopped, protocol.ThreadData{Reason: "lost"})
			coretest.WaitFor(t, "the end", func() bool { return len(threads.all()) == 2 })
			p.cut()
			if restarted {
				r.close()
				before := threads.last
				r, threads = openThreadRig(t, store, clock)
				threads.last = before
			} else {
				r.waitLost(reg.AgentID)
			}
			again := remote("thread_1")
			again.After = 1 // of the threads, whose transaction with the end is under way
			r.svc.SpawnThread(reg.AgentID, again)
			p = r.resumeHost(reg, "thread_1")
			p.event("thread_1", 2, protocol.ThreadStopped, protocol.ThreadData{Reason: "lost"})
			p.acked("thread_1", 2)
			var spawn protocol.ThreadSpawn
			p.expect(protocol.TypeThreadSpawn, &spawn)
			if want := map[bool]uint64{false: 2, true: 1}[restarted]; spawn.After != want {
				t.Errorf("events go on after %d, want %d", spawn.After, want)
			}
			p.send(protocol.TypeThreadStatus, "", protocol.ThreadStatus{ThreadID: "thread_1", Status: protocol.ThreadAccepted})
			p.event("thread_1", 3, protocol.ThreadStarted, protocol.ThreadData{})
			p.acked("thread_1", 3)
		})
	}
}

func TestThreadResume(t *testing.T) {
	r, threads := newThreadRig(t)
	p, reg := r.host(3)
	for _, id := range []string{"thread_1", "thread_2", "thread_3"} {
		r.svc.SpawnThread(reg.AgentID, remote(id))
		p.expect(protocol.TypeThreadSpawn, nil)
	}
	for _, id := range []string{"thread_1", "thread_3"} { // thread_2 is being made
		p.send(protocol.TypeThreadStatus, "", protocol.ThreadStatus{ThreadID: id, Status: protocol.ThreadAccepted})
	}
	p.event("thread_1", 1, protocol.ThreadStarted, protocol.ThreadData{})
	p.acked("thread_1", 1)
	threads.mu.Lock()
	threads.hold = true
	threads.mu.Unlock()
	p.event("thread_1", 2, protocol.ThreadReady, protocol.ThreadData{})
	p.quiet()
	p.cut()
	r.waitLost(reg.AgentID)
	coretest.WaitFor(t, "the host to be away", func() bool { return slices.Contains(threads.told(), "away") })
	for _, in := range []string{"in_1", "in_2", "in_1"} {
		if !r.svc.InputThread(reg.AgentID, core.RemoteInput{ThreadID: "thread_1", InputID: in, Message: in}) {
			t.Fatal("a lost agent counts as gone")
		}
	}
	threads.mu.Lock()
	threads.hold = false
	threads.mu.Unlock()

	p = r.resumeHost(reg, "thread_1") // it forgot thread_3
	seen := map[protocol.Type][]string{}
	for range 3 {
		e := <-p.frames
		seen[e.Type] = append(seen[e.Type], e.ID)
	}
	if fmt.Sprint(seen) != "map[thread_input:[in_1 in_2] thread_spawn:[thread_2]]" {
		t.Fatalf("after the resume came %v", seen)
	}
	coretest.WaitFor(t, "the host to be back", func() bool {
		return slices.Contains(threads.told(), "back thread_1 thread_2")
	})
	p.event("thread_1", 2, protocol.ThreadReady, protocol.ThreadData{})
	p.acked("thread_1", 2)
	for _, settle := range threads.held { // late: nothing comes of it
		settle()
	}
	p.quiet()
	p.event("thread_1", 2, protocol.ThreadReady, protocol.ThreadData{})
	p.acked("thread_1", 2)
	p.event("thread_1", 4, protocol.ThreadBusy, protocol.ThreadData{})
	p.refused(core.CodeConflict, "4 does not follow 2")
	if got := threads.seen("thread_1"); len(got) != 2 {
		t.Fatalf("seen %q", got)
	}
	p.send(protocol.TypeDisconnect, "", protocol.Disconnect{})
	coretest.WaitFor(t, "the host to be gone", func() bool { return slices.Contains(threads.told(), "gone") })
	if r.svc.SpawnThread(reg.AgentID, remote("thread_9")) || r.svc.StopThread(reg.AgentID, "thread_1", "", false) {
		t.Fatal("an agent that is gone takes threads")
	}
}

func TestThreadRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		status protocol.ThreadStatus
		want   string
	}{
		"Refused": {protocol.ThreadStatus{Status: protocol.ThreadRefused, Code: "UNKNOWN_TYPE", Message: "no claude"}, "1 stopped refused: UNKNOWN_TYPE: no claude"},
		"Unknown": {protocol.ThreadStatus{Status: protocol.ThreadUnknown}, "1 stopped lost: the host does not know the thread"},
	} {
		t.Run(name, func(t *testing.T) {
			r, threads := newThreadRig(t)
			p, reg := r.host(1)
			r.svc.SpawnThread(reg.AgentID, remote("thread_1"))
			p.expect(protocol.TypeThreadSpawn, nil)
			c.status.ThreadID = "thread_1"
			p.send(protocol.TypeThreadStatus, "", c.status)
			coretest.WaitFor(t, "the end of the thread", func() bool { return len(threads.all()) == 1 })
			if got := threads.seen("thread_1"); got[0] != c.want || threads.all()[0].Signal.Status != core.ManagedError {
				t.Fatalf("seen %q", got)
			}
			p.quiet()
			if n := r.svc.Hosts()[0].Threads; n != 0 {
				t.Fatalf("%d threads are left", n)
			}
		})
	}
	t.Run("Input", func(t *testing.T) {
		r, threads := newThreadRig(t)
		p, reg := r.host(1)
		r.svc.SpawnThread(reg.AgentID, remote("thread_1"))
		p.expect(protocol.TypeThreadSpawn, nil)
		r.svc.InputThread(reg.AgentID, core.RemoteInput{ThreadID: "thread_1", InputID: "in_1", PromptID: "p1", Choice: "allow"})
		p.expect(protocol.TypeThreadInput, nil)
		p.send(protocol.TypeThreadStatus, "", protocol.ThreadStatus{
			ThreadID: "thread_1", InputID: "in_1", Status: protocol.ThreadRefused, Code: "NO_PROMPT", Message: "no prompt is open",
		})
		coretest.WaitFor(t, "the refusal", func() bool {
			return slices.Contains(threads.told(), "refused thread_1 in_1 NO_PROMPT: no prompt is open")
		})
		if got := threads.all(); len(got) != 0 {
			t.Errorf("events of the thread: %+v", got)
		}
		r.svc.InputThread(reg.AgentID, core.RemoteInput{ThreadID: "thread_1", InputID: "in_2", Keys: []string{"ESC"}})
		p.expect(protocol.TypeThreadInput, nil)
		p.send(protocol.TypeThreadStatus, "", protocol.ThreadStatus{ThreadID: "thread_1", InputID: "in_2", Status: protocol.ThreadTaken})
		coretest.WaitFor(t, "the word that it was taken", func() bool { return slices.Contains(threads.told(), "taken thread_1 in_2") })
	})
	t.Run("TooMuchTyped", func(t *testing.T) {
		r, threads := newThreadRig(t)
		p, reg := r.host(1)
		r.svc.SpawnThread(reg.AgentID, remote("thread_1"))
		p.expect(protocol.TypeThreadSpawn, nil)
		p.cut()
		coretest.WaitFor(t, "the host to be away", func() bool { return slices.Contains(threads.told(), "away") })
		raw := strings.Repeat("x", 16<<20)
		for i := range 5 { // 64 MiB may wait
			r.svc.InputThread(reg.AgentID, core.RemoteInput{ThreadID: "thread_1", InputID: fmt.Sprint("in_", i), Raw: raw})
		}
		if got := threads.told(); !slices.Equal(got[len(got)-2:], []string{
			"refused thread_1 in_3 too much waits for the host", "refused thread_1 in_4 too much waits for the host",
		}) {
			t.Errorf("told %q", got)
		}
	})
	t.Run("TooLarge", func(t *testing.T) {
		r, threads := newThreadRig(t)
		p, reg := r.host(1)
		big := remote("thread_1")
		big.ContextFiles[0].Content = strings.Repeat("x", protocol.MaxServerFrame)
		r.svc.SpawnThread(reg.AgentID, big)
		coretest.WaitFor(t, "the end of the thread", func() bool { return len(threads.all()) == 1 })
		p.quiet()
	})
	t.Run("NoHost", func(t *testing.T) {
		r, threads := newThreadRig(t)
		p, reg := r.register("worker", 1, "echo")
		r.svc.SpawnThread(reg.AgentID, remote("thread_1"))
		coretest.WaitFor(t, "the end of the thread", func() bool { return len(threads.all()) == 1 })
		if got := threads.seen("thread_1"); got[0] != "1 stopped refused: the agent hosts no threads" {
			t.Fatalf("seen %q", got)
		}
		p.quiet()
	})
	t.Run("NoHostAnyMore", func(t *testing.T) {
		r, threads := newThreadRig(t)
		p, reg := r.host(1)
		r.svc.SpawnThread(reg.AgentID, remote("thread_1"))
		p.expect(protocol.TypeThreadSpawn, nil)
		p.event("thread_1", 1, protocol.ThreadStarted, protocol.ThreadData{})
		p.acked("thread_1", 1)
		p.cut()
		r.waitLost(reg.AgentID)
		p, _ = r.resume(reg, []string{}, "echo")
		coretest.WaitFor(t, "the end of the thread", func() bool { return len(threads.all()) == 2 })
		if got := threads.seen("thread_1"); got[1] != "2 stopped lost: the agent hosts no threads any more" {
			t.Fatalf("seen %q", got)
		}
		p.quiet()
		if len(r.svc.Hosts()) != 0 {
			t.Fatal("it is listed as a host")
		}
	})
	t.Run("StoppedBeforeSent", func(t *testing.T) {
		r, threads := newThreadRig(t)
		p, reg := r.host(1)
		p.cut()
		r.waitLost(reg.AgentID)
		r.svc.SpawnThread(reg.AgentID, remote("thread_1"))
		r.svc.StopThread(reg.AgentID, "thread_1", "requested", false)
		coretest.WaitFor(t, "the end of the thread", func() bool { return len(threads.all()) == 1 })
		if e := threads.all()[0]; e.Signal.Status != core.ManagedStopped {
			t.Fatalf("ended with %+v", e.Signal)
		}
		p = r.resumeHost(reg)
		p.quiet()
	})
}

func TestThreadBadFrames(t *testing.T) {
	r, threads := newThreadRig(t)
	p, reg := r.host(1)
	r.svc.SpawnThread(reg.AgentID, remote("thread_1"))
	p.expect(protocol.TypeThreadSpawn, nil)
	for _, c := range []struct{ kind, payload, words string }{
		{"thread_event", `{}`, "threadId: is missing"},
		{"thread_event", `{"threadId":"a\u0000b","sequence":1,"type":"ready"}`, "threadId: must be the id"},
		{"thread_event", `{"threadId":"thread_1","type":"ready"}`, "sequence: must count"},
		{"thread_event", `{"threadId":"thread_1","sequence":-1,"type":"ready"}`, "sequence: must not be"},
		{"thread_event", `{"threadId":"thread_1","sequence":1,"type":"managed_agent.ready"}`, "type: must be"},
		{"thread_event", `{"threadId":"thread_1","sequence":1,"type":"blocked"}`, "data.prompt: is missing"},
		{"thread_event", `{"threadId":"thread_1","sequence":1,"type":"question","data":{"prompt":{"text":"?"}}}`, "data.prompt.id"},
		{"thread_event", `{"threadId":"thread_1","sequence":1,"type":"question","data":{"prompt":{"id":"1","kind":"x"}}}`, "data.prompt.kind"},
		{"thread_event", `{"threadId":"thread_1","sequence":1,"type":"tool_running","data":{}}`, "data.tool"},
		{"thread_event", `{"threadId":"thread_1","sequence":1,"type":"ready","data":{"status":"happy"}}`, "data.status"},
		{"thread_event", `{"threadId":"thread_1","sequence":1,"type":"turn_complete","data":{"turn":-1}}`, "data.turn"},
		{"thread_event", `{"threadId":"thread_1","sequence":1,"type":"ready","sessionId":"` + strings.Repeat("x", 300) + `"}`, "sessionId"},
		{"thread_event", `{"threadId":"thread_1","sequence":1,"type":"ready","data":[]}`, "data: must not be"},
		{"thread_status", `{"threadId":"thread_1","status":"fine"}`, "status: must be"},
		{"thread_status", `{"threadId":"thread_1","status":"taken"}`, "inputId: is missing"},
		{"thread_status", `{"status":"accepted"}`, "threadId: is missing"},
	} {
		p.raw(`{"type":"` + c.kind + `","id":"x","payload":` + c.payload + `}`)
		p.refused(core.CodeValidation, c.words)
	}
	p.event("thread_x", 1, protocol.ThreadReady, protocol.ThreadData{})
	p.refused(core.CodeNotFound, "does not host")
	if got := threads.all(); len(got) != 0 {
		t.Fatalf("bad frames told %+v", got)
	}
	p.event("thread_1", 1, protocol.ThreadMessage, protocol.ThreadData{Text: strings.Repeat("é", 200<<10)})
	p.acked("thread_1", 1)
	if s := threads.all()[0].Signal; len(s.Text) != 256<<10 || !s.Truncated {
		t.Fatalf("a long text came as %d bytes, truncated %v", len(s.Text), s.Truncated)
	}
}

// TestThreadUnreachable has a host lose its agent for a while, and find it again: the thread goes on.
func TestThreadUnreachable(t *testing.T) {
	r, threads := newThreadRig(t)
	p, reg := r.host(1)
	r.svc.SpawnThread(reg.AgentID, remote("thread_1"))
	p.expect(protocol.TypeThreadSpawn, nil)
	p.event("thread_1", 1, protocol.ThreadReady, protocol.ThreadData{})
	p.acked("thread_1", 1)
	p.event("thread_1", 2, protocol.ThreadError, protocol.ThreadData{Status: "unreachable", Reason: "unreachable"})
	p.acked("thread_1", 2)
	p.event("thread_1", 3, protocol.ThreadReady, protocol.ThreadData{Status: "ready"})
	p.acked("thread_1", 3)
	if got := threads.all(); len(got) != 3 || got[1].Signal.Status != core.ManagedUnreachable {
		t.Errorf("told %+v", got)
	}
}

func TestThreadOfferRefused(t *testing.T) {
	r, _ := newThreadRig(t)
	for _, offer := range []protocol.ThreadOffer{
		{Types: []string{"a"}}, {Max: 1}, {Max: 1, Types: []string{"a b"}}, {Max: 100000, Types: []string{"a"}},
	} {
		p := r.dial()
		reg := hostRegister(1, nil)
		reg.Config.Threads = &offer
		p.send(protocol.TypeRegister, "1", reg)
		var e protocol.Error
		if p.expect(protocol.TypeError, &e); !strings.Contains(e.Message, "config.threads") {
			t.Errorf("offer %+v: %+v", offer, e)
		}
	}
}

// A server that was started anew knows no threads: what the agent lists counts, and repeats are told again.
func TestThreadsAfterRestart(t *testing.T) {
	store, clock := newMemory(t), coretest.NewClock()
	r, _ := openThreadRig(t, store, clock)
	away := func(when, agentType string, want bool) {
		t.Helper()
		if r.svc.HostAway(agentType) != want {
			t.Errorf("%s a host of %s is away: %t", when, agentType, !want)
		}
	}
	p, reg := r.host(2)
	r.svc.SpawnThread(reg.AgentID, remote("thread_1"))
	p.expect(protocol.TypeThreadSpawn, nil)
	p.event("thread_1", 1, protocol.ThreadStarted, protocol.ThreadData{})
	p.acked("thread_1", 1)
	away("while it is there,", "claude", false)
	r.close()

	r, threads := openThreadRig(t, store, clock)
	away("after a restart, before it came back,", "claude", true)
	if !r.svc.SpawnThread(reg.AgentID, remote("thread_1")) || !r.svc.SpawnThread(reg.AgentID, remote("thread_2")) {
		t.Fatal("an agent that may resume is gone")
	}
	p = r.resumeHost(reg, "thread_1")
	var spawn protocol.ThreadSpawn
	if p.expect(protocol.TypeThreadSpawn, &spawn); spawn.ThreadID != "thread_2" {
		t.Fatalf("spawned %s again", spawn.ThreadID)
	}
	p.event("thread_1", 5, protocol.ThreadReady, protocol.ThreadData{})
	p.acked("thread_1", 5)
	coretest.WaitFor(t, "the host to be back", func() bool {
		return slices.Contains(threads.told(), "back thread_1 thread_2")
	})
	away("once it is back,", "claude", false)
	p.cut()
	r.waitLost(reg.AgentID)
	away("while its connection is lost,", "claude", true)
	away("while its connection is lost,", "other", false)
	advance(clock, agents.DefaultConfig().ResumeGrace+1e9)
	coretest.WaitFor(t, "the host to be gone", func() bool { return slices.Contains(threads.told(), "gone") })
	away("once it is gone,", "claude", false)
}
