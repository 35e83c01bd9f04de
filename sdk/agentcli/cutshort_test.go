package agentcli_test

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/launchertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// removedRoom reports whether the room of an agent was removed.
func (l *launcher) removedRoom(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.removed, id)
}

// stored returns the names in the directory of the agents.
func (g *rig) stored() []string {
	g.t.Helper()
	entries, err := os.ReadDir(filepath.Join(g.o.StateDir, "agents"))
	if err != nil {
		g.t.Fatal(err)
	}
	names := []string{}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// TestCrashInPrepare kills the runtime while the room of a new agent is made: the next one knows of no such agent, and removes the
// room.
func TestCrashInPrepare(t *testing.T) {
	t.Parallel()
	l := newLauncher(t, nil)
	preparing, letGo := make(chan struct{}), make(chan struct{})
	l.prepare = func(*runtime.Spec) error {
		close(preparing)
		<-letGo
		return runtime.Errorf(runtime.CodeSpawnFailed, "it was killed before")
	}
	g := open(t, l, nil)
	spawned := make(chan error, 1)
	go func() {
		_, err := g.Spawn(t.Context(), runtime.Spec{ID: "a", Type: "bash", Env: map[string]string{"TOKEN": "secret"}})
		spawned <- err
	}()
	defer func() { close(letGo); <-spawned }()
	<-preparing
	next := g.crash()
	if got, err := next.Recover(t.Context(), []runtime.Handle{{ID: "a"}}); err != nil || got[0].Error == nil || got[0].Error.Code != runtime.CodeNotFound {
		t.Errorf("recover: %+v, %v", got, err)
	}
	if list, err := next.List(t.Context(), runtime.ListFilter{}); err != nil || len(list) > 0 {
		t.Errorf("list: %+v, %v", list, err)
	}
	wait(t, "the removal of the room", func() bool { return l.removedRoom("a") && len(next.stored()) == 0 })
}

// halfway is a launcher whose connection breaks after it has started a command, and which can then remove nothing.
type halfway struct {
	rediscoverer
	away atomic.Bool
}

func (h *halfway) Launch(ctx context.Context, cmd agentcli.Command) (agentcli.Process, error) {
	p, err := h.rediscoverer.Launch(ctx, cmd)
	if err != nil || !h.away.Load() {
		return p, err
	}
	_ = p.Close()
	return nil, runtime.Errorf(runtime.CodeSocketError, "the engine went away")
}

func (h *halfway) Remove(ctx context.Context, id string) error {
	if h.away.Load() {
		return runtime.Errorf(runtime.CodeSocketError, "the engine is away")
	}
	return h.rediscoverer.Remove(ctx, id)
}

// TestCrashAfterFailedStart ends the runtime after it has refused an agent whose command may run, and before it could remove that: the
// next one does not take it up, as the agent may have been started elsewhere.
func TestCrashAfterFailedStart(t *testing.T) {
	t.Parallel()
	l := newLauncher(t, (&fakeCLI{}).run)
	h := &halfway{rediscoverer: rediscoverer{l}}
	h.away.Store(true)
	g := open(t, l, func(o *agentcli.Options) { o.Adapters, o.Launcher = []agentcli.Adapter{&fakeType{}}, h })
	_, err := g.Spawn(t.Context(), runtime.Spec{ID: "a", Type: "fake", Env: map[string]string{"TOKEN": "secret"}})
	wantCode(t, err, runtime.CodeSocketError)
	if _, err := g.Spawn(t.Context(), runtime.Spec{ID: "a", Type: "fake"}); runtime.ErrorCode(err) != runtime.CodeSocketError { // again
		t.Errorf("another start: %v", err)
	}
	next := g.crash()
	if got, err := next.Recover(t.Context(), []runtime.Handle{{ID: "a"}}); err != nil || got[0].Error == nil || got[0].Error.Code != runtime.CodeNotFound {
		t.Errorf("recover: %+v, %v", got, err)
	}
	if list, err := next.List(t.Context(), runtime.ListFilter{}); err != nil || len(list) > 0 {
		t.Errorf("list: %+v, %v", list, err)
	}
	h.away.Store(false)
	wait(t, "the removal of the room", func() bool { return l.removedRoom("a") && len(next.stored()) == 0 })
}

// TestCrashAfterFailedRestart ends the runtime after a restart that failed: to the next one the agent is what it was before.
func TestCrashAfterFailedRestart(t *testing.T) {
	t.Parallel()
	l := newLauncher(t, (&fakeCLI{}).run)
	h := &halfway{rediscoverer: rediscoverer{l}}
	g := open(t, l, func(o *agentcli.Options) { o.Adapters, o.Launcher = []agentcli.Adapter{&fakeType{}}, h })
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.status("a", runtime.StatusReady)
	if err := g.Stop(t.Context(), "a", runtime.StopOptions{}); err != nil {
		t.Fatal(err)
	}
	was := g.status("a", runtime.StatusStopped)
	h.away.Store(true)
	_, err := g.Restart(t.Context(), "a", runtime.RestartOptions{})
	wantCode(t, err, runtime.CodeSocketError)
	next := g.crash()
	if is := next.status("a", runtime.StatusStopped); is.Reason != was.Reason || is.Seq != was.Seq {
		t.Errorf("stopped with %q (event %d), and was %q (event %d)", is.Reason, is.Seq, was.Reason, was.Seq)
	}
}

// TestRecoverWhileOneStarts asks for two agents while one of them is being started, which takes long: the answer about the other does
// not wait for that.
func TestRecoverWhileOneStarts(t *testing.T) {
	t.Parallel()
	l := newLauncher(t, (&fakeCLI{}).run)
	h := &held{Network: launchertest.NewNetwork(rediscoverer{l}, 0), launched: make(chan struct{}), letGo: make(chan struct{}), early: true}
	h.pass.Store(1)
	g := open(t, l, func(o *agentcli.Options) { o.Adapters, o.Launcher = []agentcli.Adapter{&fakeType{}}, h })
	g.spawn(runtime.Spec{ID: "a", Type: "fake"})
	g.status("a", runtime.StatusReady)
	spawned := make(chan error, 1)
	go func() {
		_, err := g.Spawn(t.Context(), runtime.Spec{ID: "b", Type: "fake"})
		spawned <- err
	}()
	defer func() { close(h.letGo); <-spawned }()
	<-h.launched
	ctx, cancel := context.WithTimeout(t.Context(), patience/2)
	defer cancel()
	got, err := g.Recover(ctx, []runtime.Handle{{ID: "a"}, {ID: "b"}})
	if err != nil || ctx.Err() != nil {
		t.Fatalf("recover: %v, %v", err, ctx.Err())
	}
	if got[0].Agent == nil || got[1].Error == nil || got[1].Error.Code != runtime.CodeTimeout {
		t.Errorf("recover: %+v", got)
	}
}

// TestRemovalCutShort looks at the order in which what is stored of an agent is removed: as long as there is anything, its record
// says whose that is. A directory that is left empty is removed by the next process.
func TestRemovalCutShort(t *testing.T) {
	t.Parallel()
	g := open(t, newLauncher(t, nil), nil)
	g.bash("a")
	if err := g.Stop(t.Context(), "a", runtime.StopOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(g.o.StateDir, "agents", "a")
	for _, name := range strings.Split("bcdefghijklmnopqstuvwxyz", "") { // a directory has no order
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gone := deletions(t, dir)
	if _, err := g.Prune(t.Context(), runtime.PruneOptions{}); err != nil {
		t.Fatal(err)
	}
	if names := gone(); len(names) < 25 || slices.Index(names, "record.json") != len(names)-1 {
		t.Errorf("removed in the order %q", names)
	}
	next := g.crash(func(dir string) {
		if err := os.Mkdir(filepath.Join(dir, "agents", "a"), 0o700); err != nil {
			t.Fatal(err)
		}
	})
	if left := next.stored(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// deletions returns what returns the names that were removed from a directory since.
func deletions(t *testing.T, dir string) func() []string {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_DELETE); err != nil {
		t.Fatal(err)
	}
	return func() (names []string) {
		buf := make([]byte, 64<<10)
		n, err := unix.Read(fd, buf)
		if err != nil {
			t.Fatal(err)
		}
		for buf = buf[:n]; len(buf) >= unix.SizeofInotifyEvent; {
			mask, size := binary.NativeEndian.Uint32(buf[4:]), binary.NativeEndian.Uint32(buf[12:])
			name, _, _ := strings.Cut(string(buf[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+size]), "\x00")
			if mask&unix.IN_DELETE != 0 {
				names = append(names, name)
			}
			buf = buf[unix.SizeofInotifyEvent+size:]
		}
		return names
	}
}
