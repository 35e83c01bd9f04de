package plugin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// services remembers the service in force: the next one has to take its state over.
type services struct {
	o   Options
	mu  sync.Mutex // guards now, and is held by who changes it
	now *service
}

// service is the runtime of one configuration.
type service struct {
	all     *services
	name    string
	runtime *agentcli.Runtime
	options agentcli.Options

	mu     sync.Mutex
	closed bool
}

// replace makes the service of a configuration and closes the former, in this order: whatever can fail, then the
// former lets go, then the new one takes over. Two may not use one state directory at the same time.
func (s *services) replace(ctx context.Context, config json.RawMessage, place Place) (*service, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if place.StateDir == "" {
		return nil, runtime.Errorf(runtime.CodeInvalidArgument, "the host gives this plugin no directory for its state")
	}
	key, err := place.stateKey(ctx)
	if err != nil {
		place.Logger.Error("there is no key for the environments of agents", "error", err)
		return nil, runtime.Errorf(runtime.CodeUnavailable, "there is no key for the environments of agents; the log says why")
	}
	options, err := s.o.New(ctx, config, place)
	if err != nil {
		return nil, err
	}
	options = s.o.complete(options, place)
	if options.StateKey == nil {
		options.StateKey = key
	}
	next := &service{all: s, name: options.Name, options: options}
	if next.runtime, err = agentcli.NewRuntime(options); err != nil {
		return nil, errors.Join(err, next.closeLauncher())
	}
	if s.now != nil {
		if err := s.now.letGo(ctx); err != nil {
			return nil, errors.Join(fmt.Errorf("let go of the former configuration: %w", err), next.closeLauncher())
		}
	}
	if err := next.runtime.Open(ctx); err != nil {
		place.Logger.Error("the runtime cannot be opened", "error", errors.Join(err, next.closeLauncher()))
		return nil, runtime.Errorf(runtime.CodeUnavailable, "the state of the runtime cannot be opened; its log says why")
	}
	s.now = next
	return next, nil
}

// closeLauncher closes the launcher if there is anything to close.
func (s *service) closeLauncher() error {
	if c, ok := s.options.Launcher.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// letGo closes the runtime once; its agents go on.
func (s *service) letGo(ctx context.Context) error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed {
		return nil
	}
	return errors.Join(s.runtime.Close(ctx), s.closeLauncher())
}

// close is the end of the service: of one that was replaced, which has let go already, or of the program.
func (s *service) close(ctx context.Context) error {
	err := s.letGo(ctx)
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	if s.all.now != s {
		return err
	}
	s.all.now = nil
	if s.all.o.End != nil {
		err = errors.Join(err, s.all.o.End(ctx))
	}
	return err
}

// health is that of the launcher, unless the runtime is not there.
func (s *service) health(ctx context.Context) plugin.Health {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return plugin.Health{Status: plugin.StatusFailed, Reason: "a new configuration could not take over; correct it, or restart the plugin"}
	}
	if c, ok := s.options.Launcher.(Checker); ok {
		return c.Health(ctx)
	}
	return plugin.Health{Status: plugin.StatusOK}
}

// statuses are those that metrics tell of, also when no agent has them.
var statuses = []runtime.Status{
	runtime.StatusStarting, runtime.StatusReady, runtime.StatusBusy, runtime.StatusBlocked, runtime.StatusUnreachable, runtime.StatusError,
	runtime.StatusStopped,
}

// metrics counts the agents by status.
func (s *service) metrics() []byte {
	agents, err := s.runtime.List(context.Background(), runtime.ListFilter{})
	if err != nil {
		return nil
	}
	counts := map[runtime.Status]int{}
	for _, a := range agents {
		counts[a.Status]++
	}
	var b bytes.Buffer
	b.WriteString("# HELP runtime_agents Agents of the runtime by status.\n# TYPE runtime_agents gauge\n")
	for _, status := range statuses {
		_, _ = fmt.Fprintf(&b, "runtime_agents{runtime=%q,status=%q} %d\n", s.name, status, counts[status])
	}
	return b.Bytes()
}
