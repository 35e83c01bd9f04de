package agentcli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestOptionsAreChecked(t *testing.T) {
	l := newLauncher(t, nil)
	good := agentcli.Options{Name: "n", Launcher: l, StateDir: t.TempDir()}
	for name, change := range map[string]func(*agentcli.Options){
		"Name": func(o *agentcli.Options) { o.Name = "" }, "Launcher": func(o *agentcli.Options) { o.Launcher = nil },
		"StateDir": func(o *agentcli.Options) { o.StateDir = "" }, "Policy": func(o *agentcli.Options) { o.ResizePolicy = "largest" },
		"Max": func(o *agentcli.Options) { o.MaxAgents = -1 }, "Ring": func(o *agentcli.Options) { o.RingBytes = 10 },
		"Twice": func(o *agentcli.Options) { o.Adapters = []agentcli.Adapter{&fakeType{}, &fakeType{}} },
		"Both": func(o *agentcli.Options) {
			o.Adapters = []agentcli.Adapter{&fakeType{}}
			o.Types = map[string]runtime.DeclaredType{"fake": bashType}
		},
		"Pattern": func(o *agentcli.Options) {
			o.Types = map[string]runtime.DeclaredType{"x": {Command: "x", Ready: runtime.ReadyRule{Pattern: "("}}}
		},
	} {
		o := good
		change(&o)
		if _, err := agentcli.NewRuntime(o); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestSpecsAreChecked(t *testing.T) {
	g, _ := fake(t, &fakeCLI{}, nil)
	good := runtime.Spec{ID: "a", Type: "fake"}
	tests := []struct {
		field string
		code  runtime.Code
		bad   func(*runtime.Spec)
	}{
		{"id", runtime.CodeInvalidSpec, func(s *runtime.Spec) { s.ID = "../x" }},
		{"id", runtime.CodeInvalidSpec, func(s *runtime.Spec) { s.ID = "" }},
		{"type", runtime.CodeInvalidSpec, func(s *runtime.Spec) { s.Type = "" }},
		{"type", runtime.CodeUnknownType, func(s *runtime.Spec) { s.Type = "nope" }},
		{"name", runtime.CodeInvalidSpec, func(s *runtime.Spec) { s.Name = "a\x00" }},
		{"workdir", runtime.CodeInvalidSpec, func(s *runtime.Spec) { s.Workdir = "here" }},
		{"approval", runtime.CodeInvalidSpec, func(s *runtime.Spec) { s.Approval = "yolo" }},
		{"cols", runtime.CodeInvalidSpec, func(s *runtime.Spec) { s.Cols = 100_000 }},
		{"rows", runtime.CodeInvalidSpec, func(s *runtime.Spec) { s.Rows = -1 }},
		{"limits", runtime.CodeInvalidSpec, func(s *runtime.Spec) { s.Limits.CPU = -1 }},
		{"env", runtime.CodeInvalidSpec, func(s *runtime.Spec) { s.Env = map[string]string{"A=B": "x"} }},
		{"env.A", runtime.CodeInvalidSpec, func(s *runtime.Spec) { s.Env = map[string]string{"A": "secret\x00value"} }},
		{"image", runtime.CodeInvalidSpec, func(s *runtime.Spec) { s.Image = "i" }},
		{"network", runtime.CodeInvalidSpec, func(s *runtime.Spec) { s.Network = "n" }},
		{"declared.command", runtime.CodeInvalidSpec, func(s *runtime.Spec) { s.Declared = &runtime.DeclaredType{} }},
		{"declared.exit", runtime.CodeInvalidSpec, func(s *runtime.Spec) { s.Declared = &runtime.DeclaredType{Command: "x", Exit: "a\nb"} }},
	}
	for _, tt := range tests {
		spec := good
		tt.bad(&spec)
		_, err := g.Spawn(t.Context(), spec)
		var e *runtime.Error
		if !errors.As(err, &e) || e.Code != tt.code || e.Field != tt.field || strings.Contains(e.Message, "secret") {
			t.Errorf("%s: %v", tt.field, err)
		}
	}
	if list, err := g.List(t.Context(), runtime.ListFilter{}); err != nil || len(list) != 0 {
		t.Errorf("list %v, %v", list, err)
	}
}

func TestSpawnTwice(t *testing.T) {
	g, _ := fake(t, &fakeCLI{}, nil)
	spec := runtime.Spec{ID: "a", Type: "fake", Env: map[string]string{"K": "v"}, Labels: map[string]string{"l": "1"}}
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			if _, err := g.Spawn(t.Context(), spec); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if g.l.launched != 1 {
		t.Errorf("%d processes", g.l.launched)
	}
	other := spec
	other.Env = map[string]string{"K": "w"}
	_, err := g.Spawn(t.Context(), other)
	wantCode(t, err, runtime.CodeAlreadyExists)
	if !slices.Contains(g.l.command.Env, "K=v") || !slices.Contains(g.l.command.Env, "TERM=xterm-256color") {
		t.Errorf("environment %q", g.l.command.Env)
	}
	g = g.again()
	if _, err := g.Spawn(t.Context(), spec); err != nil {
		t.Errorf("an equal spec after a restart: %v", err)
	}
	if list, _ := g.List(t.Context(), runtime.ListFilter{Labels: map[string]string{"l": "2"}}); len(list) != 0 {
		t.Errorf("list %v", list)
	}
}

func TestFailedStartLeavesNothing(t *testing.T) {
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) {
		o.Types["missing"] = runtime.DeclaredType{Command: "no-such-command-here"}
		o.Types["broken"] = runtime.DeclaredType{Command: "/dev/null"}
	})
	_, err := g.Spawn(t.Context(), runtime.Spec{ID: "m", Type: "missing"})
	wantCode(t, err, runtime.CodeCLINotFound)
	g.l.mu.Lock()
	g.l.prepare = func(*runtime.Spec) error { return runtime.Errorf(runtime.CodeWorkdirNotAllowed, "not there") }
	g.l.mu.Unlock()
	_, err = g.Spawn(t.Context(), runtime.Spec{ID: "w", Type: "bash", Workdir: "/etc"})
	wantCode(t, err, runtime.CodeWorkdirNotAllowed)
	g.l.mu.Lock()
	g.l.prepare = func(*runtime.Spec) error { return errors.New("disk: secret detail") }
	g.l.mu.Unlock()
	_, err = g.Spawn(t.Context(), runtime.Spec{ID: "w", Type: "bash"})
	if code(err) != runtime.CodeSpawnFailed || strings.Contains(err.Error(), "secret") {
		t.Errorf("error %v", err)
	}
	for _, id := range []string{"m", "w"} {
		_, err := g.Inspect(t.Context(), id)
		wantCode(t, err, runtime.CodeNotFound)
	}
	entries, err := os.ReadDir(g.o.StateDir + "/agents")
	if err != nil || len(entries) != 0 {
		t.Errorf("left: %v, %v", entries, err)
	}
}

func TestMaxAgents(t *testing.T) {
	g, _ := fake(t, &fakeCLI{}, func(o *agentcli.Options) { o.MaxAgents = 2 })
	g.l.script = func(p *process) { (&fakeCLI{}).run(p) }
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.spawn(runtime.Spec{ID: "b", Type: "fake"})
	_, err := g.Spawn(t.Context(), runtime.Spec{ID: "c", Type: "fake"})
	wantCode(t, err, runtime.CodeResourceLimit)
	if err := g.Stop(t.Context(), "a", runtime.StopOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	wait(t, "room", func() bool {
		_, err := g.Spawn(t.Context(), runtime.Spec{ID: "c", Type: "fake"})
		return err == nil
	})
}

func TestExitAtStart(t *testing.T) {
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) {
		o.Types["dies"] = runtime.DeclaredType{
			Command: "bash", Args: []string{"-c", `echo "bad key $KEY"; echo "cannot go on"; exit 7`}, Ready: runtime.ReadyRule{Pattern: "never"},
		}
	})
	g.spawn(runtime.Spec{ID: "d", Type: "dies", Env: map[string]string{"KEY": "s3cr3t-value"}})
	a := g.status("d", runtime.StatusStopped)
	if a.Reason != "exited_at_start: bad key *** | cannot go on" || a.ExitCode == nil || *a.ExitCode != 7 {
		t.Errorf("agent %+v", a)
	}
	_, err := g.Send(t.Context(), "d", runtime.Input{Message: "x"})
	wantCode(t, err, runtime.CodeNotRunning)
	wantCode(t, g.Answer(t.Context(), "d", runtime.Answer{Choice: "allow"}), runtime.CodeNotRunning)
	_, err = g.Metrics(t.Context(), "d")
	wantCode(t, err, runtime.CodeNotRunning)
	v := g.attach("d", runtime.AttachOptions{})
	if exit := v.drain(); exit == nil || exit.Code != 7 || !strings.Contains(v.text.String(), "cannot go on") {
		t.Errorf("exit %+v, screen %q", exit, v.text.String())
	}
}

func TestStopOfTheStubborn(t *testing.T) {
	g := open(t, newLauncher(t, nil), func(o *agentcli.Options) {
		o.Types["deaf"] = runtime.DeclaredType{Command: "bash", Args: []string{"-c", `trap "" TERM INT HUP; echo ready; while :; do sleep 0.1; done`}}
	})
	g.spawn(runtime.Spec{ID: "s", Type: "deaf"})
	g.status("s", runtime.StatusReady)
	if err := g.Stop(t.Context(), "s", runtime.StopOptions{Grace: 100 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if a := g.status("s", runtime.StatusStopped); a.Reason != runtime.ReasonKilled || *a.ExitCode != 137 {
		t.Errorf("agent %+v", a)
	}
	wantCode(t, g.Stop(t.Context(), "nobody", runtime.StopOptions{}), runtime.CodeNotFound)
}

func TestRestartResumes(t *testing.T) {
	c := &fakeCLI{}
	g, f := ready(t, c, nil)
	g.l.process().signal(agentcli.Signal{Kind: agentcli.SignalSession, Text: "sess-9"})
	g.ask("a", "hello")
	v := g.attach("a", runtime.AttachOptions{})
	v.untilText("working")
	a, err := g.Restart(t.Context(), "a", runtime.RestartOptions{})
	if err != nil || a.Status != runtime.StatusStarting && a.Status != runtime.StatusReady {
		t.Fatalf("restart: %+v, %v", a, err)
	}
	if exit := v.drain(); exit == nil || exit.Reason != runtime.ReasonStopped {
		t.Errorf("exit %+v", exit)
	}
	if life := f.lastLife(); life.Resume != "sess-9" || len(life.SessionID) != 36 {
		t.Errorf("life %+v", life)
	}
	a = g.status("a", runtime.StatusReady)
	if a.SessionID != "sess-9" || a.Turn != 1 {
		t.Errorf("agent %+v", a)
	}
	// Offsets go on: a viewer of the earlier life is not given bytes of the wrong one.
	from := v.last.Offset
	f2, err := g.attach("a", runtime.AttachOptions{}).Recv()
	if err != nil || f2.Offset < from {
		t.Errorf("frame at %d, the earlier life ended at %d", f2.Offset, from)
	}
	if got := g.ask("a", "again").Turn; got != 2 {
		t.Errorf("turn %d", got)
	}
	_, err = g.Restart(t.Context(), "nobody", runtime.RestartOptions{})
	wantCode(t, err, runtime.CodeNotFound)
}

func TestPrune(t *testing.T) {
	g, _ := fake(t, &fakeCLI{}, nil)
	g.l.script = func(p *process) { (&fakeCLI{}).run(p) }
	for _, id := range []string{"keep", "stopped", "orphan", "young"} {
		g.spawn(runtime.Spec{ID: id, Type: "fake", Installation: "i1"})
		g.status(id, runtime.StatusReady)
	}
	g.spawn(runtime.Spec{ID: "foreign", Type: "fake", Installation: "i2"})
	if err := g.Stop(t.Context(), "stopped", runtime.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	opts := runtime.PruneOptions{Installation: "i1", Keep: []string{"keep"}, Grace: time.Hour, DryRun: true}
	for range 2 {
		report, err := g.Prune(t.Context(), opts)
		if err != nil || fmt.Sprint(report.Removed, report.Stopped, report.Left) != "[stopped] [] [orphan young]" {
			t.Errorf("report %+v, %v", report, err)
		}
		opts.DryRun = false
	}
	opts.Grace = 0
	report, err := g.Prune(t.Context(), opts)
	if err != nil || fmt.Sprint(report.Removed, report.Stopped, report.Left) != "[orphan young] [orphan young] []" {
		t.Errorf("report %+v, %v", report, err)
	}
	list, _ := g.List(t.Context(), runtime.ListFilter{})
	if len(list) != 2 || !slices.Equal(g.l.removed, []string{"stopped", "orphan", "young"}) {
		t.Errorf("left %v, removed %v", list, g.l.removed)
	}
}

// TestPruneWhileFollowersCome opens streams of events while agents are pruned.
func TestPruneWhileFollowersCome(t *testing.T) {
	g, _ := fake(t, &fakeCLI{}, nil)
	g.spawn(runtime.Spec{ID: "a", Type: "fake", Installation: "i1"})
	g.status("a", runtime.StatusReady)
	var group sync.WaitGroup
	for _, call := range []func() error{
		func() error {
			_, err := g.Prune(t.Context(), runtime.PruneOptions{Installation: "i2"})
			return err
		},
		func() error {
			s, err := g.Events(t.Context(), runtime.EventOptions{})
			if err == nil {
				err = s.Close()
			}
			return err
		},
	} {
		group.Go(func() {
			for range 20000 {
				if err := call(); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

func TestEventsAreReadAgain(t *testing.T) {
	g, _ := ready(t, &fakeCLI{}, func(o *agentcli.Options) { o.KeepEvents = 20 })
	first := g.events("a")
	g.ask("a", "one")
	g = g.again()
	stream, err := g.Events(t.Context(), runtime.EventOptions{After: first[len(first)-1].Seq})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	last := first[len(first)-1].Seq
	for _, want := range []runtime.EventType{runtime.EventBusy, runtime.EventTurnComplete, runtime.EventReady} {
		e, err := stream.Next()
		if err != nil || e.Type != want || e.Seq <= last {
			t.Fatalf("event %+v, %v; want %s", e, err, want)
		}
		last = e.Seq
	}
	live, err := g.Events(t.Context(), runtime.EventOptions{Live: true})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 { // more than are kept
		g.ask("a", fmt.Sprint(i))
	}
	if e, err := live.Next(); code(err) != runtime.CodeLagged {
		t.Errorf("a slow reader got %+v, %v", e, err)
	}
	if e, err := live.Next(); err != nil || e.Seq <= last {
		t.Errorf("the reader that came back got %+v, %v", e, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended, err := g.Events(ctx, runtime.EventOptions{Live: true})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := ended.Next(); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// broken is a launcher that starts nothing, and removes nothing while it is away.
type broken struct {
	*launcher
	away atomic.Bool
}

func (b *broken) Launch(context.Context, agentcli.Command) (agentcli.Process, error) {
	return nil, runtime.Errorf(runtime.CodeSocketError, "the engine went away")
}

func (b *broken) Remove(ctx context.Context, id string) error {
	if b.away.Load() {
		return runtime.Errorf(runtime.CodeSocketError, "the engine is away")
	}
	return b.launcher.Remove(ctx, id)
}

// TestRoomOfFailedStart has an agent fail to start on an engine that goes away: its room is removed when that is back, by the
// same process or the next one.
func TestRoomOfFailedStart(t *testing.T) {
	for name, crash := range map[string]bool{"SameProcess": false, "NextProcess": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLauncher(t, nil)
			b := &broken{launcher: l}
			b.away.Store(true)
			g := open(t, l, func(o *agentcli.Options) { o.Launcher = b })
			_, err := g.Spawn(t.Context(), runtime.Spec{ID: "a", Type: "bash", Installation: "here"})
			wantCode(t, err, runtime.CodeSocketError)
			if _, err := g.Inspect(t.Context(), "a"); code(err) != runtime.CodeNotFound {
				t.Errorf("an agent that did not start is there: %v", err)
			}
			if crash {
				g = g.crash()
			}
			b.away.Store(false)
			wait(t, "the removal of the room", func() bool {
				if crash {
					if _, err := g.Prune(t.Context(), runtime.PruneOptions{Installation: "here"}); err != nil {
						t.Fatal(err)
					}
				}
				l.mu.Lock()
				defer l.mu.Unlock()
				return slices.Contains(l.removed, "a")
			})
		})
	}
}
