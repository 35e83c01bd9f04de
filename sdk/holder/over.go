package holder

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

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
	in, err := launchFrame(l)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	cmd := over(ctx, "start", log)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(in), &out, &said
	cmd.WaitDelay = time.Second
	failed := cmd.Run()
	h := new(Holding)
	if out.Len() > 0 {
		if err := h.started(&out); err != nil {
			return nil, err
		}
		return h, nil
	}
	switch {
	case ctx.Err() != nil:
		return nil, runtime.Errorf(runtime.CodeTimeout, "the start of the agent was not waited for")
	case failed == nil:
		failed = errors.New("it said nothing")
	}
	return nil, &runtime.Error{
		Code: runtime.CodeUnavailable, Retry: true,
		Message: fmt.Sprintf("the holder cannot be started over there: %v: %s", failed, lastLine(said.Bytes())),
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

// DialOver returns the Options.Dial for a holder that StartOver started: each connection is a command that runs the binary
// with "connect SOCKET". A socket that nobody listens on any more is agentcli.ErrGone; a transport that fails is UNAVAILABLE.
func DialOver(over Transport, socket string) func(ctx context.Context) (net.Conn, error) {
	return func(context.Context) (net.Conn, error) {
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, err
		}
		near, far := os.NewFile(uintptr(pair[0]), "near"), os.NewFile(uintptr(pair[1]), "far")
		defer func() { _, _ = near.Close(), far.Close() }() // the connection has a copy of the one, the command of the other
		conn, err := net.FileConn(near)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(context.Background()) // the connection outlives the call
		cmd := over(ctx, "connect", socket)
		cmd.Stdin, cmd.Stdout = far, far
		cmd.WaitDelay = time.Second
		if err := cmd.Start(); err != nil {
			cancel()
			return nil, errors.Join(err, conn.Close())
		}
		c := &commandConn{Conn: conn, cancel: cancel, ended: make(chan struct{})}
		go func() {
			defer close(c.ended)
			_ = cmd.Wait() // that the connection is cut is seen on it
		}()
		return c, nil
	}
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
