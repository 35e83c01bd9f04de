package testbed

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// ReadyLimit is how long a child may take from its start to ready, on a busy machine, where a rig does not say it.
const ReadyLimit = time.Minute

// readyPrefix begins the line on stdout by which a child says that it is ready.
const readyPrefix = "ready: "

// Command is a child to be started. The zero values of all but Args and Log mean: as this process has it.
type Command struct {
	Args []string
	Env  []string // beside the environment of this process
	Dir  string   // its working directory
	Log  string   // file that its stderr is appended to
	// Outlives lets it live on when this process dies. Its stdout goes to the log then, and that it is ready is not
	// noticed.
	Outlives bool
}

// Self returns the command that starts this program once more, to play a part in a process of its own.
func Self(log string, args ...string) (Command, error) {
	self, err := os.Executable()
	return Command{Args: append([]string{self}, args...), Log: log}, err
}

// Process is a child that says on stdout when it is ready, by a line that begins with "ready: ".
type Process struct {
	Cmd     *exec.Cmd
	Ready   chan struct{} // closed when it is ready
	Address string        // what followed "ready: "; read after Ready
	Took    time.Duration // from the start to ready; read after Ready
	Done    chan struct{} // closed when it has ended
	Err     error         // of the end; read after Done

	log   string
	began time.Time
}

// Start starts the child. It ends with this process, also when this one is killed, unless it outlives it.
func (c Command) Start() (*Process, error) {
	log, err := os.OpenFile(c.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own
	p := &Process{Cmd: exec.Command(c.Args[0], c.Args[1:]...), Ready: make(chan struct{}), Done: make(chan struct{}), log: c.Log}
	p.Cmd.Dir, p.Cmd.Stderr, p.Cmd.SysProcAttr = c.Dir, log, childAttributes(c.Outlives)
	p.Cmd.Env = append(os.Environ(), c.Env...)
	var out io.Reader = strings.NewReader("")
	if c.Outlives {
		p.Cmd.Stdout = log
	} else if out, err = p.Cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	p.began = time.Now()
	if err := p.Cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Args[0], err)
	}
	go p.watch(out)
	return p, nil
}

// Run starts the child and waits until it is ready. When ctx is over, the child ends as by SIGTERM.
func (c Command) Run(ctx context.Context) (*Process, error) {
	p, err := c.Start()
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, p.Terminate)
	if err := p.Await(ctx, ReadyLimit); err != nil {
		p.Kill()
		return nil, err
	}
	return p, nil
}

// watch reads stdout to its end and waits for the child.
func (p *Process) watch(out io.Reader) {
	lines := bufio.NewScanner(out)
	said := false
	for lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), readyPrefix); ok && !said {
			said = true
			p.Address, p.Took = strings.TrimSpace(address), time.Since(p.began)
			close(p.Ready)
		}
	}
	p.Err = p.Cmd.Wait()
	close(p.Done)
}

// Await waits until the child is ready. One that ends instead, or takes longer than the limit, is an error with the end
// of its log.
func (p *Process) Await(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-p.Ready:
		return nil
	case <-p.Done:
		return fmt.Errorf("%s ended (%s) instead of getting ready, see %s\n%s", p.name(), p.Outcome(), p.log, p.Tail())
	case <-timer.C:
		return fmt.Errorf("%s was not ready after %s, see %s\n%s", p.name(), limit, p.log, p.Tail())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// PID returns the process id.
func (p *Process) PID() int { return p.Cmd.Process.Pid }

func (p *Process) name() string { return filepath.Base(p.Cmd.Path) }

// Ended reports whether the child has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.Done:
		return true
	default:
		return false
	}
}

// Check returns an error if the child has ended by itself.
func (p *Process) Check() error {
	if !p.Ended() {
		return nil
	}
	return fmt.Errorf("%s ended by itself (%s), see %s\n%s", p.name(), p.Outcome(), p.log, p.Tail())
}

// Outcome says how the child ended, once it has.
func (p *Process) Outcome() string {
	if p.Err != nil {
		return p.Err.Error()
	}
	return "exit status 0"
}

// tailLines is how much of a log an error shows.
const tailLines = 15

// crashes begin the lines in which Go says why it ends a process, before the goroutines.
var crashes = []string{"panic: ", "fatal error: ", "unexpected fault address"}

// Tail returns the end of the child's log; of a child that crashed, the end from the line that says so.
func (p *Process) Tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	crash := slices.IndexFunc(lines, func(line string) bool {
		return slices.ContainsFunc(crashes, func(word string) bool { return strings.HasPrefix(line, word) })
	})
	if crash < 0 {
		crash = len(lines) - tailLines
	}
	lines = lines[max(crash, 0):]
	return strings.Join(lines[:min(len(lines), tailLines)], "\n")
}

// Kill ends the child as a crash does, and waits for its end.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // it may have ended
	<-p.Done
}

// Terminate asks the child to end.
func (p *Process) Terminate() { _ = p.Cmd.Process.Signal(syscall.SIGTERM) } // it may have ended

// Stop ends the child with SIGTERM, which must give exit code 0 within the grace.
func (p *Process) Stop(grace time.Duration) error {
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.Done:
		if p.Err != nil {
			return fmt.Errorf("%s did not end well on SIGTERM: %w, see %s\n%s", p.name(), p.Err, p.log, p.Tail())
		}
		return nil
	case <-timer.C:
		p.Kill()
		return fmt.Errorf("%s did not end within %s of SIGTERM, see %s", p.name(), grace, p.log)
	}
}
