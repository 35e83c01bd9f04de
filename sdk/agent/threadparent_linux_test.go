package agent

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
)

// TestHostedBelowAnUnreadableDirectory checks that threads are hosted whose StateDir lies in a directory that the user of the
// process may enter and not read, as the private directories of a service manager are.
func TestHostedBelowAnUnreadableDirectory(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "private")
	dir := filepath.Join(parent, "state")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	a, err := New(Options{
		URL: "http://127.0.0.1:1", Name: "n", StateFile: filepath.Join(t.TempDir(), "session.json"),
		Threads: &ThreadOptions{Max: 1, Types: []string{"x"}, Host: keptHost{}, StateDir: dir},
	})
	if err != nil {
		t.Fatal(err)
	}
	th := journalled(t, dir)
	if err := os.Chmod(parent, 0o311); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(parent, 0o700) })
	if os.Geteuid() == 0 { // who may read everything otherwise
		const other = 65534
		if err := os.Chown(dir, other, other); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(th.entry.journal.path, other, other); err != nil {
			t.Fatal(err)
		}
		for up := filepath.Dir(parent); up != os.TempDir() && up != "/"; up = filepath.Dir(up) {
			if err := os.Chmod(up, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(other); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = syscall.Setfsuid(0) }()
		if _, err := os.Stat(dir); err != nil {
			t.Skipf("temporary files lie where no other user gets: %v", err)
		}
	}
	if err := a.threads.hosted(th); err != nil {
		t.Error(err)
	}
}
