package main

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

// process is a child that says on stdout when it is ready. Its stderr goes to a log file.
type process struct {
	cmd   *exec.Cmd
	began time.Time
	ready chan time.Duration // gets how long it took, once; capacity 1
	done  chan struct{}      // closed when it has ended
	err   error              // of the end; read after done
}

// launch starts a child. It ends with the rig, also when the rig is killed.
func launch(logPath string, args ...string) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close() // the child has its own
	p := &process{cmd: exec.Command(args[0], args[1:]...), ready: make(chan time.Duration, 1), done: make(chan struct{})}
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = childAttributes()
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.began = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", args[0], err)
	}
	go p.watch(out)
	return p, nil
}

// watch reads stdout to its end and waits for the child.
func (p *process) watch(out io.Reader) {
	lines := bufio.NewScanner(out)
	said := false
	for lines.Scan() {
		if !said && strings.HasPrefix(lines.Text(), "ready: ") {
			said = true
			p.ready <- time.Since(p.began)
		}
	}
	p.err = p.cmd.Wait()
	close(p.done)
}

// ended tells whether the child has ended by itself.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// outcome says how the child ended, once it has.
func (p *process) outcome() string {
	if p.err != nil {
		return p.err.Error()
	}
	return "exit status 0"
}

// kill ends the child as a crash does, and waits for its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// stop ends the child with SIGTERM, which must give exit code 0 within the grace.
func (p *process) stop(grace time.Duration) error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.err
	case <-timer.C:
		p.kill()
		return fmt.Errorf("did not end within %s of SIGTERM", grace)
	}
}
