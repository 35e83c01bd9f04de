package local_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/plugins/runtime-local/local"
	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// slowHolder makes a holder that writes its pid into the file "begun" of a directory, and does nothing before the file "go" is there.
func slowHolder(t *testing.T, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "slow-holder")
	script := fmt.Sprintf("#!/bin/sh\necho $$ >%[1]s/new && mv %[1]s/new %[1]s/begun\nwhile [ ! -e %[1]s/go ]; do sleep 0.05; done\nexec %[2]s \"$@\"\n", dir, holderBinary)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// handed reports whether the process whose pid is in a file was handed something on its standard input that it has not read.
func handed(path string) (pid int, ok bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, false
	}
	in, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/0", pid), os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, false
	}
	defer func() { _ = in.Close() }()
	n, err := unix.IoctlGetInt(int(in.Fd()), unix.TIOCINQ)
	return pid, err == nil && n > 0
}

// TestStartCutShort ends the runtime when it has handed the command to a holder that did not begin to listen: where the next one finds
// nothing of the agent, none starts later.
func TestStartCutShort(t *testing.T) {
	dir, at := t.TempDir(), t.TempDir()
	l := open(t, dir, func(o *local.Options) { o.Holder = slowHolder(t, at) })
	spec := runtime.Spec{ID: "agent-1", Type: "shell"}
	room, err := l.Prepare(t.Context(), &spec)
	if err != nil {
		t.Fatal(err)
	}
	ran := filepath.Join(at, "ran")
	launched := make(chan error, 1)
	go func() {
		p, err := l.Launch(t.Context(), agentcli.Command{
			Spec: &spec, Room: room, Path: "/bin/sh", Args: []string{"-c", "touch " + ran + "; sleep 60"}, Env: room.Env, Cols: 80, Rows: 24,
		})
		if err == nil {
			err = errors.Join(p.Kill(t.Context()), p.Close())
		}
		launched <- err
	}()
	var pid int
	eventually(t, "the command is handed over", func() (ok bool) {
		pid, ok = handed(filepath.Join(at, "begun"))
		return ok
	})
	next := open(t, dir, nil)
	handle, err := next.Latest(t.Context(), spec.ID, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := next.Find(t.Context(), handle); !errors.Is(err, agentcli.ErrGone) {
		t.Fatalf("found %v, %v", p, err)
	}
	if err := os.WriteFile(filepath.Join(at, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-launched; runtime.ErrorCode(err) != runtime.CodeSpawnFailed {
		t.Errorf("the start that was cut short: %v", err)
	}
	if _, err := os.Stat(ran); err == nil || !allGone([]int{pid}) {
		t.Error("an agent that was found to be gone was started then")
	}
}
