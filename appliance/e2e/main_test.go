package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// binary is the wardroom under test.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "wardroom-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if binary = os.Getenv("WARDROOM_E2E_BIN"); binary == "" {
		binary = filepath.Join(dir, "wardroom")
		if out, err := exec.Command("go", "build", "-o", binary,
			"github.com/wardroom/wardroom/appliance/cmd/wardroom").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build the binary: %v\n%s", err, out)
			return 1
		}
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// patience is how long a test waits for what must come.
const patience = 20 * time.Second

// eventually waits until cond holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
		<-tick.C
	}
}

// requireReal skips a test that the machine cannot run, or fails it where everything must be there.
func requireReal(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("WARDROOM_REQUIRE_REAL") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}
