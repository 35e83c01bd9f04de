//go:build linux

package coredump_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/coredump"
)

// A process whose limit was as high as it may be dumps nothing once it called Off, nor does what it starts.
func TestOff(t *testing.T) {
	if os.Getenv("COREDUMP_TEST") != "" {
		if err := coredump.Off(); err != nil {
			t.Fatal(err)
		}
		child := exec.Command("sh", "-c", "kill -ABRT $$")
		var ended *exec.ExitError
		if err := child.Run(); !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).CoreDump() {
			t.Errorf("the child dumped: %v", err)
		}
		var l unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_CORE, &l); err != nil || l.Cur > coredump.Limit {
			t.Errorf("%+v, %v", l, err)
		}
		return
	}
	cmd := exec.Command("sh", "-c", `ulimit -S -c $(ulimit -H -c) && exec "$0" -test.run '^TestOff$'`, os.Args[0])
	cmd.Env, cmd.Dir = append(os.Environ(), "COREDUMP_TEST=1"), t.TempDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if found, _ := filepath.Glob(filepath.Join(cmd.Dir, "*")); len(found) > 0 {
		t.Errorf("it left %v", found)
	}
}
