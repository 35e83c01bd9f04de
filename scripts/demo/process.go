package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is a program that runs in the background, with its output in a log file.
type process struct {
	name string
	cmd  *exec.Cmd
	log  *os.File
	done chan struct{} // closed when it has ended
	err  error         // why it ended; read after done
}

// startProcess starts a program. It is in a process group of its own, so that a Ctrl-C at the terminal reaches
// the demo only, which then ends its children in order, or leaves them running. env is beside the demo's own.
func startProcess(name, logPath string, env []string, binary string, args ...string) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		_ = log.Close()
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p := &process{name: name, cmd: cmd, log: log, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		_ = log.Close()
		close(p.done)
	}()
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// running returns an error if the process has ended.
func (p *process) running() error {
	select {
	case <-p.done:
		if p.err == nil {
			return fmt.Errorf("%s has ended, see %s", p.name, p.log.Name())
		}
		return fmt.Errorf("%s has ended: %w, see %s", p.name, p.err, p.log.Name())
	default:
		return nil
	}
}

// kill ends the process as a crash does, and waits for its end.
func (p *process) kill() error {
	if err := p.running(); err != nil {
		return err
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.done
	return nil
}

// stop ends the process in order, and with force when it takes longer than grace. It returns an error if the
// process did not end well.
func (p *process) stop(grace time.Duration) error {
	if p.running() != nil {
		return nil
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended meanwhile
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		if p.err != nil {
			return fmt.Errorf("%s: %w after SIGTERM, see %s", p.name, p.err, p.log.Name())
		}
		return nil
	case <-timer.C:
		_ = p.kill()
		return fmt.Errorf("%s did not end within %s of SIGTERM, see %s", p.name, grace, p.log.Name())
	}
}
