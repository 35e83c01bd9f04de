package agentcli_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// passing is a launcher whose rooms can be gone after their agents, or out of reach.
type passing struct {
	*launcher
	// mu of launcher guards all below.
	err   error         // of Room
	looks int           // calls of Room
	held  chan struct{} // a call of Room waits until it is closed; nil: none does
}

func (l *passing) RoomsEnd() bool { return true }

func (l *passing) Room(ctx context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	l.mu.Lock()
	err, held := l.err, l.held
	l.looks++
	l.mu.Unlock()
	if held != nil {
		<-held
	}
	if err != nil {
		return agentcli.Room{}, err
	}
	return l.Prepare(ctx, spec)
}

// set sets what Room returns.
func (l *passing) set(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.err = err
}

// files returns those that the last start has, by path.
func (l *passing) files() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := map[string]string{}
	for _, file := range l.command.Files {
		all[file.Path] = string(file.Data)
	}
	return all
}

// moverType is a fake CLI that keeps its session in a file of its home.
type moverType struct{ *fakeType }

func (moverType) TakeSession(session string, _ []byte, from, to agentcli.Room) ([]agentcli.File, error) {
	data, err := from.ReadFile(filepath.Join(from.Home, session))
	return []agentcli.File{{Path: filepath.Join(to.Home, session), Data: data, Keep: true}}, err
}

// passed opens a runtime whose rooms go.
func passed(t *testing.T, c *fakeCLI, f *fakeType, copyEvery time.Duration) (*rig, *passing) {
	t.Helper()
	l := &passing{launcher: newLauncher(t, c.run)}
	return open(t, l.launcher, func(o *agentcli.Options) {
		o.Launcher, o.Adapters, o.CopyEvery = l, []agentcli.Adapter{moverType{f}}, copyEvery
	}), l
}

// inPassing opens one with an agent that had a turn in the session "first".
func inPassing(t *testing.T) (g *rig, l *passing, f *fakeType) {
	t.Helper()
	f = &fakeType{session: "first"}
	g, l = passed(t, &fakeCLI{}, f, 0)
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.turnOf(l, "a", "words")
	return g, l, f
}

// write is what a turn does to the session of an agent.
func (l *passing) write(t testing.TB, id, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, id, "home", "first"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// looked returns how often a room was looked at.
func (l *passing) looked() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.looks
}

// turnOf gives an agent a turn, after which its session has a text.
func (g *rig) turnOf(l *passing, id, text string) {
	g.t.Helper()
	g.status(id, runtime.StatusReady)
	l.write(g.t, id, text)
	g.ask(id, "hello")
}

func (g *rig) end(id string) {
	g.t.Helper()
	if err := g.Stop(g.t.Context(), id, runtime.StopOptions{}); err != nil {
		g.t.Fatal(err)
	}
}

func (g *rig) copied(id string) {
	g.t.Helper()
	wait(g.t, "the copy of the session", func() bool {
		_, err := os.Stat(filepath.Join(g.o.StateDir, "agents", id, "session.json"))
		return err == nil
	})
}

// TestSessionOutlivesRoom has another agent resume the session of one whose room is gone, and then that one itself.
func TestSessionOutlivesRoom(t *testing.T) {
	t.Parallel()
	g, l, f := inPassing(t)
	g.end("a")
	g.copied("a")
	l.set(agentcli.ErrGone)
	if err := os.RemoveAll(filepath.Join(l.dir, "a")); err != nil {
		t.Fatal(err)
	}
	g.spawn(runtime.Spec{ID: "b", Type: "fake", Resume: "first"})
	g.status("b", runtime.StatusReady)
	if got := l.files(); got[filepath.Join(l.dir, "b", "home", "first")] != "words" || !f.lastLife().Moved {
		t.Errorf("another agent has %v, %+v", got, f.lastLife())
	}
	if _, err := g.Restart(t.Context(), "a", runtime.RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	g.status("a", runtime.StatusReady)
	if got := l.files(); got[filepath.Join(l.dir, "a", "home", "first")] != "words" || !f.lastLife().Moved {
		t.Errorf("the agent itself has %v, %+v", got, f.lastLife())
	}
}

// TestSessionCopiedLater ends an agent while its room is out of reach, and the runtime as well: the next one takes the copy.
func TestSessionCopiedLater(t *testing.T) {
	t.Parallel()
	g, l, _ := inPassing(t)
	l.set(&runtime.Error{Code: runtime.CodeUnavailable, Message: "the cluster is away", Retry: true})
	g.end("a")
	g.close()
	l.set(nil)
	reopen(t, g.l, g.o).copied("a")
}

// TestSessionCopyBehind has a turn come after the copy, and no other copy: what is resumed is the session before that turn, and
// its start says so.
func TestSessionCopyBehind(t *testing.T) {
	t.Parallel()
	g, l, f := inPassing(t)
	g.end("a")
	g.copied("a")
	l.set(&runtime.Error{Code: runtime.CodeUnavailable, Message: "the cluster is away", Retry: true})
	if _, err := g.Restart(t.Context(), "a", runtime.RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	g.turnOf(l, "a", "more words")
	l.set(agentcli.ErrGone)
	g.end("a")
	g.spawn(runtime.Spec{ID: "b", Type: "fake", Resume: "first"})
	g.status("b", runtime.StatusReady)
	if got := l.files(); got[filepath.Join(l.dir, "b", "home", "first")] != "words" || !f.lastLife().Moved {
		t.Errorf("another agent has %v, %+v", got, f.lastLife())
	}
	if e := g.events("b")[0]; e.Type != runtime.EventStarted || !strings.HasPrefix(e.Reason, runtime.ReasonSessionBehind+": resumed as of turn 1 of 2") {
		t.Errorf("its start says %+v", e)
	}
}

// TestSessionOfLostRoom loses an agent with its room, within a turn or between turns: it resumes what was copied while it ran.
func TestSessionOfLostRoom(t *testing.T) {
	for name, within := range map[string]bool{"within a turn": true, "between turns": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &fakeCLI{}
			f := &fakeType{session: "first"}
			c.turn = func(p *process, msg string) {
				if msg == "for long" {
					p.signal(agentcli.Signal{Kind: took, Text: msg})
					return
				}
				answered(p, msg)
			}
			g, l := passed(t, c, f, time.Hour)
			g.spawn(runtime.Spec{ID: "a", Type: "fake"})
			g.status("a", runtime.StatusReady)
			l.write(t, "a", "words")
			g.ask("a", "hello")
			g.copied("a")
			want := ""
			if within {
				if _, err := g.Send(t.Context(), "a", runtime.Input{Message: "for long"}); err != nil {
					t.Fatal(err)
				}
				want = runtime.ReasonSessionBehind + ": resumed as of turn 1 of 2"
			}
			l.set(agentcli.ErrGone)
			p := l.process()
			p.mu.Lock()
			p.noExit = true
			p.mu.Unlock()
			p.kill()
			g.status("a", runtime.StatusStopped)
			if err := os.RemoveAll(filepath.Join(l.dir, "a")); err != nil {
				t.Fatal(err)
			}
			if _, err := g.Restart(t.Context(), "a", runtime.RestartOptions{}); err != nil {
				t.Fatal(err)
			}
			g.status("a", runtime.StatusReady)
			if got := l.files(); got[filepath.Join(l.dir, "a", "home", "first")] != "words" || !f.lastLife().Moved {
				t.Errorf("it has %v, %+v", got, f.lastLife())
			}
			started := runtime.Event{}
			for _, e := range g.events("a") {
				if e.Type == runtime.EventStarted {
					started = e
				}
			}
			if !strings.HasPrefix(started.Reason, want) || want == "" && started.Reason != "" {
				t.Errorf("its start says %q, want %q", started.Reason, want)
			}
		})
	}
}

// TestSessionCopiesAreBounded has turns follow each other: a copy is taken of the first, none of the others before its time, and
// no turn waits for one, not even the end of the agent.
func TestSessionCopiesAreBounded(t *testing.T) {
	t.Parallel()
	held := make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	t.Cleanup(release)
	g, l := passed(t, &fakeCLI{}, &fakeType{session: "first"}, time.Hour)
	l.mu.Lock()
	l.held = held
	l.mu.Unlock()
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.status("a", runtime.StatusReady)
	l.write(t, "a", "words")
	g.ask("a", "hello")
	wait(t, "the copy", func() bool { return l.looked() == 1 })
	for range 5 {
		g.ask("a", "hello")
	}
	l.mu.Lock()
	l.held = nil
	l.mu.Unlock()
	release()
	g.copied("a")
	g.ask("a", "hello")
	if n := l.looked(); n != 1 {
		t.Errorf("%d copies were taken in an hour", n)
	}
}
