package agentcli_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// patience is how long a test waits for what must come.
const patience = time.Minute

// rig is a runtime with what a test needs around it.
type rig struct {
	*agentcli.Runtime
	t testing.TB
	l *launcher
	o agentcli.Options
}

// bashType is a shell that says when it waits.
var bashType = runtime.DeclaredType{
	Command: "bash", Args: []string{"--norc", "--noprofile"}, Env: map[string]string{"PS1": "wardroom$ ", "HISTFILE": ""},
	Ready: runtime.ReadyRule{Pattern: `^wardroom\$ $`}, Exit: "exit",
}

// open opens a runtime over a launcher.
func open(t testing.TB, l *launcher, change func(*agentcli.Options)) *rig {
	t.Helper()
	o := agentcli.Options{
		Name: "test", Launcher: l, StateDir: t.TempDir(), Types: map[string]runtime.DeclaredType{"bash": bashType},
	}
	if change != nil {
		change(&o)
	}
	return reopen(t, l, o)
}

func reopen(t testing.TB, l *launcher, o agentcli.Options) *rig {
	t.Helper()
	r, err := agentcli.NewRuntime(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	g := &rig{Runtime: r, t: t, l: l, o: o}
	t.Cleanup(g.close)
	return g
}

func (g *rig) close() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := g.Close(ctx); err != nil {
		g.t.Error(err)
	}
}

// again closes the runtime and opens another one over the same state.
func (g *rig) again() *rig {
	g.t.Helper()
	g.close()
	return reopen(g.t, g.l, g.o)
}

func (g *rig) spawn(spec runtime.Spec) runtime.Agent {
	g.t.Helper()
	a, err := g.Spawn(g.t.Context(), spec)
	if err != nil {
		g.t.Fatal(err)
	}
	return a
}

// bash spawns a shell and waits for its prompt.
func (g *rig) bash(id string) runtime.Agent {
	g.t.Helper()
	g.spawn(runtime.Spec{ID: id, Type: "bash"})
	return g.status(id, runtime.StatusReady)
}

// status waits until an agent has a status.
func (g *rig) status(id string, want runtime.Status) runtime.Agent {
	g.t.Helper()
	var a runtime.Agent
	wait(g.t, "status "+string(want), func() bool {
		var err error
		if a, err = g.Inspect(g.t.Context(), id); err != nil {
			g.t.Fatal(err)
		}
		return a.Status == want
	})
	return a
}

// ask sends a message and returns the answer.
func (g *rig) ask(id, text string) *runtime.Response {
	g.t.Helper()
	return g.begin(id, text)()
}

// begin sends a message; the function returned waits for the answer.
func (g *rig) begin(id, text string) func() *runtime.Response {
	var res runtime.SendResult
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		res, err = g.Send(g.t.Context(), id, runtime.Input{Message: text, ExpectResponse: true})
	}()
	return func() *runtime.Response {
		g.t.Helper()
		<-done
		if err != nil {
			g.t.Fatalf("send %q: %v", text, err)
		}
		if !res.Sent || res.Response == nil {
			g.t.Fatalf("send %q: %+v", text, res)
		}
		return res.Response
	}
}

// wait polls for a condition.
func wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-time.After(2 * time.Millisecond)
	}
}

func code(err error) runtime.Code { return runtime.ErrorCode(err) }

func wantCode(t testing.TB, err error, want runtime.Code) {
	t.Helper()
	if code(err) != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// viewer collects what one attached terminal shows.
type viewer struct {
	runtime.Terminal
	t    testing.TB
	text strings.Builder // data of frames, at least the last half of maxSeen
	last runtime.Frame
}

func (g *rig) attach(id string, opts runtime.AttachOptions) *viewer {
	g.t.Helper()
	term, err := g.Attach(g.t.Context(), id, opts)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = term.Close() })
	return &viewer{Terminal: term, t: g.t}
}

// maxSeen bounds what a viewer keeps of what it saw, in bytes.
const maxSeen = 1 << 20

// until reads frames until one satisfies ok.
func (v *viewer) until(what string, ok func(f runtime.Frame, text string) bool) runtime.Frame {
	v.t.Helper()
	watchdog := time.AfterFunc(patience, func() { _ = v.Close() })
	defer watchdog.Stop()
	for {
		f, err := v.Recv()
		if err != nil {
			v.t.Fatalf("waiting for %s: %v; the terminal showed %q", what, err, v.text.String())
		}
		if f.Repaint {
			v.text.Reset()
		}
		if v.text.Len() > maxSeen { // it is looked through with each frame
			tail := v.text.String()[maxSeen/2:]
			v.text.Reset()
			v.text.WriteString(tail)
		}
		v.text.Write(f.Data)
		v.last = f
		v.last.Data = nil
		if ok(f, v.text.String()) {
			return f
		}
	}
}

func (v *viewer) untilText(want string) {
	v.t.Helper()
	v.until(want, func(_ runtime.Frame, text string) bool { return strings.Contains(text, want) })
}

// drain reads to the end and returns the exit.
func (v *viewer) drain() *runtime.Exit {
	v.t.Helper()
	var exit *runtime.Exit
	watchdog := time.AfterFunc(patience, func() { _ = v.Close() })
	defer watchdog.Stop()
	for {
		f, err := v.Recv()
		if errors.Is(err, io.EOF) {
			return exit
		}
		if err != nil {
			v.t.Fatal(err)
		}
		v.text.Write(f.Data)
		if f.Exit != nil {
			exit = f.Exit
		}
	}
}

// events returns the kept events of an agent as types.
func (g *rig) events(id string) []runtime.Event {
	g.t.Helper()
	ctx, cancel := context.WithCancel(g.t.Context())
	defer cancel()
	live, err := g.Inspect(ctx, id)
	if err != nil {
		g.t.Fatal(err)
	}
	_ = live
	stream, err := g.Events(ctx, runtime.EventOptions{AgentID: id})
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	var events []runtime.Event
	for {
		stop := time.AfterFunc(100*time.Millisecond, func() { _ = stream.Close() })
		e, err := stream.Next()
		stop.Stop()
		if err != nil {
			return events
		}
		events = append(events, e)
	}
}

func types(events []runtime.Event) string {
	var names []string
	for _, e := range events {
		names = append(names, string(e.Type))
	}
	return strings.Join(names, " ")
}

// coarse is types with one message for several that follow each other: how many pieces there are is a matter of time.
func coarse(events []runtime.Event) string {
	return types(slices.CompactFunc(slices.Clone(events), func(a, b runtime.Event) bool {
		return a.Type == runtime.EventMessage && b.Type == runtime.EventMessage
	}))
}

// logs returns the log of an agent as lines "stream text".
func (g *rig) logs(id string, opts runtime.LogOptions) string {
	g.t.Helper()
	stream, err := g.Logs(g.t.Context(), id, opts)
	if err != nil {
		g.t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	var b strings.Builder
	for {
		line, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			g.t.Fatal(err)
		}
		b.WriteString(line.Stream + " " + line.Line + "\n")
	}
}
