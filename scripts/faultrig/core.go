package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// readyLimit is how long a core may take from its start to ready, on a busy machine.
const readyLimit = 30 * time.Second

// server is the product under test: one process at a time, on one port and one data folder.
type server struct {
	binary, config, data, log string
	port                      int
	process                   *testbed.Process
	clock                     *testbed.Clock // or nil
	readyTimes                []time.Duration
	kills, drains             int
	memory                    int64 // KiB, the most that a core took
}

// newServer writes the configuration. The times an agent may be away are short, so that the loss of one is
// part of every run; tasks may be handed out often, so that no execution fails because of the faults.
// extra is more of it, and data the folder of the store.
func newServer(binary, dir, data, extra string, random *rand.Rand) (*server, error) {
	port, err := testbed.FreePort(random)
	if err != nil {
		return nil, err
	}
	s := &server{
		binary: binary, port: port,
		config: filepath.Join(dir, "wardroom.yaml"), data: data, log: filepath.Join(dir, "core.log"),
	}
	text := fmt.Sprintf(`server: {listen: "127.0.0.1:%d", shutdownTimeout: 2s}
store: {path: %q, minFree: 64MiB}
engine: {taskRetries: 20}
agents: {heartbeatInterval: 1s, resumeGrace: 2s}
metrics: {public: true}
%s`, port, s.data, extra)
	return s, os.WriteFile(s.config, []byte(text), 0o600)
}

// runtimePlugin is the runtime of the managed agents.
const runtimePlugin = testbed.RuntimePlugin

// shellConfig is the configuration of a runtime, and of an agent type that answers every message.
func shellConfig(plugins string) (string, error) {
	data, err := os.ReadFile(filepath.Join(plugins, runtimePlugin))
	if err != nil {
		return "", fmt.Errorf("%w; -shells 0 does without managed agents", err)
	}
	return fmt.Sprintf(`plugins: {dir: %q, %s: {kind: runtime, sha256: "%x"}}
runtimes: {local: {plugin: %s}}
agentTypes: {shell: {command: bash, args: [--norc, --noprofile], env: {PS1: "ready> ", HISTFILE: /dev/null}, ready: {pattern: "^ready> $"}, exit: exit}}
`, plugins, runtimePlugin, sha256.Sum256(data), runtimePlugin), nil
}

func (s *server) url() string { return fmt.Sprintf("http://127.0.0.1:%d", s.port) }

// start starts the core; ready waits for it.
func (s *server) start() error {
	var env []string
	if s.clock != nil {
		env = append(env, s.clock.Env())
	}
	p, err := testbed.LaunchWith(env, s.log, s.binary, "serve", "--config", s.config)
	s.process = p
	return err
}

// ready waits until the core is ready. A core that ends, or takes too long, broke a promise.
func (s *server) ready(ctx context.Context) error {
	timer := time.NewTimer(readyLimit)
	defer timer.Stop()
	select {
	case took := <-s.process.Ready:
		s.readyTimes = append(s.readyTimes, took)
		return nil
	case <-s.process.Done:
		return fmt.Errorf("the core ended (%s) instead of getting ready\n%s", s.process.Outcome(), s.tail())
	case <-timer.C:
		return fmt.Errorf("the core was not ready after %s\n%s", readyLimit, s.tail())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// kill ends the core with kill -9.
func (s *server) kill() error {
	if s.process.Ended() {
		return fmt.Errorf("the core ended by itself (%s)\n%s", s.process.Outcome(), s.tail())
	}
	s.weigh()
	s.process.Kill()
	s.kills++
	return nil
}

// weigh notes how much memory the core took.
func (s *server) weigh() {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Cmd.Process.Pid))
	if err != nil {
		return // it has ended, or there is no such file on this system
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if n, err := fmt.Sscanf(line, "VmHWM: %d kB", &kib); err == nil && n == 1 {
			s.memory = max(s.memory, kib)
		}
	}
}

// drain tells the core to end, and kills it when it takes longer than patience. A core that ends in time must
// end well.
func (s *server) drain(ctx context.Context, patience time.Duration) error {
	if s.process.Ended() {
		return s.kill() // says how
	}
	s.weigh()
	_ = s.process.Cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.process.Done:
		s.drains++
		if s.process.Err != nil {
			return fmt.Errorf("the core did not end well on SIGTERM: %w\n%s", s.process.Err, s.tail())
		}
		return nil
	case <-timer.C:
		s.process.Kill()
		s.kills++
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// tailLines is how much of the core's log an error shows.
const tailLines = 15

// tail returns the end of the core's log.
func (s *server) tail() string {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(lines[max(len(lines)-tailLines, 0):], "\n")
}
