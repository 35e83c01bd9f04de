package agentcli_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// passing is a launcher whose rooms can be gone after their agents, or out of reach.
type passing struct {
	*launcher
	err error // of Room, under mu
}

func (l *passing) RoomsEnd() bool { return true }

func (l *passing) Room(ctx context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	l.mu.Lock()
	err := l.err
	l.mu.Unlock()
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

// inPassing opens a runtime whose rooms go, with an agent that had a turn in the session "first".
func inPassing(t *testing.T) (g *rig, l *passing, f *fakeType) {
	t.Helper()
	f = &fakeType{session: "first"}
	l = &passing{launcher: newLauncher(t, (&fakeCLI{}).run)}
	g = open(t, l.launcher, func(o *agentcli.Options) {
		o.Launcher, o.Adapters = l, []agentcli.Adapter{moverType{f}}
	})
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.turnOf(l, "a", "words")
	return g, l, f
}

// turnOf gives an agent a turn, after which its session has a text.
func (g *rig) turnOf(l *passing, id, text string) {
	g.t.Helper()
	g.status(id, runtime.StatusReady)
	g.ask(id, "hello")
	if err := os.WriteFile(filepath.Join(l.dir, id, "home", "first"), []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
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

// TestSessionCopyTooOld has a turn come after the copy, and no other copy: what would be resumed lacks that turn, so nothing is.
func TestSessionCopyTooOld(t *testing.T) {
	t.Parallel()
	g, l, f := inPassing(t)
	g.end("a")
	g.copied("a")
	if _, err := g.Restart(t.Context(), "a", runtime.RestartOptions{}); err != nil {
		t.Fatal(err)
	}
	g.turnOf(l, "a", "more words")
	l.set(agentcli.ErrGone)
	g.end("a")
	g.spawn(runtime.Spec{ID: "b", Type: "fake", Resume: "first"})
	g.status("b", runtime.StatusReady)
	if got := l.files(); len(got) > 0 || f.lastLife().Moved {
		t.Errorf("another agent has %v, %+v", got, f.lastLife())
	}
}
