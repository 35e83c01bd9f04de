package pluginhost

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"github.com/hashicorp/go-plugin/runner"
)

// drainTime is how long the last output of a dead plugin is waited for: a grandchild may hold the pipes open.
const drainTime = 500 * time.Millisecond

// process is a plugin's process as go-plugin sees it. Against go-plugin's own way of running a command it has
// a process group that ends with it, a pipe whose end tells the plugin that the host is gone, output that
// ends with the process even when a grandchild keeps it open, and a channel that tells of its end.
type process struct {
	path   string
	secure *goplugin.SecureConfig // nil: any binary will do
	env    []string
	dir    string

	stdout, stderr *output
	alive          *os.File // the host's end of the parent-death pipe

	done chan struct{} // closed when the process ended; err is set then
	err  error

	mu     sync.Mutex // guards all below, so that no signal goes to a stranger with a recycled pid
	pid    int        // 0: not started
	reaped bool
	killed bool // by us; maybe before it was started
}

var _ runner.Runner = (*process)(nil)

// Start implements runner.Runner. The checksum is compared last thing before the start.
func (p *process) Start(context.Context) (err error) {
	if p.secure != nil {
		ok, err := p.secure.Check(p.path)
		if err != nil {
			return fmt.Errorf("the checksum of %s cannot be made: %w", p.path, err)
		}
		if !ok {
			return goplugin.ErrChecksumsDoNotMatch
		}
	}
	var files []*os.File // to be closed when the start fails
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err == nil {
			files = append(files, r, w)
		}
		return r, w
	}
	outR, outW := pipe()
	errR, errW := pipe()
	aliveR, aliveW := pipe()
	defer func() {
		if err != nil {
			for _, f := range files {
				_ = f.Close()
			}
		}
	}()
	if err != nil {
		return err
	}
	cmd := exec.Command(p.path)
	cmd.Env, cmd.Dir = p.env, p.dir
	cmd.Stdout, cmd.Stderr = outW, errW
	cmd.ExtraFiles = []*os.File{aliveR} // becomes descriptor 3
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err = cmd.Start(); err != nil {
		return err
	}
	for _, f := range []*os.File{outW, errW, aliveR} {
		_ = f.Close() // the child has its own
	}
	p.stdout, p.stderr, p.alive = &output{file: outR}, &output{file: errR}, aliveW
	p.mu.Lock()
	p.pid = cmd.Process.Pid
	killed := p.killed
	p.mu.Unlock()
	go p.reap(cmd)
	if killed { // while it was being started
		p.signal(syscall.SIGKILL)
	}
	return nil
}

// parentFD is the number of the parent-death pipe in the child.
const parentFD = 3

// reap waits for the end of the process, ends what is left of its group, and closes done. The owner of the
// process waits for done.
func (p *process) reap(cmd *exec.Cmd) {
	if awaitExit(p.pid) {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL) // what is left of its group; none: fine
		p.mu.Lock()
		p.reaped = true
		p.mu.Unlock()
	}
	p.err = cmd.Wait()
	p.mu.Lock()
	p.reaped = true
	p.mu.Unlock()
	_ = p.alive.Close()
	until := time.Now().Add(drainTime)
	p.stdout.endAt(until)
	p.stderr.endAt(until)
	close(p.done)
}

// signal sends a signal to the process group, as long as it is there.
func (p *process) signal(sig syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reaped {
		return
	}
	p.killed = p.killed || sig == syscall.SIGKILL
	if p.pid != 0 {
		_ = syscall.Kill(-p.pid, sig) // gone already is what is wanted
	}
}

// hangup sends SIGHUP to the process alone: what it started may not know it.
func (p *process) hangup() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped && p.pid != 0 {
		_ = syscall.Kill(p.pid, syscall.SIGHUP) // gone already is what is wanted
	}
}

// wasKilled reports whether the host killed the process.
func (p *process) wasKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}

// number is the id of the process, 0 before it is started.
func (p *process) number() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// Wait implements runner.Runner.
func (p *process) Wait(context.Context) error {
	<-p.done
	return p.err
}

// Kill implements runner.Runner.
func (p *process) Kill(context.Context) error {
	p.signal(syscall.SIGKILL)
	return nil
}

// Stdout implements runner.Runner.
func (p *process) Stdout() io.ReadCloser { return p.stdout }

// Stderr implements runner.Runner.
func (p *process) Stderr() io.ReadCloser { return p.stderr }

// Name implements runner.Runner.
func (p *process) Name() string { return p.path }

// ID implements runner.Runner.
func (p *process) ID() string {
	if n := p.number(); n != 0 {
		return strconv.Itoa(n)
	}
	return ""
}

// Diagnose implements runner.Runner; the log of the plugin says more than a guess.
func (p *process) Diagnose(context.Context) string { return "" }

// PluginToHost implements runner.Runner: host and plugin see the same files.
func (p *process) PluginToHost(network, address string) (string, string, error) {
	return network, address, nil
}

// HostToPlugin implements runner.Runner.
func (p *process) HostToPlugin(network, address string) (string, string, error) {
	return network, address, nil
}

// output is the reading end of a pipe that can be made to end.
type output struct{ file *os.File }

func (o *output) Read(b []byte) (int, error) {
	n, err := o.file.Read(b)
	if err != nil {
		_ = o.file.Close() // it is not read any more after an error
		return n, io.EOF
	}
	return n, nil
}

func (o *output) Close() error { return o.file.Close() }

func (o *output) endAt(t time.Time) { _ = o.file.SetReadDeadline(t) } // a closed pipe has ended
