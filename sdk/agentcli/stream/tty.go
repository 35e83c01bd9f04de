package stream

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// TTY is a Terminal made of the master of a pty.
type TTY struct{ file *os.File }

var _ Terminal = (*TTY)(nil)

// NewTTY takes over the master of a pty, whatever happens. Libraries hand it out in blocking mode, in which no
// Close ends a Read and no deadline a Write; this one's do.
func NewTTY(master *os.File) (*TTY, error) {
	defer func() { _ = master.Close() }()
	fd, err := unix.FcntlInt(master.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return &TTY{os.NewFile(uintptr(fd), master.Name())}, nil
}

// Read implements io.Reader. The kernel's error at the end is returned as it is.
func (t *TTY) Read(b []byte) (int, error) { return t.file.Read(b) }

// Write implements io.Writer.
func (t *TTY) Write(b []byte) (int, error) { return t.file.Write(b) }

// SetWriteDeadline bounds Write.
func (t *TTY) SetWriteDeadline(at time.Time) error { return t.file.SetWriteDeadline(at) }

// Close lets go of the terminal; the kernel sends SIGHUP to the command then.
func (t *TTY) Close() error { return t.file.Close() }

// Resize implements Terminal.
func (t *TTY) Resize(cols, rows int) error {
	raw, err := t.file.SyscallConn()
	if err != nil {
		return err
	}
	// Not over Fd, which would make the file blocking again.
	var failed error
	if err := raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(cols)})
	}); err != nil {
		return err
	}
	return failed
}

// ExitOf turns what exec.Cmd.Wait returned into an exit: 128+n after signal n. agentcli.ErrGone when nobody
// knows.
func ExitOf(err error) (runtime.Exit, error) {
	if err == nil {
		return runtime.Exit{}, nil
	}
	var failed *exec.ExitError
	if !errors.As(err, &failed) {
		return runtime.Exit{}, agentcli.ErrGone
	}
	exit := runtime.Exit{Code: failed.ExitCode()}
	if status, ok := failed.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		exit.Code = 128 + int(status.Signal())
	}
	return exit, nil
}
