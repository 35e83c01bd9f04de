package main

import (
	"context"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
)

// readyLimit is how long a core may take from its start to ready. Like all limits of the rig it is against hanging only: on
// a busy machine a process may get a twentieth of a core.
const readyLimit = 2 * time.Minute

// server is the product under test, and what happened to it.
type server struct {
	*testbed.Server
	clock         *testbed.Clock // or nil
	readyTimes    []time.Duration
	kills, drains int
	memory        int64 // bytes, the most that a core took
}

// settings makes the times that an agent may be away short, so that the loss of one is part of every run; tasks may be
// handed out often, so that no execution fails because of the faults.
const settings = `server: {listen: $LISTEN, shutdownTimeout: 2s}
store: {path: %q, minFree: 64MiB}
engine: {taskRetries: 20}
agents: {heartbeatInterval: 1s, resumeGrace: 2s}
metrics: {public: true}
security: {audit: {enabled: true}}
%s`

// newServer prepares the core in a folder, with its store in another. extra is more configuration.
func newServer(binary, dir, data, extra string, clock *testbed.Clock) (*server, error) {
	under, err := testbed.NewServer(binary, dir, fmt.Sprintf(settings, data, extra))
	if err != nil {
		return nil, err
	}
	under.Limit = readyLimit
	if clock != nil {
		under.Command.Env = []string{clock.Env()}
	}
	return &server{Server: under, clock: clock}, nil
}

// shellType is an agent type that answers every message, given a shell and its arguments.
const shellType = `agentTypes: {shell: {command: %s, args: [%s], env: {PS1: "ready> ", HISTFILE: /dev/null}, ready: {pattern: "^ready> $"}, exit: exit}}
`

// launch starts the core; ready waits for it.
func (s *server) launch() (err error) {
	s.Process, err = s.Command.Start()
	return err
}

// ready waits until the core is ready. A core that ends, or takes too long, broke a promise.
func (s *server) ready(ctx context.Context) error {
	if err := s.Await(ctx, readyLimit); err != nil {
		return err
	}
	s.readyTimes = append(s.readyTimes, s.Took)
	return nil
}

// kill ends the core with kill -9.
func (s *server) kill() error {
	if err := s.Check(); err != nil {
		return err
	}
	s.weigh()
	s.Kill()
	s.kills++
	return nil
}

// weigh notes how much memory the core took.
func (s *server) weigh() { s.memory = max(s.memory, testbed.Memory(s.PID(), "VmHWM")) }

// drain tells the core to end, and kills it when it takes longer than patience. A core that ends in time must end well.
func (s *server) drain(ctx context.Context, patience time.Duration) error {
	if err := s.Check(); err != nil {
		return err
	}
	s.weigh()
	s.Terminate()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-s.Done:
		s.drains++
		return s.Stop(readyLimit) // it has ended, and says how
	case <-timer.C:
		s.Kill()
		s.kills++
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
