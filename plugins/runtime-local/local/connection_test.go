package local_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/plugins/runtime-local/local"
	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/launchertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// cut breaks every connection of this process to sockets in a run directory, as a holder does that drops a client
// which was suspended for too long.
func cut(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	broken := 0
	for _, entry := range entries {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		peer, err := unix.Getpeername(fd)
		if err != nil {
			continue
		}
		if at, ok := peer.(*unix.SockaddrUnix); ok && strings.HasPrefix(at.Name, dir+"/") && unix.Shutdown(fd, unix.SHUT_RDWR) == nil {
			broken++
		}
	}
	if broken == 0 {
		t.Fatal("there was no connection to break")
	}
}

// shells opens a runtime with shells over the launcher.
func shells(t *testing.T, dir string, launcher agentcli.Launcher) *agentcli.Runtime {
	t.Helper()
	r, err := agentcli.NewRuntime(agentcli.Options{
		Name: "local", Launcher: launcher, StateDir: filepath.Join(dir, "sessions"),
		Types: map[string]runtime.DeclaredType{"shell": {
			Command: "bash", Args: []string{"--norc", "--noprofile"}, Env: map[string]string{"PS1": "ready$ ", "HISTFILE": ""},
			Ready: runtime.ReadyRule{Pattern: `^ready\$ $`}, Exit: "exit",
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "sessions"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := r.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		agents, err := r.List(ctx, runtime.ListFilter{})
		if err != nil && runtime.ErrorCode(err) != runtime.CodeUnavailable {
			t.Error(err)
		}
		for _, a := range agents {
			if err := r.Stop(ctx, a.ID, runtime.StopOptions{Force: true}); err != nil {
				t.Error(err)
			}
		}
		if err := r.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return r
}

func status(t *testing.T, r *agentcli.Runtime, id string, want runtime.Status) runtime.Agent {
	t.Helper()
	var a runtime.Agent
	eventually(t, "the status "+string(want), func() bool {
		var err error
		a, err = r.Inspect(t.Context(), id)
		return err == nil && a.Status == want
	})
	return a
}

func ask(t *testing.T, r *agentcli.Runtime, id, text string) string {
	t.Helper()
	var answer string
	eventually(t, "an answer to "+text, func() bool {
		got, err := r.Send(t.Context(), id, runtime.Input{Message: text, ExpectResponse: true})
		if err == nil {
			answer = got.Response.Text
		} else if code := runtime.ErrorCode(err); code != runtime.CodeUnavailable && code != runtime.CodeNotRunning && code != runtime.CodeDeliveryUnknown {
			t.Fatal(err)
		}
		return err == nil
	})
	return answer
}

// TestConnectionLost breaks the connection to a holder that lives: its agent lives on, and is found again.
func TestConnectionLost(t *testing.T) {
	dir := t.TempDir()
	r := shells(t, dir, open(t, dir, nil))
	if _, err := r.Spawn(t.Context(), runtime.Spec{ID: "a", Type: "shell"}); err != nil {
		t.Fatal(err)
	}
	before := status(t, r, "a", runtime.StatusReady)
	ask(t, r, "a", "x=kept")
	cut(t, filepath.Join(dir, "run"))
	if got := ask(t, r, "a", "echo $x"); got != "kept" {
		t.Errorf("the shell answers %q", got)
	}
	if after := status(t, r, "a", runtime.StatusReady); after.PID != before.PID {
		t.Errorf("pid %d, was %d", after.PID, before.PID)
	}
}

// late is a launcher whose runtime dies right after the command was started.
type late struct {
	*local.Launcher
	started chan struct{}
}

var errDied = errors.New("the runtime died here")

func (l late) Launch(ctx context.Context, cmd agentcli.Command) (agentcli.Process, error) {
	p, err := l.Launcher.Launch(ctx, cmd)
	if err != nil {
		return nil, err
	}
	close(l.started)
	<-ctx.Done() // nothing is recorded of the process
	return nil, errors.Join(errDied, p.Close())
}

// TestKilledAfterTheStart is the death of the runtime between the start of a command and its record: the next
// runtime knows the agent, which runs.
func TestKilledAfterTheStart(t *testing.T) {
	dir := t.TempDir()
	first := late{open(t, dir, nil), make(chan struct{})}
	r := shells(t, dir, first)
	go func() { _, _ = r.Spawn(t.Context(), runtime.Spec{ID: "a", Type: "shell"}) }()
	select {
	case <-first.started:
	case <-time.After(patience):
		t.Fatal("nothing is started")
	}
	// What a SIGKILL would leave is what is on the disk now.
	copied := t.TempDir()
	if err := os.Rename(launchertest.Crashed(t, filepath.Join(dir, "sessions")), filepath.Join(copied, "sessions")); err != nil {
		t.Fatal(err)
	}
	next := shells(t, copied, open(t, dir, nil))
	a := status(t, next, "a", runtime.StatusReady)
	if a.PID == 0 || unix.Kill(a.PID, 0) != nil {
		t.Errorf("its process %d does not run", a.PID)
	}
	if got := ask(t, next, "a", "echo hello"); got != "hello" {
		t.Errorf("the shell answers %q", got)
	}
	stream, err := next.Events(t.Context(), runtime.EventOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := stream.Next(); err != nil || e.Type != runtime.EventStarted || e.Agent.Handle.IsZero() {
		t.Errorf("the first event is %+v, %v", e, err)
	}
}

// TestKilledWithinTheStart is the death of the runtime after the holder was started and before that was noted: the next runtime finds
// an agent that runs, and ends what a holder left that is dead as well.
func TestKilledWithinTheStart(t *testing.T) {
	dir := t.TempDir()
	p, room := start(t, open(t, dir, nil), "victim", stubborn)
	readUntil(t, p, 0, "go")
	list, holder := pids(t, room), holderOf(t, p)
	_ = p.Close()
	path := filepath.Join(dir, "state", "agents", "victim", "life.json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]any
	if err := json.Unmarshal(data, &record); err != nil {
		t.Fatal(err)
	}
	record["holder"], record["command"] = map[string]int{"pid": 0, "start": 0}, map[string]int{"pid": 0, "start": 0}
	if data, err = json.Marshal(record); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	next := open(t, dir, nil)
	handle, err := next.Latest(t.Context(), "victim", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := next.Find(t.Context(), handle)
	if err != nil {
		t.Fatal(err)
	}
	if allGone(list[:1]) || found.Info().PID != list[0] {
		t.Errorf("its process %d does not run", list[0])
	}
	_ = found.Close()
	if err := unix.Kill(holder, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the end of what the holder left", func() bool { open(t, dir, nil); return allGone(list) })
}
