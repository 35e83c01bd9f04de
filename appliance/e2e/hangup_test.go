package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHangupWhileItStarts sends SIGHUP to a server that still reads its configuration, which is held up by a drop-in that is a pipe:
// the start goes on to its own end. A process that ends by SIGHUP is not started again by systemd, for which that is no failure.
func TestHangupWhileItStarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config, pipe := filepath.Join(dir, "wardroom.yaml"), filepath.Join(dir, "conf.d", "10-pipe.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "server: {listen: '127.0.0.1:0'}\nstore: {path: %s}\n", filepath.Join(dir, "store")), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Dir(pipe), 0o700), syscall.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "serve", "--config", config)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer over.Stop()
	eventually(t, "the server to open the pipe", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", cmd.Process.Pid))
		for _, thread := range threads {
			if at, _ := os.ReadFile(thread); string(at) == "wait_for_partner" { // where the kernel waits for the other end
				return true
			}
		}
		return false
	})
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(pipe, os.O_RDWR, 0) // does not wait for a reader
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 78 || !strings.Contains(said.String(), "is not a regular file") {
		t.Errorf("the server ended with %s:\n%s", cmd.ProcessState, &said)
	}
}
