package local_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/plugins/runtime-local/local"
	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/launchertest"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// holderBinary is built once for all tests.
var holderBinary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "holder")
	if err != nil {
		panic(err)
	}
	holderBinary = filepath.Join(dir, "holder")
	build := exec.Command("go", "build", "-o", holderBinary, "github.com/wardroom/wardroom/plugins/holder")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		panic(err)
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// open makes a launcher over a directory; agents outlive it.
func open(t testing.TB, dir string, change func(*local.Options)) *local.Launcher {
	t.Helper()
	opts := local.Options{StateDir: filepath.Join(dir, "state"), RunDir: filepath.Join(dir, "run"), Holder: holderBinary}
	if change != nil {
		change(&opts)
	}
	l := local.New(opts)
	if err := l.Open(t.Context()); err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestLauncherContract(t *testing.T) {
	launchertest.Run(t, launchertest.Options{
		Survives: true,
		New:      func(t *testing.T, dir string) agentcli.Launcher { return open(t, dir, nil) },
	})
}

// TestLauncherOverANetwork keeps the contract where the connection to a holder is cut.
func TestLauncherOverANetwork(t *testing.T) {
	var network *launchertest.Network
	launchertest.Run(t, launchertest.Options{
		Survives: true,
		New: func(t *testing.T, dir string) agentcli.Launcher {
			network = launchertest.NewNetwork(open(t, dir, nil), time.Millisecond)
			return network
		},
		Sever: func(*testing.T, agentcli.Process) {
			network.Cut()
			network.Mend()
		},
	})
}

// TestUnreadRecord has a record that cannot be read, as without a free descriptor: its agent is not taken for gone, nor for removed,
// while its processes may run on.
func TestUnreadRecord(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, nil)
	record := filepath.Join(dir, "state", "agents", "agent-1", "life.json")
	if err := os.MkdirAll(record, 0o700); err != nil { // a read of it is EISDIR
		t.Fatal(err)
	}
	if _, err := l.Latest(t.Context(), "agent-1", time.Time{}); errors.Is(err, agentcli.ErrGone) || runtime.ErrorCode(err) != runtime.CodeInternal {
		t.Errorf("its latest life: %v", err)
	}
	if err := l.Remove(t.Context(), "agent-1"); runtime.ErrorCode(err) != runtime.CodeInternal {
		t.Errorf("its removal: %v", err)
	}
	if _, err := os.Stat(record); err != nil {
		t.Errorf("its record: %v", err)
	}
}
