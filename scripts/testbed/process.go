package testbed

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Process is a child that says on stdout when it is ready, by a line that begins with "ready: ". Its stderr goes to a
// log file.
type Process struct {
	Cmd   *exec.Cmd
	Ready chan time.Duration // gets how long it took, once; capacity 1
	Done  chan struct{}      // closed when it has ended
	Err   error              // of the end; read after Done

	began time.Time
}

// Launch starts a child. It ends with this process, also when this one is killed.
func Launch(logPath string, args ...string) (*Process, error) {
	return LaunchWith(nil, logPath, args...)
}

// LaunchWith is Launch with variables for the environment of the child, beside those of this process.
func LaunchWith(env []string, logPath string, args ...string) (*Process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own
	p := &Process{Cmd: exec.Command(args[0], args[1:]...), Ready: make(chan time.Duration, 1), Done: make(chan struct{})}
	p.Cmd.Stderr = log
	p.Cmd.Env = append(os.Environ(), env...)
	p.Cmd.SysProcAttr = childAttributes()
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.began = time.Now()
	if err := p.Cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	go p.watch(out)
	return p, nil
}

// watch reads stdout to its end and waits for the child.
func (p *Process) watch(out io.Reader) {
	lines := bufio.NewScanner(out)
	said := false
	for lines.Scan() {
		if !said && strings.HasPrefix(lines.Text(), "ready: ") {
			said = true
			p.Ready <- time.Since(p.began)
		}
	}
	p.Err = p.Cmd.Wait()
	close(p.Done)
}

// Ended reports whether the child has ended by itself.
func (p *Process) Ended() bool {
	select {
	case <-p.Done:
		return true
	default:
		return false
	}
}

// Outcome says how the child ended, once it has.
func (p *Process) Outcome() string {
	if p.Err != nil {
		return p.Err.Error()
	}
	return "exit status 0"
}

// Kill ends the child as a crash does, and waits for its end.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill() // it may have ended
	<-p.Done
}

// Stop ends the child with SIGTERM, which must give exit code 0 within the grace.
func (p *Process) Stop(grace time.Duration) error {
	if err := p.Cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.Done:
		return p.Err
	case <-timer.C:
		p.Kill()
		return fmt.Errorf("did not end within %s of SIGTERM", grace)
	}
}
