package stream_test

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/stream"
)

// openTTY makes a TTY of a master that the library left in blocking mode.
func openTTY(t *testing.T) (*stream.TTY, *os.File) {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slave.Close() })
	if err := pty.Setsize(master, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		t.Fatal(err)
	}
	tty, err := stream.NewTTY(master)
	if err != nil {
		t.Fatal(err)
	}
	return tty, slave
}

// TestTTYCloseEndsRead also resizes before, which must not make the file blocking again.
func TestTTYCloseEndsRead(t *testing.T) {
	tty, slave := openTTY(t)
	if err := tty.Resize(132, 43); err != nil {
		t.Fatal(err)
	}
	if size, err := pty.GetsizeFull(slave); err != nil || size.Cols != 132 || size.Rows != 43 {
		t.Errorf("the size is %+v, error %v", size, err)
	}
	failed := make(chan error, 1)
	go func() {
		_, err := tty.Read(make([]byte, 1))
		failed <- err
	}()
	if err := tty.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-failed:
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("Read: %v", err)
		}
	case <-time.After(patience):
		t.Fatal("Close does not end a Read")
	}
}

func TestTTYWriteDeadline(t *testing.T) {
	tty, _ := openTTY(t)
	defer func() { _ = tty.Close() }()
	if err := tty.SetWriteDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	var err error
	for range 1000 { // nobody reads the slave, so the kernel takes some of it only
		if _, err = tty.Write(make([]byte, 4096)); err != nil {
			break
		}
	}
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Write: %v", err)
	}
}

func TestNewTTYRefuses(t *testing.T) {
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	_ = file.Close()
	if _, err := stream.NewTTY(file); err == nil {
		t.Error("a closed file is taken")
	}
}

func TestExitOf(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -TERM $$": 143, "kill -KILL $$": 137} {
		exit, err := stream.ExitOf(exec.Command("sh", "-c", script).Run())
		if err != nil || exit.Code != want {
			t.Errorf("%s: %+v, error %v", script, exit, err)
		}
	}
	if _, err := stream.ExitOf(errors.New("wait was called before")); !errors.Is(err, agentcli.ErrGone) {
		t.Errorf("an unknown end: %v, want ErrGone", err)
	}
}
