package e2e_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLogReaderLeaves runs a server whose log goes into a pipe, as to a program that keeps logs, and ends that program: the server
// goes on, and its end is an orderly one.
func TestLogReaderLeaves(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "wr") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	config := filepath.Join(dir, "wardroom.yaml")
	text := fmt.Sprintf("server: {listen: '127.0.0.1:0'}\nstore: {path: %s}\n", filepath.Join(dir, "store"))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	cmd := exec.Command(binary, "serve", "--config", config)
	cmd.Env = append(os.Environ(), "RUNTIME_DIRECTORY=")
	cmd.Stdout, cmd.Stderr = writer, writer
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer over.Stop()
	_ = writer.Close() // the server has its own
	for lines := bufio.NewScanner(reader); lines.Scan() && !strings.HasPrefix(lines.Text(), "ready: "); {
	}
	_ = reader.Close()

	reload := exec.Command(binary, "reload") // it writes into the log
	reload.Env = append(os.Environ(), "WARDROOM_ADMIN_SOCKET="+filepath.Join(dir, "store", "admin.sock"))
	if out, err := reload.CombinedOutput(); err != nil {
		t.Errorf("reload: %v: %s", err, out)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}

// TestLastWordsAfterLogReader has a server refuse its configuration when nothing reads its log any more: it ends with the code of that,
// and not by the signal of a broken pipe, which a service manager takes for an orderly end.
func TestLastWordsAfterLogReader(t *testing.T) {
	t.Parallel()
	config := filepath.Join(t.TempDir(), "wardroom.yaml")
	if err := os.WriteFile(config, []byte("server: {listen: 7}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = reader.Close()
	defer writer.Close()
	cmd := exec.Command(binary, "serve", "--config", config)
	cmd.Stdout, cmd.Stderr = writer, writer
	_ = cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 78 {
		t.Errorf("the server ended with %s", cmd.ProcessState)
	}
}
