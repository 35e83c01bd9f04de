package e2e_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHangupWhileItStarts sends SIGHUP to a server that starts, and is held up by a pipe that takes no more of its log: the start
// goes on to its own end. A process that ends by SIGHUP is not started again by systemd, for which that is no failure.
func TestHangupWhileItStarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	config := filepath.Join(dir, "wardroom.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "server: {listen: '127.0.0.1:0'}\nstore: {path: %s}\n", filepath.Join(dir, "store")), 0o600); err != nil {
		t.Fatal(err)
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	filled := fillPipe(t, in)
	cmd := exec.Command(binary, "serve", "--config", config)
	cmd.Stdout, cmd.Stderr = in, in
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = cmd.Start()
	_ = in.Close()
	if err != nil {
		t.Fatal(err)
	}
	over := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer over.Stop()
	eventually(t, "the server to be held up", func() bool {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/wchan", cmd.Process.Pid))
		for _, thread := range threads {
			if at, _ := os.ReadFile(thread); strings.Contains(string(at), "pipe_write") { // where the kernel waits for room
				return true
			}
		}
		return false
	})
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, out, filled); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	ready := false
	for lines := bufio.NewScanner(io.TeeReader(out, &said)); lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "ready: ") {
			ready = true
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); err != nil || !ready {
		t.Errorf("the server was ready: %t, and ended with %v:\n%s", ready, err, &said)
	}
}

// fillPipe writes to a pipe until it takes no more, and returns how much it took. Writes to it wait from then on.
func fillPipe(t *testing.T, in *os.File) (filled int64) {
	t.Helper()
	fd := int(in.Fd())
	if err := syscall.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	for part := make([]byte, 4096); ; {
		n, err := syscall.Write(fd, part)
		filled += int64(max(n, 0))
		switch {
		case errors.Is(err, syscall.EAGAIN) && len(part) > 1:
			part = part[:1]
		case errors.Is(err, syscall.EAGAIN):
			if err := syscall.SetNonblock(fd, false); err != nil {
				t.Fatal(err)
			}
			return filled
		case err != nil:
			t.Fatal(err)
		}
	}
}
