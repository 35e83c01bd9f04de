package launchertest_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/launchertest"
	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/runtime"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSample runs the suite on the plainest launcher there can be, which shows that the suite asks for no more
// than the contract.
func TestSample(t *testing.T) {
	launchertest.Run(t, launchertest.Options{
		New: func(_ *testing.T, dir string) agentcli.Launcher { return &sample{dir: dir} },
	})
}

// sample keeps commands in this process and all of their output in memory.
type sample struct{ dir string }

func (l *sample) Prepare(_ context.Context, spec *runtime.Spec) (agentcli.Room, error) {
	home := filepath.Join(l.dir, spec.ID)
	if err := os.MkdirAll(home, 0o700); err != nil {
		return agentcli.Room{}, runtime.Errorf(runtime.CodeSpawnFailed, "%v", err)
	}
	return agentcli.Room{
		Home: home, Workdir: home, Temp: home, Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}, ReadFile: os.ReadFile,
		LookPath: func(name string) (string, error) {
			path, err := exec.LookPath(name)
			if err != nil {
				return "", runtime.Errorf(runtime.CodeCLINotFound, "%v", err)
			}
			return path, nil
		},
	}, nil
}

func (l *sample) Launch(_ context.Context, c agentcli.Command) (agentcli.Process, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env = c.Room.Workdir, c.Env
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(c.Cols), Rows: uint16(c.Rows)})
	if err != nil {
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "%v", err)
	}
	// A copy that does not block: its writes can be given a deadline.
	fd, err := syscall.Dup(int(tty.Fd()))
	if err == nil {
		err = syscall.SetNonblock(fd, true)
	}
	if err != nil {
		return nil, runtime.Errorf(runtime.CodeSpawnFailed, "%v", err)
	}
	_ = tty.Close()
	tty = os.NewFile(uintptr(fd), "tty")
	p := &process{cmd: cmd, tty: tty, id: c.Spec.ID, started: time.Now(), done: make(chan struct{})}
	p.more.L = &p.mu
	go p.run()
	return p, nil
}

func (l *sample) Find(_ context.Context, handle []byte) (agentcli.Process, error) {
	if len(handle) == 0 || handle[0] == '{' || string(handle) == "rubbish" {
		return nil, runtime.Errorf(runtime.CodeInvalidHandle, "no handle")
	}
	return nil, agentcli.ErrGone
}

func (l *sample) Remove(_ context.Context, id string) error {
	return os.RemoveAll(filepath.Join(l.dir, id))
}

type process struct {
	cmd     *exec.Cmd
	tty     *os.File
	id      string
	started time.Time
	done    chan struct{}

	mu     sync.Mutex
	more   sync.Cond
	data   []byte
	ended  bool
	reader *output
}

func (p *process) run() {
	buf := make([]byte, 32<<10)
	for {
		n, err := p.tty.Read(buf)
		p.mu.Lock()
		p.data = append(p.data, buf[:n]...)
		p.more.Broadcast()
		p.mu.Unlock()
		if err != nil {
			break
		}
	}
	_ = p.cmd.Wait()
	p.mu.Lock()
	p.ended = true
	p.more.Broadcast()
	p.mu.Unlock()
	close(p.done)
}

func (p *process) Handle() []byte { return []byte(p.id) }
func (p *process) Info() agentcli.ProcessInfo {
	return agentcli.ProcessInfo{PID: p.cmd.Process.Pid, StartedAt: p.started}
}

func (p *process) Output(_ context.Context, from uint64) (agentcli.Output, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reader = &output{p: p, at: min(from, uint64(len(p.data)))}
	p.more.Broadcast()
	return p.reader, nil
}

func (p *process) Write(ctx context.Context, b []byte) error {
	stop := context.AfterFunc(ctx, func() { _ = p.tty.SetWriteDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := p.tty.Write(b); err != nil {
		return runtime.Errorf(runtime.CodeTimeout, "%v", err)
	}
	return nil
}

func (p *process) Resize(_ context.Context, cols, rows int) error {
	if cols < 1 || rows < 1 || cols > 1000 || rows > 1000 {
		return runtime.Errorf(runtime.CodeInvalidArgument, "no size")
	}
	return pty.Setsize(p.tty, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)})
}

func (p *process) Interrupt(context.Context) error { return p.cmd.Process.Signal(syscall.SIGTERM) }

// Kill finds the whole tree by the home that its processes were given.
func (p *process) Kill(ctx context.Context) error {
	home := filepath.Dir(p.cmd.Dir) + "/" + p.id
	for {
		marked, err := proc.Marked("HOME")
		if err != nil {
			return err
		}
		if len(marked[home]) == 0 {
			break
		}
		for _, id := range marked[home] {
			_ = proc.Signal(id, syscall.SIGKILL)
		}
	}
	select {
	case <-p.done:
		return nil
	case <-ctx.Done():
		return runtime.Errorf(runtime.CodeTimeout, "it does not end")
	}
}

func (p *process) Wait(ctx context.Context) (runtime.Exit, error) {
	select {
	case <-p.done:
	case <-ctx.Done():
		return runtime.Exit{}, runtime.Errorf(runtime.CodeTimeout, "%v", ctx.Err())
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return runtime.Exit{Code: 128 + int(status.Signal())}, nil
	}
	return runtime.Exit{Code: p.cmd.ProcessState.ExitCode()}, nil
}

func (p *process) Close() error {
	select {
	case <-p.done:
		return p.tty.Close()
	default:
		return nil // it would be a hangup
	}
}

type output struct {
	p      *process
	at     uint64
	closed bool
}

var errOther = errors.New("another reader took over")

func (o *output) Read(b []byte) (int, error) {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	for {
		switch {
		case o.p.reader != o || o.closed:
			return 0, errOther
		case o.at < uint64(len(o.p.data)):
			n := copy(b, o.p.data[o.at:])
			o.at += uint64(n)
			return n, nil
		case o.p.ended:
			return 0, io.EOF
		}
		o.p.more.Wait()
	}
}

func (o *output) Offset() uint64 {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	return o.at
}

func (o *output) Close() error {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	o.closed = true
	o.p.more.Broadcast()
	return nil
}
