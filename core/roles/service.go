package roles

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/joined"
)

var _ core.RoleSpawner = (*Service)(nil)

// Service implements core.RoleSpawner. Make it with New, give it its sink, start it with Open before the engine
// opens, end it with Close: the agents live on.
type Service struct {
	opts   Options
	log    hclog.Logger
	agents core.ManagedAgentService
	sink   core.RoleSink // set once before Open

	ctx    context.Context // of all work; ends in Close
	cancel context.CancelFunc
	tasks  joined.Group  // all goroutines of the service
	spawns chan struct{} // holds one value for each spawn under way
	stops  chan struct{} // as spawns, of stops

	mu       sync.Mutex                   // guards all below, and the fields of agents, jobs and spawning that say so
	crew     map[string]*agent            // that serve roles
	spawning map[instance]*pendingSpawn   // spawns under way
	left     map[instance]map[string]bool // ids of agents of an earlier life that no job took up yet
	ending   map[string]bool              // ids of agents that are being stopped
	ready    string                       // how the runtimes were at the last look
}

// instance is who an agent is to be: one instance of a role of an execution.
type instance struct {
	execution, role string
	number          int
}

func instanceOf(spec core.RoleSpec) instance {
	return instance{spec.ExecutionID, spec.Role, spec.Instance}
}

// New makes a service. It starts nothing.
func New(o Options) *Service {
	o.Clock = cmp.Or[core.Clock](o.Clock, core.SystemClock{})
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	o.Tracer = cmp.Or[core.Tracer](o.Tracer, core.NoTracer{})
	o.ReadyWait = cmp.Or(max(o.ReadyWait, 0), defaultReadyWait)
	o.LoginWait = cmp.Or(max(o.LoginWait, 0), defaultLoginWait)
	s := &Service{
		opts: o, log: o.Logger, agents: o.Agents,
		spawns: make(chan struct{}, spawnsAtOnce), stops: make(chan struct{}, stopsAtOnce),
		crew: make(map[string]*agent), spawning: make(map[instance]*pendingSpawn),
		left: make(map[instance]map[string]bool), ending: make(map[string]bool),
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// SetSink sets who receives what happens. It is called once, before Open.
func (s *Service) SetSink(sink core.RoleSink) { s.sink = sink }

// Open finds the agents that an earlier life spawned, and begins to look at the runtimes.
func (s *Service) Open(ctx context.Context) error {
	records, err := s.opts.Store.AllManagedAgents(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	for _, r := range records {
		if who, ok := labelled(r); ok && r.Wanted && !r.Gone() {
			s.leave(who, r.ID)
		}
	}
	s.ready = s.readiness()
	s.mu.Unlock()
	s.tasks.Go(s.lookOften)
	return nil
}

// Close ends all work and joins it. What agents do goes on without us. Safe to call twice.
func (s *Service) Close() {
	s.mu.Lock()
	s.tasks.End()
	s.mu.Unlock()
	s.cancel()
	s.tasks.Wait()
}

// leave notes an agent that no job took up. The caller holds mu.
func (s *Service) leave(who instance, id string) {
	if s.left[who] == nil {
		s.left[who] = make(map[string]bool)
	}
	s.left[who][id] = true
}

// CanSpawn implements core.RoleSpawner.
func (s *Service) CanSpawn(types []string, runtime string) (ok bool, reason string) {
	infos := s.agents.Runtimes(s.ctx)
	for _, kind := range types {
		if offers(infos, kind, runtime) {
			return true, ""
		}
	}
	return false, missing(infos, types, runtime)
}

// Lacking implements core.RoleSpawner.
func (s *Service) Lacking(types []string, runtime string) bool {
	infos, offered := s.agents.Runtimes(s.ctx), false
	for _, kind := range types {
		for i := range infos {
			if !offers(infos[i:i+1], kind, runtime) {
				continue
			}
			if !slices.Contains(infos[i].MissingTypes, kind) {
				return false
			}
			offered = true
		}
	}
	return offered
}

// offers reports whether a runtime that is ready offers a type.
func offers(infos []core.RuntimeInfo, kind, runtime string) bool {
	return slices.ContainsFunc(infos, func(info core.RuntimeInfo) bool {
		return (runtime == "" || info.Name == runtime) && info.Ready && slices.Contains(info.Types, kind)
	})
}

// missing returns why none of the types can be spawned.
func missing(infos []core.RuntimeInfo, types []string, runtime string) string {
	var names, away []string
	for _, info := range infos {
		names = append(names, info.Name)
		if (runtime == "" || info.Name == runtime) && !info.Ready {
			away = append(away, info.Name+": "+info.Reason)
		}
	}
	wanted := strings.Join(types, " or ")
	switch {
	case len(types) == 0:
		return "the role names no agentType"
	case len(infos) == 0:
		return "no runtime is configured: see runtimes in the configuration"
	case runtime != "" && !slices.Contains(names, runtime):
		return fmt.Sprintf("the runtime %q is not configured; there is %s", runtime, strings.Join(names, ", "))
	case len(away) > 0:
		return fmt.Sprintf("no runtime that is ready offers %s; not ready: %s", wanted, strings.Join(away, "; "))
	}
	return fmt.Sprintf("no runtime offers %s", wanted)
}
