package drivertest

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// process is a command in a pty. It keeps the whole output in memory.
type process struct {
	cmd     *exec.Cmd
	tty     *os.File
	hooks   *hooks
	started time.Time
	ended   chan struct{} // closed after the last byte and the exit are known
	exit    runtime.Exit
	close   sync.Once

	mu     sync.Mutex // guards all below
	output []byte
	more   chan struct{} // closed and replaced when output grows, closed for good at its end
	over   bool
}

func start(cmd agentcli.Command, socket string) (*process, error) {
	os.Remove(socket) // of an earlier life
	h, err := listenHooks(socket)
	if err != nil {
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "%v", err)
	}
	c := exec.Command(cmd.Path, cmd.Args...)
	c.Dir, c.Env = cmd.Room.Workdir, cmd.Env
	tty, err := pty.StartWithSize(c, &pty.Winsize{Cols: uint16(cmd.Cols), Rows: uint16(cmd.Rows)})
	if err != nil {
		h.close()
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "%v", err)
	}
	p := &process{cmd: c, tty: tty, hooks: h, started: time.Now(), ended: make(chan struct{}), more: make(chan struct{})}
	go p.read()
	return p, nil
}

func (p *process) read() {
	defer close(p.ended)
	buf := make([]byte, 64<<10)
	for {
		n, err := p.tty.Read(buf)
		p.mu.Lock()
		p.output = append(p.output, buf[:n]...)
		close(p.more)
		p.over = err != nil
		if err == nil {
			p.more = make(chan struct{})
		}
		p.mu.Unlock()
		if err != nil {
			break
		}
	}
	err := p.cmd.Wait()
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		p.exit.Code = failed.ExitCode()
		if s, ok := failed.Sys().(syscall.WaitStatus); ok && s.Signaled() {
			p.exit.Code = 128 + int(s.Signal())
		}
	}
}

func (p *process) Handle() []byte { return []byte("1") }

func (p *process) Info() agentcli.ProcessInfo {
	return agentcli.ProcessInfo{PID: p.cmd.Process.Pid, StartedAt: p.started}
}

func (p *process) Output(ctx context.Context, from uint64) (agentcli.Output, error) {
	ctx, cancel := context.WithCancel(ctx)
	return &output{p: p, at: from, ctx: ctx, cancel: cancel}, nil
}

func (p *process) Write(_ context.Context, b []byte) error {
	_, err := p.tty.Write(b)
	return err
}

func (p *process) Resize(_ context.Context, cols, rows int) error {
	return pty.Setsize(p.tty, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)})
}

func (p *process) Interrupt(context.Context) error { return p.cmd.Process.Signal(syscall.SIGTERM) }

// Kill ends the process group; what left the group is not this launcher's matter.
func (p *process) Kill(ctx context.Context) error {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *process) Wait(ctx context.Context) (runtime.Exit, error) {
	select {
	case <-p.ended:
		return p.exit, nil
	case <-ctx.Done():
		return runtime.Exit{}, ctx.Err()
	}
}

func (p *process) Hooks() <-chan *agentcli.HookCall { return p.hooks.calls }

func (p *process) Close() error {
	p.close.Do(func() {
		p.hooks.close()
		p.tty.Close()
	})
	return nil
}

// output reads what a process wrote.
type output struct {
	p      *process
	at     uint64
	ctx    context.Context
	cancel context.CancelFunc
}

func (o *output) Offset() uint64 { return o.at }

func (o *output) Read(b []byte) (int, error) {
	for {
		o.p.mu.Lock()
		rest, over, more := o.p.output[min(o.at, uint64(len(o.p.output))):], o.p.over, o.p.more
		o.p.mu.Unlock()
		if len(rest) > 0 {
			n := copy(b, rest)
			o.at += uint64(n)
			return n, nil
		}
		if over {
			return 0, io.EOF
		}
		select {
		case <-more:
		case <-o.ctx.Done():
			return 0, o.ctx.Err()
		}
	}
}

func (o *output) Close() error {
	o.cancel()
	return nil
}

var (
	_ agentcli.Process    = (*process)(nil)
	_ agentcli.HookSource = (*process)(nil)
)
