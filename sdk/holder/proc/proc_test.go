package proc_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/holder/proc"
)

func TestParseStat(t *testing.T) {
	const line = "42 (a) b (c) S 7 42 42 34816 42 4194304 100 0 0 0 11 22 33 44 20 0 1 0 98765 1000 250 18446744073709551615 1 1\n"
	info, err := proc.ParseStat([]byte(line))
	want := proc.Info{
		ID: proc.ID{PID: 42, Start: 98765}, Parent: 7, State: 'S', Group: 42, Foreground: 42, CPU: 33 * proc.Tick, ReapedCPU: 77 * proc.Tick, MemoryPages: 250,
	}
	if err != nil || info != want {
		t.Errorf("got %+v, error %v, want %+v", info, err, want)
	}
	for _, bad := range []string{"", "42", "42 (a", "x (a) S 1", "42 (a) S 1 2 3", ") 1 ("} {
		if _, err := proc.ParseStat([]byte(bad)); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("42 (a) S 7 42 42 34816 42 4194304 100 0 0 0 11 22 33 44 20 0 1 0 98765 1000 250\n"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = proc.ParseStat(data) })
}

// sleeper starts a marked process that is ended with the test.
func sleeper(t *testing.T, mark string) (proc.ID, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command("sleep", "60")
	cmd.Env = []string{"WARDROOM_TEST_MARK=" + mark}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	info, err := proc.Stat(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	return info.ID, cmd
}

func TestSignal(t *testing.T) {
	id, cmd := sleeper(t, "signal")
	other := proc.ID{PID: id.PID, Start: id.Start + 1}
	if err := proc.Signal(other, unix.SIGKILL); !errors.Is(err, proc.ErrGone) {
		t.Errorf("a process with another start time: %v, want ErrGone", err)
	}
	if proc.Alive(other) || !proc.Alive(id) {
		t.Error("Alive mistakes one process for another")
	}
	if err := proc.Signal(id, unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if err := proc.Signal(id, 0); !errors.Is(err, proc.ErrGone) {
		t.Errorf("an ended process: %v, want ErrGone", err)
	}
}

func TestDescendants(t *testing.T) {
	id, _ := sleeper(t, "tree")
	list, err := proc.Descendants(os.Getpid())
	if err != nil || !slices.ContainsFunc(list, func(p proc.Info) bool { return p.ID == id && p.Parent == os.Getpid() }) {
		t.Errorf("the child %+v is not among %+v, error %v", id, list, err)
	}
}

func TestMarked(t *testing.T) {
	id, _ := sleeper(t, "here")
	// The environment shows once the process has started its program.
	for until := time.Now().Add(10 * time.Second); ; {
		found, err := proc.Marked("WARDROOM_TEST_MARK")
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(found["here"], id) {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("%+v is not among %+v", id, found)
		}
	}
}

// A process that does nothing but exec is found at every look.
func TestMarkedInExec(t *testing.T) {
	script := filepath.Join(t.TempDir(), "again")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexec \"$0\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(script)
	cmd.Env = []string{"WARDROOM_TEST_MARK=exec"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for found := 0; found < 100; {
		marked, err := proc.Marked("WARDROOM_TEST_MARK")
		if err != nil {
			t.Fatal(err)
		}
		if len(marked["exec"]) == 1 {
			found++
		} else if found > 0 {
			t.Fatalf("it was missed after %d looks", found)
		}
	}
}

func TestBootID(t *testing.T) {
	a, err := proc.BootID()
	b, _ := proc.BootID()
	if err != nil || a == "" || a != b {
		t.Errorf("%q and %q, error %v", a, b, err)
	}
}
