package holder

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Transport makes a command that runs the holder's binary with arguments where the agents live: over ssh, or in a
// container. Standard input and output of the command are those of the binary. Ending the command must cut the connection
// and nothing else. It is called for each start and each connection; ctx ends the command.
type Transport func(ctx context.Context, args ...string) *exec.Cmd

// StartOver is Start of a holder elsewhere: it runs the binary with "start LOG" over the transport. Paths of l, and log,
// are paths there; log gets what the holder says when it crashes. The pids of Holding are those of the other place, and
// only Command is known. Errors are *runtime.Error: UNAVAILABLE, which may be tried again, when the transport failed before
// anything was started; TIMEOUT when it is not known whether the command runs, and Connect tells.
func StartOver(ctx context.Context, over Transport, log string, l wire.Launch) (*Holding, error) {
	return startBy(ctx, func(ctx context.Context, in io.Reader, out io.Writer, args ...string) error {
		cmd := over(ctx, args...)
		var said ending
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &said
		cmd.WaitDelay = time.Second
		err := cmd.Run()
		if line := lastLine(said.said); line != "" {
			err = errors.Join(err, errors.New(line))
		}
		return err
	}, log, l)
}

// Stream runs the holder's binary with arguments where the agents live, such as by an exec in a pod, until it ends; in and out
// are its standard input and output. When ctx ends the connection is cut, and nothing else.
type Stream func(ctx context.Context, in io.Reader, out io.Writer, args ...string) error

// Start is StartOver over a stream.
func (s Stream) Start(ctx context.Context, log string, l wire.Launch) (*Holding, error) {
	return startBy(ctx, s, log, l)
}

// StartDial is Start, and a connection to what was started by the same command, as Dial makes them; it saves one. The
// connection is nil where the binary is of an older version, which has no such command.
func (s Stream) StartDial(ctx context.Context, log, socket string, l wire.Launch) (*Holding, net.Conn, error) {
	in, err := launchFrame(l)
	if err != nil {
		return nil, nil, err
	}
	limited, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	var failed error // read after the end of the connection
	conn, err := s.serve(func(err error) { failed = err }, "start", log, socket)
	if err != nil {
		return nil, nil, spawnFailed(err)
	}
	stop := context.AfterFunc(limited, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	h := new(Holding)
	var heard bytes.Buffer
	if _, err = conn.Write(in); err == nil {
		err = h.started(io.TeeReader(conn, &heard))
	}
	if stop() && err == nil {
		return h, conn, nil
	}
	_ = conn.Close()
	var ended interface{ ExitCode() int }
	switch {
	case heard.Len() > 0 && err != nil:
		return nil, nil, err
	case errors.As(failed, &ended) && ended.ExitCode() == usageCode:
		h, err := s.Start(ctx, log, l)
		return h, nil, err
	}
	return nil, nil, notStarted(limited, failed)
}

// usageCode is the exit code of the binary when its arguments are wrong.
const usageCode = 2

func startBy(ctx context.Context, over Stream, log string, l wire.Launch) (*Holding, error) {
	in, err := launchFrame(l)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	var out answer
	failed := out.failed(over(ctx, bytes.NewReader(in), &out, "start", log))
	if out.kept.Len() > 0 {
		h := new(Holding)
		if err := h.started(&out.kept); err != nil {
			return nil, err
		}
		return h, nil
	}
	return nil, notStarted(ctx, failed)
}

// notStarted is the error of a start over a transport that said nothing of what became of it.
func notStarted(ctx context.Context, failed error) error {
	var known *runtime.Error
	switch {
	case ctx.Err() != nil:
		return runtime.Errorf(runtime.CodeTimeout, "the start of the agent was not waited for")
	case errors.As(failed, &known):
		return known
	case failed == nil:
		failed = errors.New("it said nothing")
	}
	return &runtime.Error{
		Code: runtime.CodeUnavailable, Retry: true,
		Message: "the holder cannot be started over there: " + strings.ReplaceAll(failed.Error(), "\n", ": "),
	}
}

// lastLine is the last thing that a failed command said, of a length for an error.
func lastLine(said []byte) string {
	said = bytes.TrimSpace(said)
	if i := bytes.LastIndexByte(said, '\n'); i >= 0 {
		said = said[i+1:]
	}
	return string(bytes.ToValidUTF8(said[:min(len(said), 200)], []byte("?")))
}

// DialOver returns the Options.Dial for a holder that StartOver started: each connection is a command that runs the
// binary with "connect SOCKET". A socket that nothing listens on any more is agentcli.ErrGone; a transport that fails
// is UNAVAILABLE.
func DialOver(over Transport, socket string) func(ctx context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		return connectBy(func(ctx context.Context, far *os.File) (func(), error) {
			cmd := over(ctx, "connect", socket)
			cmd.Stdin, cmd.Stdout = far, far
			cmd.WaitDelay = time.Second
			// That the connection is cut is seen on it.
			return func() { _ = cmd.Wait() }, cmd.Start()
		})
	}
}

// Dial is DialOver over a stream.
func (s Stream) Dial(socket string) func(ctx context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) { return s.serve(func(error) {}, "connect", socket) }
}

// serve returns a connection to the binary's standard input and output; ended gets what the stream returned, before Close
// returns.
func (s Stream) serve(ended func(error), args ...string) (net.Conn, error) {
	return connectBy(func(ctx context.Context, far *os.File) (func(), error) {
		// The descriptor of its own outlives the call.
		fd, err := unix.FcntlInt(far.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		if err := unix.SetNonblock(fd, true); err != nil {
			return nil, errors.Join(err, unix.Close(fd))
		}
		end := os.NewFile(uintptr(fd), "far")
		stop := context.AfterFunc(ctx, func() { _ = end.SetDeadline(time.Unix(1, 0)) }) // who reads or writes it lets go
		return func() {
			ended(s(ctx, end, end, args...))
			stop()
			_ = end.Close()
		}, nil
	})
}

// connectBy returns the near end of a pair of sockets; begin starts what serves the far one, and returns what waits for the
// end of that.
func connectBy(begin func(ctx context.Context, far *os.File) (wait func(), err error)) (net.Conn, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	near, far := os.NewFile(uintptr(pair[0]), "near"), os.NewFile(uintptr(pair[1]), "far")
	defer func() { _, _ = near.Close(), far.Close() }() // the connection has a copy of the one, what serves it of the other
	conn, err := net.FileConn(near)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background()) // the connection outlives the call
	wait, err := begin(ctx, far)
	if err != nil {
		cancel()
		return nil, errors.Join(err, conn.Close())
	}
	c := &commandConn{Conn: conn, cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		wait()
	}()
	return c, nil
}

// commandConn is a connection through a command, which ends with it.
type commandConn struct {
	net.Conn
	cancel context.CancelFunc
	ended  chan struct{} // closed when the command has
	once   sync.Once
	err    error
}

// Close ends the command, and waits for it.
func (c *commandConn) Close() error {
	c.once.Do(func() {
		c.err = c.Conn.Close()
		c.cancel()
		<-c.ended
	})
	return c.err
}
