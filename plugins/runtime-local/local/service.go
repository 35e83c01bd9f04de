package local

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/agentcli/claude"
	"github.com/wardroom/wardroom/sdk/agentcli/codex"
	"github.com/wardroom/wardroom/sdk/agentcli/gemini"
	"github.com/wardroom/wardroom/sdk/plugin"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Service is the local runtime made of one configuration.
type Service struct {
	config   Config
	launcher *Launcher
	runtime  *agentcli.Runtime

	mu     sync.Mutex
	closed bool
}

// Site is what the host tells of itself.
type Site struct {
	Private    []string // what belongs to the service alone
	Workspaces string   // where it makes work directories for agents
}

// NewService makes a service; it touches nothing. Open makes it usable.
func NewService(config Config, site Site, log hclog.Logger) (*Service, error) {
	launcher := New(Options{
		StateDir: config.StateDir, RoomsDir: config.RoomsDir, RunDir: config.RunDir, Holder: config.Holder, Workdirs: config.Workdirs, Env: config.Env,
		Credentials: config.Credentials, Limits: config.Limits, RingBytes: config.RingBytes, Cgroup: config.Cgroups != "off",
		Isolation: config.Isolation, Private: site.Private, Workspaces: site.Workspaces, Logger: log.Named("launcher"),
	})
	return &Service{config: config, launcher: launcher}, nil
}

// Open opens the launcher and then the runtime. The service before it, if there is one, is closed in between:
// two may not use one state directory, and whatever can fail without that is tried first.
func (s *Service) Open(ctx context.Context, before *Service, log hclog.Logger) error {
	if err := s.launcher.Open(ctx); err != nil {
		return err
	}
	memory, cpu, pids := s.launcher.Enforces()
	r, err := agentcli.NewRuntime(agentcli.Options{
		Name: "local", Launcher: s.launcher, StateDir: filepath.Join(s.config.StateDir, "sessions"),
		Adapters: []agentcli.Adapter{claude.New(), codex.New(), gemini.New()}, Types: s.config.Types, Logger: log,
		MaxAgents: s.config.MaxAgents, Scrollback: s.config.Scrollback, RingBytes: s.config.RingBytes,
		ResizePolicy: s.config.ResizePolicy, StuckAfter: s.config.stuckAfter(), EnforcesLimits: memory && cpu && pids,
	})
	if err != nil {
		return err
	}
	s.runtime = r
	if before != nil {
		if err := before.Close(ctx); err != nil {
			return fmt.Errorf("let go of the former configuration: %w", err)
		}
		s.launcher.adopt(before.launcher)
	}
	return r.Open(ctx)
}

// Runtime is what callers drive; valid after Open.
func (s *Service) Runtime() runtime.Runtime { return s.runtime }

// Close lets go of the agents, which go on. Safe to call twice.
func (s *Service) Close(ctx context.Context) error {
	s.mu.Lock()
	closed := s.closed
	s.closed = true
	s.mu.Unlock()
	if closed || s.runtime == nil {
		return nil
	}
	err := s.runtime.Close(ctx)
	s.launcher.Close()
	return err
}

// Health looks at what agents need to start.
func (s *Service) Health(context.Context) plugin.Health {
	s.mu.Lock()
	closed := s.closed
	s.mu.Unlock()
	if closed {
		return plugin.Health{Status: plugin.StatusFailed, Reason: "a new configuration could not take over; restart the plugin"}
	}
	health := plugin.Health{Status: plugin.StatusOK}
	fail := func(name, text string) {
		health.Status, health.Reason = plugin.StatusFailed, text
		health.Checks = append(health.Checks, plugin.Check{Name: name, Status: plugin.StatusFailed, Text: text})
	}
	if info, err := os.Stat(s.config.Holder); err != nil || info.Mode()&0o111 == 0 {
		fail("holder", s.config.Holder+" is not executable: no agent can start")
	} else {
		health.Checks = append(health.Checks, plugin.Check{Name: "holder", Status: plugin.StatusOK})
	}
	if probe, err := os.CreateTemp(s.config.StateDir, ".probe"); err != nil {
		fail("state", "nothing can be written to "+s.config.StateDir+": no agent can start")
	} else {
		_ = probe.Close()
		_ = os.Remove(probe.Name())
		health.Checks = append(health.Checks, plugin.Check{Name: "state", Status: plugin.StatusOK})
	}
	memory, cpu, pids := s.launcher.Enforces()
	limits := plugin.Check{Name: "limits", Status: plugin.StatusOK, Text: fmt.Sprintf("memory %t, cpu %t, pids %t", memory, cpu, pids)}
	wanted := s.config.Limits
	if wanted.MemoryBytes > 0 && !memory || wanted.CPU > 0 && !cpu || wanted.PIDs > 0 && !pids {
		limits.Status = plugin.StatusDegraded
		limits.Text += ": not all configured limits hold; delegate cgroups to the service"
		if health.Status == plugin.StatusOK {
			health.Status, health.Reason = plugin.StatusDegraded, limits.Text
		}
	}
	health.Checks = append(health.Checks, limits, s.launcher.isolation.check())
	return health
}

// Metrics counts the agents by status, in the Prometheus text format.
func (s *Service) Metrics() []byte {
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
	for _, status := range []runtime.Status{
		runtime.StatusStarting, runtime.StatusReady, runtime.StatusBusy, runtime.StatusBlocked, runtime.StatusError, runtime.StatusStopped,
	} {
		_, _ = fmt.Fprintf(&b, "runtime_agents{runtime=\"local\",status=%q} %d\n", status, counts[status])
	}
	return b.Bytes()
}
