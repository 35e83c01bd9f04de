package appliance

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/hashicorp/go-hclog"
)

// TestRunDirsOfDeadServers: what a server that was killed left among the temporary files is removed by the next one once
// its state directory is gone, and nothing else is.
func TestRunDirsOfDeadServers(t *testing.T) {
	temp, err := os.MkdirTemp("", "w") // sockets have short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	t.Setenv("TMPDIR", temp)
	t.Setenv("RUNTIME_DIRECTORY", "")
	deep := filepath.Join(temp, "a-data-directory-whose-path-is-too-long-for-sockets")

	// server makes the run directory of a server with a socket in it; alive keeps it claimed.
	server := func(name string, alive bool) (run string) {
		t.Helper()
		state := filepath.Join(deep, name)
		if err := os.MkdirAll(state, 0o700); err != nil {
			t.Fatal(err)
		}
		run, err := runDir(state)
		if err != nil || !temporaryRun(run) {
			t.Fatalf("%s: %v", run, err)
		}
		file, err := claimRunDir(t.Context(), run, state)
		if err != nil || file == nil {
			t.Fatalf("claim: %v, %v", file, err)
		}
		if err := os.Mkdir(filepath.Join(run, "plugins"), 0o700); err != nil {
			t.Fatal(err)
		}
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(run, "plugins", "p"), Net: "unix"})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false)
		_ = l.Close()
		if alive {
			t.Cleanup(func() { _ = file.Close() })
		} else {
			_ = file.Close()
		}
		return run
	}
	gone := func(name string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(deep, name)); err != nil {
			t.Fatal(err)
		}
	}

	dead := server("dead", false)
	gone("dead")
	kept := map[string]string{}
	kept["its data is still there"] = server("data", false)
	kept["its server lives"] = server("alive", true)
	gone("alive")
	kept["an agent lives"] = server("agent", false)
	gone("agent")
	l, err := net.Listen("unix", filepath.Join(kept["an agent lives"], "plugins", "q"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	kept["it names another directory"] = server("other", false)
	gone("other")
	if err := os.WriteFile(filepath.Join(kept["it names another directory"], ownerFile), []byte(deep+"/no-such"), 0o600); err != nil {
		t.Fatal(err)
	}
	kept["it names none"] = server("none", false)
	gone("none")
	if err := os.Remove(filepath.Join(kept["it names none"], ownerFile)); err != nil {
		t.Fatal(err)
	}
	kept["others may write to it"] = server("open", false)
	gone("open")
	if err := os.Chmod(kept["others may write to it"], 0o777); err != nil {
		t.Fatal(err)
	}

	state := filepath.Join(deep, "next")
	run, err := runDir(state)
	if err != nil {
		t.Fatal(err)
	}
	a := &App{log: hclog.NewNullLogger()}
	if err := a.clearRunDirs(t.Context(), run, state); err != nil {
		t.Fatal(err)
	}
	defer a.runOwner.Close()
	if _, err := os.Lstat(dead); !os.IsNotExist(err) {
		t.Errorf("what the dead server left is there: %v", err)
	}
	for why, dir := range kept {
		if _, err := os.Lstat(dir); err != nil {
			t.Errorf("removed although %s: %v", why, err)
		}
	}
	if _, err := os.Lstat(run); err != nil {
		t.Errorf("its own is gone: %v", err)
	}
	if again, err := claimRunDir(t.Context(), run, state); err != nil || again != nil {
		t.Errorf("claimed twice: %v, %v", again, err)
	}
}
