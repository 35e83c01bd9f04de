package holder

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Defaults of a Launch.
const (
	DefaultRing   = 256 << 10
	DefaultStall  = 5 * time.Second
	DefaultLinger = 5 * time.Minute
)

// NewNonce makes the nonce of a life.
func NewNonce() wire.Nonce {
	var n wire.Nonce
	_, _ = rand.Read(n[:]) // never fails
	return n
}

// Holding is a holding process that was just started.
type Holding struct {
	Holder  proc.ID
	Command proc.ID
}

// Reap waits for the holding process, which is a child of this one; it returns at once unless wait is set, and
// reports whether it has ended.
func (h *Holding) Reap(wait bool) bool {
	flags := syscall.WNOHANG
	if wait {
		flags = 0
	}
	for {
		pid, err := syscall.Wait4(h.Holder.PID, nil, flags, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		return err != nil || pid == h.Holder.PID
	}
}

// launchFrame returns the frame that the holding process reads, with defaults in place of zero values.
func launchFrame(l wire.Launch) ([]byte, error) {
	l.RingBytes = cmp.Or(l.RingBytes, DefaultRing)
	l.Stall = cmp.Or(l.Stall, DefaultStall)
	l.Linger = cmp.Or(l.Linger, DefaultLinger)
	in := wire.Append(nil, l)
	if len(in) > wire.MaxBody {
		return nil, runtime.Invalid("env", "arguments and environment together are larger than 4 MiB")
	}
	return in, nil
}

// Start starts the binary at path to hold what l says, in a session of its own. Zero values of l get their
// defaults. What goes wrong there is *runtime.Error; log gets what the holding process says when it crashes, and
// may be nil.
func Start(ctx context.Context, path string, l wire.Launch, log *os.File) (*Holding, error) {
	return StartNoted(ctx, path, l, log, func(proc.ID) error { return nil })
}

// StartNoted is Start that calls note with the holding process before that receives what to hold. A later process that knows it by
// then can end it, whether or not it has begun to listen; one that this process did not live to note ends by itself. Nothing
// starts if note fails: SPAWN_FAILED.
func StartNoted(ctx context.Context, path string, l wire.Launch, log *os.File, note func(holder proc.ID) error) (*Holding, error) {
	in, err := launchFrame(l)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, "run") // not bound to ctx: it outlives this call, and this process
	// A heap of some hundred kilobytes collects often at no cost; the default would let it grow to 4 MB first.
	// By environment, because setting it from within would link what costs more than it saves.
	cmd.Env = []string{"GOTRACEBACK=single", "GOGC=10", "GOMAXPROCS=1"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if log != nil {
		cmd.Stderr = log
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, spawnFailed(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		_, _ = inR.Close(), inW.Close()
		return nil, spawnFailed(err)
	}
	cmd.Stdin, cmd.Stdout = inR, outW
	err = cmd.Start()
	_, _ = inR.Close(), outW.Close()
	defer func() { _, _ = inW.Close(), outR.Close() }()
	if err != nil {
		return nil, spawnFailed(err)
	}
	h := new(Holding)
	info, err := proc.Stat(cmd.Process.Pid)
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return nil, spawnFailed(err)
	}
	h.Holder = info.ID
	if err := note(h.Holder); err != nil {
		_ = cmd.Process.Kill()
		h.Reap(true)
		return nil, spawnFailed(err)
	}

	deadline, ok := ctx.Deadline()
	if limit := time.Now().Add(startTime); !ok || limit.Before(deadline) {
		deadline = limit
	}
	_, _ = inW.SetWriteDeadline(deadline), outR.SetReadDeadline(deadline)
	stop := context.AfterFunc(ctx, func() { _, _ = inW.Close(), outR.Close() })
	defer stop()
	if err := h.talk(inW, outR, in); err != nil {
		_ = cmd.Process.Kill() // the command gets a hangup, should there be one
		h.Reap(true)
		if ctx.Err() != nil {
			return nil, runtime.Errorf(runtime.CodeTimeout, "the start of the agent was not waited for")
		}
		return nil, err
	}
	// It is waited for by its pid, see Reap. The descriptor of it that the library holds would stay until a collection.
	_ = cmd.Process.Release()
	return h, nil
}

// StartThrough is Start of a holder whose binary was started with "run" elsewhere, as the first process of a container or a
// pod: in and out are its standard input and output. The caller closes them when ctx ends. The pids of Holding are those of
// the other place, and only Command is known. Errors are *runtime.Error; UNAVAILABLE when the launch could not be handed over,
// SPAWN_FAILED when the output ended without a word of what became of it.
func StartThrough(ctx context.Context, in io.Writer, out io.Reader, l wire.Launch) (*Holding, error) {
	frame, err := launchFrame(l)
	if err != nil {
		return nil, err
	}
	h := new(Holding)
	if _, err = in.Write(frame); err == nil {
		err = h.started(out)
	}
	var known *runtime.Error
	switch {
	case err == nil:
		return h, nil
	case ctx.Err() != nil:
		return nil, runtime.Errorf(runtime.CodeTimeout, "the start of the agent was not waited for")
	case errors.As(err, &known):
		return nil, known
	}
	return nil, &runtime.Error{Code: runtime.CodeUnavailable, Retry: true, Message: fmt.Sprintf("the holder was not reached: %v", err)}
}

// startTime bounds how long a holding process may take to start its command.
const startTime = 15 * time.Second

// talk sends the launch and reads what became of it.
func (h *Holding) talk(to io.Writer, from io.Reader, launch []byte) error {
	if _, err := to.Write(launch); err != nil {
		return spawnFailed(err)
	}
	return h.started(from)
}

// started reads what became of a launch.
func (h *Holding) started(from io.Reader) error {
	kind, body, err := wire.NewReader(from).Next()
	if err != nil {
		return spawnFailed(err)
	}
	switch kind {
	case wire.KindStarted:
		m, err := wire.ParseStarted(body)
		if err != nil {
			return spawnFailed(err)
		}
		h.Command = proc.ID{PID: int(m.PID), Start: m.Start}
		return nil
	case wire.KindFailed:
		m, err := wire.ParseFailed(bytes.Clone(body))
		if err != nil {
			return spawnFailed(err)
		}
		return startError(m)
	}
	return runtime.Errorf(runtime.CodeSpawnFailed, "the holder is of another version")
}

func spawnFailed(err error) error {
	return runtime.Errorf(runtime.CodeSpawnFailed, "the holder does not start: %v", err)
}

// startError returns what the holding process could not do.
func startError(m wire.Failed) error {
	if m.Step != "command" {
		return runtime.Errorf(runtime.CodeSpawnFailed, "%s: %s", m.Step, m.Text)
	}
	switch syscall.Errno(m.Errno) {
	case syscall.ENOENT:
		return &runtime.Error{Code: runtime.CodeCLINotFound, Message: "the command, its interpreter or its work directory does not exist"}
	case syscall.EACCES, syscall.ENOEXEC:
		return &runtime.Error{Code: runtime.CodeSpawnFailed, Message: "the command is not executable: " + m.Text}
	case syscall.E2BIG:
		return runtime.Invalid("env", "arguments and environment are larger than the system allows")
	case syscall.EAGAIN, syscall.ENOMEM:
		return &runtime.Error{Code: runtime.CodeResourceLimit, Message: "the system has no room for another process: " + m.Text, Retry: true}
	}
	return runtime.Errorf(runtime.CodeSpawnFailed, "the command does not start: %s", m.Text)
}
