package runtimes_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/runtimes"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

var ctx = context.Background()

// rig is a service over runtimes in memory.
type rig struct {
	*runtimes.Service
	tb     testing.TB
	store  memory
	clock  *coretest.Clock
	change chan struct{}
	doubt  atomic.Bool // the clock is not believed
}

func newRig(tb testing.TB, store memory, fakes map[string]*fake, with ...func(*runtimes.Options)) *rig {
	tb.Helper()
	r := &rig{tb: tb, store: store, clock: coretest.NewClock(), change: make(chan struct{}, 16)}
	var sources []runtimes.Source
	priorities := map[string]int{"local": 10, "docker": 20}
	for name, f := range fakes {
		sources = append(sources, runtimes.Source{Name: name, Priority: priorities[name], Runtime: f, Changed: r.change, Takes: f.takes})
	}
	opts := runtimes.Options{
		Store: store, Streams: store, Clock: r.clock, Installation: "inst", Sources: sources,
		Older: func(since time.Time, age time.Duration) bool {
			return !r.doubt.Load() && core.OlderBy(r.clock)(since, age)
		},
		Types: map[string]runtime.DeclaredType{"shell": {Command: "bash"}},
	}
	for _, change := range with {
		change(&opts)
	}
	r.Service = runtimes.New(opts)
	if err := r.Open(ctx); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(r.Close)
	return r
}

// ready waits until the runtimes that are up are followed.
func (r *rig) ready(names ...string) *rig {
	r.tb.Helper()
	coretest.WaitFor(r.tb, "the runtimes to be ready", func() bool {
		for _, info := range r.Runtimes(ctx) {
			if info.Ready != slices.Contains(names, info.Name) {
				r.nudge()
				return false
			}
		}
		return true
	})
	return r
}

// nudge has a runtime that is waited for tried again: the clock of the rig stands still.
func (r *rig) nudge() {
	select {
	case r.change <- struct{}{}:
	default:
	}
}

func (r *rig) spawn(spec core.ManagedAgentSpec) *core.ManagedAgent {
	r.tb.Helper()
	a, err := r.SpawnManagedAgent(ctx, spec)
	if err != nil {
		r.tb.Fatalf("spawn: %v", err)
	}
	return a
}

// until waits for a state of an agent.
func (r *rig) until(id, what string, cond func(*core.ManagedAgent) bool) *core.ManagedAgent {
	r.tb.Helper()
	var last *core.ManagedAgent
	coretest.WaitFor(r.tb, what, func() bool {
		a, err := r.FindManagedAgent(ctx, id)
		last = a
		return err == nil && cond(a)
	})
	return last
}

func wantCode(tb testing.TB, err error, code core.Code, runtimeCode runtime.Code) {
	tb.Helper()
	e := core.AsError(err)
	if err == nil || e.Code != code {
		tb.Fatalf("got %v, want %s", err, code)
	}
	if got, _ := e.Details["runtimeCode"].(string); got != string(runtimeCode) {
		tb.Fatalf("runtimeCode is %q, want %q (%v)", got, runtimeCode, err)
	}
}

func TestLife(t *testing.T) {
	f := newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude", Env: map[string]string{"TOKEN": "canary"}})
	if a.Status != core.ManagedStarting || a.Runtime != "local" || a.PID != 42 || a.Name != "claude" || a.Workdir != "/srv/code" {
		t.Fatalf("spawned: %+v", a)
	}
	if spec := f.specs[a.ID]; spec.Installation != "inst" || spec.Env["TOKEN"] != "canary" {
		t.Errorf("spec: %+v", spec)
	}
	f.tell(a.ID, runtime.EventReady, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusReady })
	r.until(a.ID, "ready", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedReady })
	f.tell(a.ID, runtime.EventBlocked, func(a *runtime.Agent, e *runtime.Event) {
		a.Status = runtime.StatusBlocked
		a.Prompt = &runtime.Prompt{ID: "p1", Kind: runtime.PromptApproval, Text: "touch x?"}
		e.Prompt = a.Prompt
	})
	r.until(a.ID, "blocked", func(a *core.ManagedAgent) bool {
		return a.Status == core.ManagedBusy && a.StatusReason == core.ReasonBlocked && a.Prompt != nil
	})
	_, err := r.AnswerManagedAgent(ctx, a.ID, core.ManagedAgentAnswer{PromptID: "p2", Choice: "allow"})
	wantCode(t, err, core.CodeConflict, runtime.CodeNoPrompt)
	if got, err := r.AnswerManagedAgent(ctx, a.ID, core.ManagedAgentAnswer{Choice: "allow"}); err != nil || got.Prompt != nil {
		t.Fatalf("answer: %+v, %v", got, err)
	}
	if err := r.StopManagedAgent(ctx, a.ID, core.ManagedAgentStop{}); err != nil {
		t.Fatal(err)
	}
	got := r.until(a.ID, "stopped", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedStopped })
	if !got.Gone() || got.StatusReason != runtime.ReasonStopped {
		t.Errorf("stopped: %+v", got)
	}
	if err := r.StopManagedAgent(ctx, a.ID, core.ManagedAgentStop{}); err != nil {
		t.Errorf("second stop: %v", err)
	}
	_, err = r.SendManagedAgent(ctx, a.ID, core.ManagedAgentInput{Message: "hi"})
	wantCode(t, err, core.CodeConflict, runtime.CodeNotRunning)
	coretest.WaitFor(t, "all events", func() bool { return len(r.store.kinds(a.ID)) == 5 })
	want := []core.EventType{
		core.EventManagedStarted, core.EventManagedReady, core.EventManagedBlocked, core.EventManagedUnblocked, core.EventManagedStopped,
	}
	if got := r.store.kinds(a.ID); !reflect.DeepEqual(got, want) {
		t.Errorf("events %v, want %v", got, want)
	}
	if again, err := r.RestartManagedAgent(ctx, a.ID, core.ManagedAgentRestart{}); err != nil || again.Gone() || again.ID != a.ID {
		t.Errorf("restart: %+v, %v", again, err)
	}
}

func TestChoice(t *testing.T) {
	local, docker := newFake("claude"), newFake("claude", "codex")
	r := newRig(t, newMemory(t), map[string]*fake{"local": local, "docker": docker}).ready("local", "docker")
	if a := r.spawn(core.ManagedAgentSpec{Type: "claude"}); a.Runtime != "local" {
		t.Errorf("claude went to %s", a.Runtime)
	}
	if a := r.spawn(core.ManagedAgentSpec{Type: "codex"}); a.Runtime != "docker" {
		t.Errorf("codex went to %s", a.Runtime)
	}
	if a := r.spawn(core.ManagedAgentSpec{Type: "shell"}); a.Runtime != "local" || local.specs[a.ID].Declared == nil {
		t.Errorf("shell: %+v", a)
	}
	if a := r.spawn(core.ManagedAgentSpec{Type: "claude", Runtime: "docker"}); a.Runtime != "docker" {
		t.Errorf("claude on docker went to %s", a.Runtime)
	}
	local.spawn = func(runtime.Spec) error { return runtime.Errorf(runtime.CodeResourceLimit, "full") }
	if a := r.spawn(core.ManagedAgentSpec{Type: "claude"}); a.Runtime != "docker" {
		t.Errorf("claude beside a full local runtime went to %s", a.Runtime)
	}
	_, err := r.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "vim"})
	wantCode(t, err, core.CodeValidation, runtime.CodeUnknownType)
	_, err = r.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "claude", Runtime: "moon"})
	wantCode(t, err, core.CodeValidation, "")
	local.setDown(true)
	docker.setDown(true)
	r.ready()
	_, err = r.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "claude"})
	if e := core.AsError(err); e.Code != core.CodeNoAgents || !e.Unavailable || e.Details["reason"] != "runtime_unavailable" {
		t.Errorf("without a runtime: %v", err)
	}
}

func TestSpawnFails(t *testing.T) {
	f := newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	for code, want := range map[runtime.Code]core.Code{
		runtime.CodeCLINotFound: core.CodeValidation, runtime.CodeAuthRequired: core.CodeConflict,
		runtime.CodeSpawnFailed: core.CodeInternal, runtime.CodeWorkdirNotAllowed: core.CodeValidation,
		runtime.CodeResourceLimit: core.CodeInternal,
	} {
		f.spawn = func(runtime.Spec) error { return runtime.Errorf(code, "no") }
		_, err := r.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "claude"})
		wantCode(t, err, want, code)
	}
	if list, info, err := r.FindManagedAgents(ctx, core.ManagedAgentFilter{}); err != nil || len(list) != 0 || info.Total != 0 {
		t.Errorf("left over: %v, %v", list, err)
	}
	for _, spec := range []core.ManagedAgentSpec{
		{}, {Type: "claude", Approval: "all"}, {Type: "claude", Env: map[string]string{"A-B": ""}}, {Type: "claude", CPU: -1},
		{Type: "claude", Env: map[string]string{"A": "\x00"}},
	} {
		_, err := r.SpawnManagedAgent(ctx, spec)
		wantCode(t, err, core.CodeValidation, "")
	}
	if all, err := r.store.AllManagedAgents(ctx); err != nil || len(all) != 0 {
		t.Errorf("stored: %v, %v", all, err)
	}
}

// TestUnsureSpawn is a runtime that dies in the middle of a spawn: whether the agent runs shows later.
func TestUnsureSpawn(t *testing.T) {
	f, store := newFake("claude"), newMemory(t)
	r := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	f.spawn = func(spec runtime.Spec) error {
		f.change(func() {
			f.agents[spec.ID] = runtime.Agent{ID: spec.ID, Type: spec.Type, Status: runtime.StatusReady, PID: 9}
		})
		f.setDown(true)
		return runtime.Errorf(runtime.CodeUnavailable, "the connection broke")
	}
	if _, err := r.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "claude"}); !core.AsError(err).Unavailable {
		t.Fatalf("got %v", err)
	}
	r.ready()
	list, _, err := r.FindManagedAgents(ctx, core.ManagedAgentFilter{})
	if err != nil || len(list) != 1 || list[0].Status != core.ManagedUnreachable || list[0].StatusReason != core.ReasonRuntimeAway {
		t.Fatalf("list: %+v, %v", list, err)
	}
	f.setDown(false)
	r.ready("local").until(list[0].ID, "adopted", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedReady && a.PID == 9 })
}

func TestRecovery(t *testing.T) {
	f, store := newFake("claude"), newMemory(t)
	first := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	kept, lost := first.spawn(core.ManagedAgentSpec{Type: "claude"}), first.spawn(core.ManagedAgentSpec{Type: "claude"})
	halfway := first.spawn(core.ManagedAgentSpec{Type: "claude"})
	first.Close()
	// While nobody looks one agent gets ready, one vanishes, and a stop that was begun was not finished.
	f.tell(kept.ID, runtime.EventReady, func(a *runtime.Agent, _ *runtime.Event) { a.Status = runtime.StatusReady })
	f.change(func() { delete(f.agents, lost.ID) })
	r := store.record(halfway.ID)
	r.Wanted = false
	store.Put(func(tx core.Tx) error { return tx.PutManagedAgent(r) })

	second := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	second.until(kept.ID, "the kept agent", func(a *core.ManagedAgent) bool { return a.Status == core.ManagedReady })
	got := second.until(lost.ID, "the lost agent", func(a *core.ManagedAgent) bool { return a.Gone() })
	if got.Status != core.ManagedError || got.StatusReason != runtime.ReasonLost {
		t.Errorf("lost: %+v", got)
	}
	second.until(halfway.ID, "the stop", func(a *core.ManagedAgent) bool { return a.Gone() && a.Status == core.ManagedStopped })
	coretest.WaitFor(t, "the event of what happened meanwhile", func() bool {
		return slices.Contains(store.kinds(kept.ID), core.EventManagedReady)
	})
	if kinds := store.kinds(kept.ID); !reflect.DeepEqual(kinds, []core.EventType{core.EventManagedStarted, core.EventManagedReady}) {
		t.Errorf("events: %v", kinds)
	}
}

// TestEventsOnce cuts the connection and the disk between events: each is stored exactly once, in order.
func TestEventsOnce(t *testing.T) {
	f, store := newFake("claude"), newMemory(t)
	r := newRig(t, store, map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	const turns = 200
	for i := range turns {
		f.tell(a.ID, runtime.EventTurnComplete, func(a *runtime.Agent, _ *runtime.Event) { a.Turn = i + 1 })
		switch i % 20 {
		case 5:
			f.setDown(true)
		case 9:
			f.setDown(false)
		case 12:
			store.Break(0, errDisk)
		case 15:
			store.Heal()
		}
	}
	r.until(a.ID, "the last turn", func(a *core.ManagedAgent) bool {
		r.nudge() // a break may be noticed at any time, the last one late
		return a.Turn == turns
	})
	coretest.WaitFor(t, "every event", func() bool { return len(store.kinds(a.ID)) >= turns+1 })
	if kinds := store.kinds(a.ID); len(kinds) != turns+1 {
		t.Errorf("%d events, want %d", len(kinds), turns+1)
	}
}

func TestEnded(t *testing.T) {
	f := newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	for _, c := range []struct {
		name   string
		code   int
		reason string
		want   core.ManagedAgentStatus
	}{
		{"exit 0", 0, runtime.ReasonExited, core.ManagedStopped},
		{"exit 3", 3, runtime.ReasonExited, core.ManagedError},
		{"at start", 1, runtime.ReasonExitedAtStart + ": no such option", core.ManagedError},
		{"lost", 0, runtime.ReasonLost, core.ManagedError},
	} {
		a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
		f.tell(a.ID, runtime.EventStopped, func(a *runtime.Agent, e *runtime.Event) {
			a.Status, a.Reason, a.ExitCode = runtime.StatusStopped, c.reason, &c.code
		})
		got := r.until(a.ID, c.name, func(a *core.ManagedAgent) bool { return a.Gone() })
		if got.Status != c.want || got.StatusReason != c.reason {
			t.Errorf("%s: %s (%s), want %s", c.name, got.Status, got.StatusReason, c.want)
		}
	}
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	f.tell(a.ID, runtime.EventLoginRequired, func(a *runtime.Agent, e *runtime.Event) {
		a.Status, a.Reason, a.LoginURL = runtime.StatusError, runtime.ReasonLoginRequired, "https://login.example"
	})
	r.until(a.ID, "the login", func(a *core.ManagedAgent) bool {
		return a.Status == core.ManagedError && a.StatusReason == runtime.ReasonLoginRequired && a.LoginURL != "" && !a.Gone()
	})
}

func TestSend(t *testing.T) {
	f := newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	for _, in := range []core.ManagedAgentInput{
		{}, {Message: "a", Raw: "b"}, {Raw: "a", ExpectResponse: true}, {Message: "a", Timeout: -1}, {Message: "a", Timeout: 25 * time.Hour},
	} {
		_, err := r.SendManagedAgent(ctx, a.ID, in)
		wantCode(t, err, core.CodeValidation, "")
	}
	f.send = func(_ string, in runtime.Input) (runtime.SendResult, error) {
		switch {
		case in.Message == "late":
			return runtime.SendResult{}, runtime.Errorf(runtime.CodeTimeout, "no turn end")
		case in.Message == "typed":
			r.clock.Advance(in.Timeout)
			fallthrough
		case in.Message == "lost":
			return runtime.SendResult{}, runtime.Errorf(runtime.CodeDeliveryUnknown, "it was typed")
		case len(in.Keys) > 0:
			return runtime.SendResult{}, &runtime.Error{Code: runtime.CodeInvalidArgument, Field: "keys[0]", Message: "unknown key"}
		}
		f.endTurn(a.ID, 1)
		return runtime.SendResult{Sent: true, Response: &runtime.Response{Text: in.Message + "!", Turn: 1, DurationMs: 5}}, nil
	}
	reply, err := r.SendManagedAgent(ctx, a.ID, core.ManagedAgentInput{Message: "hi", ExpectResponse: true})
	if err != nil || !reply.Sent || reply.Response.Text != "hi!" {
		t.Errorf("send: %+v, %v", reply, err)
	}
	_, err = r.SendManagedAgent(ctx, a.ID, core.ManagedAgentInput{Message: "late", Timeout: time.Second})
	wantCode(t, err, core.CodeTimeout, runtime.CodeTimeout)
	if core.AsError(err).Details["timeoutMs"] != int64(1000) {
		t.Errorf("details: %v", core.AsError(err).Details)
	}
	_, err = r.SendManagedAgent(ctx, a.ID, core.ManagedAgentInput{Message: "lost", Timeout: time.Second})
	wantCode(t, err, core.CodeConflict, runtime.CodeDeliveryUnknown)
	_, err = r.SendManagedAgent(ctx, a.ID, core.ManagedAgentInput{Message: "typed", Timeout: time.Second})
	wantCode(t, err, core.CodeTimeout, runtime.CodeDeliveryUnknown)
	_, err = r.SendManagedAgent(ctx, a.ID, core.ManagedAgentInput{Keys: []string{"BOGUS"}})
	wantCode(t, err, core.CodeValidation, runtime.CodeInvalidArgument)
	if core.AsError(err).Details["field"] != "keys[0]" {
		t.Errorf("details: %v", core.AsError(err).Details)
	}
	_, err = r.SendManagedAgent(ctx, "magent_none", core.ManagedAgentInput{Message: "hi"})
	wantCode(t, err, core.CodeNotFound, "")
	// A runtime that is frozen gives no answer of its own.
	f.send = func(string, runtime.Input) (runtime.SendResult, error) {
		return runtime.SendResult{}, context.DeadlineExceeded
	}
	expired, cancel := context.WithTimeout(ctx, 0)
	defer cancel()
	for in, want := range map[*core.ManagedAgentInput]runtime.Code{
		{Message: "hi"}: runtime.CodeDeliveryUnknown, {Message: "hi", Key: "k"}: runtime.CodeTimeout, {Raw: "x"}: runtime.CodeTimeout,
		{Message: "hi", Key: "ours", OwnKey: true}: runtime.CodeDeliveryUnknown,
	} {
		_, err = r.SendManagedAgent(expired, a.ID, *in)
		wantCode(t, err, core.CodeTimeout, want)
	}
}

func TestObserve(t *testing.T) {
	f := newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	if m, err := r.ManagedAgentMetrics(ctx, a.ID); err != nil || m.MemoryBytes != 7 {
		t.Errorf("metrics: %+v, %v", m, err)
	}
	logs, err := r.ManagedAgentLogs(ctx, a.ID, core.LogOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if line, err := logs.Next(); err != nil || line.Line != "hello" {
		t.Errorf("log: %+v, %v", line, err)
	}
	if _, err := logs.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("end of the log: %v", err)
	}
	if err := logs.Close(); err != nil {
		t.Error(err)
	}
}

// TestScreen looks at a terminal once: the size comes first, then the whole screen. One that never shows it is not waited for.
func TestScreen(t *testing.T) {
	f := newFake("claude")
	f.frames = []runtime.Frame{
		{Cols: 40, Rows: 6}, {Data: []byte("\x1b[2J\x1b[H\x1b]0;a title\a\x1b[31mred\x1b[0m   \r\n\r\n  two\x1b[5;3H"), Repaint: true},
	}
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	a := r.spawn(core.ManagedAgentSpec{Type: "claude"})
	got, err := r.ManagedAgentScreen(ctx, a.ID)
	want := core.ManagedAgentScreen{AgentID: a.ID, Title: "a title", Cols: 40, Rows: 6, Cursor: wire.ScreenPlace{Row: 4, Col: 2}, Lines: []string{"red", "", "  two"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	f.frames = []runtime.Frame{{Cols: 40, Rows: 6}}
	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	if _, err := r.ManagedAgentScreen(short, a.ID); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a terminal that shows nothing: %v", err)
	}
	_, err = r.ManagedAgentScreen(ctx, "magent_none")
	wantCode(t, err, core.CodeNotFound, "")
}

// TestMissingTypes shows what a runtime lacks at the moment of the look, and what it never says.
// A type has one answer whether or not there is a runtime: one that there is not is 400, one that nothing offers 503.
func TestTypesThatNothingOffers(t *testing.T) {
	store := newMemory(t)
	for name, sources := range map[string][]runtimes.Source{"Alone": nil, "Offered": {{Name: "local", Runtime: newFake("claude")}}} {
		t.Run(name, func(t *testing.T) {
			s := runtimes.New(runtimes.Options{
				Store: store, Streams: store, Clock: coretest.NewClock(), Installation: "inst", Sources: sources, KnownTypes: []string{"claude", "codex"},
				Types: map[string]runtime.DeclaredType{"shell": {Command: "bash"}},
			})
			if err := s.Open(ctx); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			for _, src := range sources {
				coretest.WaitFor(t, "the runtime", func() bool {
					infos := s.Runtimes(ctx)
					return len(infos) == 1 && infos[0].Name == src.Name && infos[0].Ready
				})
			}
			if _, err := s.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "another"}); core.ErrorCode(err) != core.CodeValidation || !strings.Contains(err.Error(), "claude, codex, shell") {
				t.Errorf("a type that there is not: %v", err)
			}
			if _, err := s.SpawnManagedAgent(ctx, core.ManagedAgentSpec{Type: "codex"}); core.ErrorCode(err) != core.CodeNoAgents {
				t.Errorf("a type that nothing offers: %v", err)
			}
		})
	}
}

func TestMissingTypes(t *testing.T) {
	silent, says := newFake("claude"), newFake("claude", "codex")
	says.missing = []string{"codex"}
	r := newRig(t, newMemory(t), map[string]*fake{"local": says, "old": silent}).ready("local", "old")
	missing := func(infos []core.RuntimeInfo) map[string][]string {
		all := make(map[string][]string)
		for _, info := range infos {
			all[info.Name] = info.MissingTypes
		}
		return all
	}
	if got := missing(r.LookAtRuntimes(ctx)); !slices.Equal(got["local"], []string{"codex"}) || got["old"] != nil {
		t.Errorf("missing: %v", got)
	}
	says.change(func() { says.missing = []string{} }) // it was installed
	if got := missing(r.LookAtRuntimes(ctx)); got["local"] == nil || len(got["local"]) > 0 {
		t.Errorf("missing after it was installed: %#v", got["local"])
	}
	says.setDown(true)
	if got := missing(r.LookAtRuntimes(ctx)); got["local"] == nil {
		t.Error("a runtime that is away forgets what it said")
	}
}

func TestList(t *testing.T) {
	f := newFake("claude")
	f.isolation = &runtime.Isolation{NoNewPrivs: true, Landlock: 6, User: "agent"}
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	if info := r.Runtimes(ctx); !reflect.DeepEqual(info[0].Isolation, f.isolation) {
		t.Errorf("isolation %+v", info[0].Isolation)
	}
	var ids []string
	for range 5 {
		ids = append(ids, r.spawn(core.ManagedAgentSpec{Type: "claude"}).ID)
	}
	slices.Reverse(ids)
	var got []string
	page := core.Page{Limit: 2}
	for {
		list, info, err := r.FindManagedAgents(ctx, core.ManagedAgentFilter{Page: page})
		if err != nil || info.Total != 5 {
			t.Fatalf("list: %+v, %v", info, err)
		}
		for _, a := range list {
			got = append(got, a.ID)
		}
		if !info.HasMore {
			break
		}
		page.Cursor = info.NextCursor
	}
	if !reflect.DeepEqual(got, ids) {
		t.Errorf("walked %v, want %v", got, ids)
	}
	if list, _, err := r.FindManagedAgents(ctx, core.ManagedAgentFilter{Type: "codex"}); err != nil || len(list) != 0 {
		t.Errorf("codex: %v, %v", list, err)
	}
	for _, page := range []core.Page{{Limit: 101}, {Offset: -1}, {Cursor: "x"}} {
		_, _, err := r.FindManagedAgents(ctx, core.ManagedAgentFilter{Page: page})
		wantCode(t, err, core.CodeValidation, "")
	}
}

func TestSweep(t *testing.T) {
	f := newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	old, live := r.spawn(core.ManagedAgentSpec{Type: "claude"}), r.spawn(core.ManagedAgentSpec{Type: "claude"})
	if err := r.StopManagedAgent(ctx, old.ID, core.ManagedAgentStop{}); err != nil {
		t.Fatal(err)
	}
	r.until(old.ID, "stopped", func(a *core.ManagedAgent) bool { return a.Gone() })
	r.clock.Advance(25 * time.Hour)
	r.doubt.Store(true) // of the clock: it may have stepped
	if err := r.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := r.FindManagedAgent(ctx, old.ID); err != nil {
		t.Fatalf("a clock that is not believed removes an agent: %v", err)
	}
	r.doubt.Store(false)
	if err := r.Sweep(ctx); err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "the old agent to go", func() bool {
		_, err := r.FindManagedAgent(ctx, old.ID)
		return core.ErrorCode(err) == core.CodeNotFound
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	last := f.pruned[len(f.pruned)-1]
	if last.Installation != "inst" || !reflect.DeepEqual(last.Keep, []string{live.ID}) {
		t.Errorf("pruned: %+v", last)
	}
}

// A runtime that cannot remove what is left over of agents keeps no other from it.
func TestSweepPassesOverAFailingRuntime(t *testing.T) {
	failing, other := newFake("claude"), newFake("codex")
	failing.pruning = runtime.Errorf(runtime.CodeInternal, "remove the room of agent a: permission denied")
	r := newRig(t, newMemory(t), map[string]*fake{"local": failing, "docker": other}).ready("local", "docker")
	if err := r.Sweep(ctx); err == nil || !strings.Contains(err.Error(), "local") {
		t.Errorf("what failed is not told: %v", err)
	}
	other.mu.Lock()
	defer other.mu.Unlock()
	if len(other.pruned) == 0 {
		t.Error("the other runtime was not asked to remove anything")
	}
}

// TestNotices: that an agent waits for people or failed is told outside, in the transaction of its record; of the agent
// of a thread its thread tells.
func TestNotices(t *testing.T) {
	f := newFake("claude")
	r := newRig(t, newMemory(t), map[string]*fake{"local": f}).ready("local")
	notices := func(id string) (kinds []core.EventType, data []core.AgentNotice) {
		for _, e := range r.store.Appended() {
			if e.Subject == core.NoticeSubject(id) {
				var n core.AgentNotice
				if err := json.Unmarshal(e.Data, &n); err != nil || !e.Public() {
					t.Errorf("event %+v: %v", e, err)
				}
				kinds, data = append(kinds, e.Type), append(data, n)
			}
		}
		return kinds, data
	}
	live := func(spec core.ManagedAgentSpec) string {
		id := r.spawn(spec).ID
		ask := func(kind string) func(a *runtime.Agent, e *runtime.Event) {
			return func(a *runtime.Agent, e *runtime.Event) {
				a.Status = runtime.StatusBlocked
				a.Prompt = &runtime.Prompt{ID: "p1", Kind: kind, Text: "touch x?"}
				e.Prompt = a.Prompt
			}
		}
		f.tell(id, runtime.EventBlocked, ask(runtime.PromptApproval))
		f.tell(id, runtime.EventQuestion, ask(runtime.PromptQuestion))
		f.tell(id, runtime.EventLoginRequired, func(a *runtime.Agent, e *runtime.Event) {
			a.Status, a.LoginURL, a.Prompt, e.LoginURL = runtime.StatusBlocked, "https://login.example", nil, "https://login.example"
		})
		f.tell(id, runtime.EventStopped, func(a *runtime.Agent, e *runtime.Event) {
			code := 3
			a.Status, a.Reason, a.ExitCode = runtime.StatusStopped, runtime.ReasonExited, &code
			e.Reason, e.Exit = runtime.ReasonExited, &runtime.Exit{Code: 3, Reason: runtime.ReasonExited}
		})
		r.until(id, "its end", func(a *core.ManagedAgent) bool { return a.Gone() })
		return id
	}
	id := live(core.ManagedAgentSpec{Type: "claude", Name: "helper"})
	coretest.WaitFor(t, "the last notice", func() bool { kinds, _ := notices(id); return len(kinds) == 4 })
	kinds, data := notices(id)
	want := []core.EventType{core.EventManagedBlocked, core.EventManagedBlocked, core.EventManagedLogin, core.EventManagedFailed}
	if !reflect.DeepEqual(kinds, want) {
		t.Fatalf("told %q, want %q", kinds, want)
	}
	if data[0].Reason != runtime.PromptApproval || data[1].Reason != runtime.PromptQuestion || len(data[1].Prompt) == 0 ||
		data[2].LoginURL == "" || data[3].ExitCode == nil || data[3].Status != core.ManagedError || data[0].Name != "helper" || data[0].AgentID != id {
		t.Errorf("data %+v", data)
	}
	id = live(core.ManagedAgentSpec{Type: "claude", Labels: map[string]string{"wardroom.thread": "thread_1"}})
	if kinds, _ := notices(id); len(kinds) != 0 {
		t.Errorf("the agent of a thread told %q", kinds)
	}
}
