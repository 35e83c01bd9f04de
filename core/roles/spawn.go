package roles

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
)

// pendingSpawn is a spawn under way.
type pendingSpawn struct {
	cancel context.CancelFunc
	called string // off, with this reason; guarded by Service.mu
}

// Spawn implements core.RoleSpawner.
func (s *Service) Spawn(spec core.RoleSpec) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := instanceOf(spec)
	if s.tasks.Ended() || s.spawning[who] != nil {
		return // the engine asks again after a restart; or it is about to be told
	}
	ctx, cancel := context.WithCancel(s.ctx)
	b := &pendingSpawn{cancel: cancel}
	s.spawning[who] = b
	s.tasks.Go(func() {
		defer cancel()
		s.spawn(ctx, b, spec)
	})
}

// spawn brings an agent to its first prompt, and tells the sink how that went.
func (s *Service) spawn(ctx context.Context, b *pendingSpawn, spec core.RoleSpec) {
	a, err := s.bring(ctx, spec)
	s.mu.Lock()
	delete(s.spawning, instanceOf(spec))
	off := b.called
	if s.tasks.Ended() {
		s.mu.Unlock()
		return // the agent lives on, and is taken over when the engine asks again
	}
	if off != "" {
		err = core.Errorf(core.CodeConflict, "the agent is not needed any more: %s", off)
	}
	if err != nil && a != nil && !a.over {
		s.letGo(a)
	}
	s.mu.Unlock()
	if err == nil {
		s.log.Info("an agent serves a role", "agent", a.id, "type", a.kind, "execution", spec.ExecutionID, "role", spec.Role)
		s.sink.RoleSpawned(spec, a.id, a.kind, nil)
		return
	}
	if off == "" {
		s.log.Warn("no agent for a role", "execution", spec.ExecutionID, "role", spec.Role, "error", err)
	}
	if a != nil {
		s.end(a.id, "it did not get ready")
	}
	s.sink.RoleSpawned(spec, "", "", err)
}

// bring brings an agent to its first prompt. When one wants a login and gets none, the role's next type may
// have one. An agent that it returns is followed, also beside an error.
func (s *Service) bring(ctx context.Context, spec core.RoleSpec) (*agent, error) {
	var failure error
	for {
		a, err := s.begin(ctx, spec)
		if err != nil {
			if failure != nil {
				err = failure
			}
			return a, err
		}
		rest := spec.Types[slices.Index(spec.Types, a.kind)+1:]
		spare := slices.ContainsFunc(rest, func(kind string) bool { return offers(s.agents.Runtimes(ctx), kind, spec.Runtime) })
		if err = s.awaitReady(ctx, a, spare); runtimecode.Of(err) != runtimecode.AuthRequired || !spare {
			if err != nil && failure != nil {
				err = failure
			}
			return a, err
		}
		s.log.Info("an agent wants a login; the role's next type is tried", "type", a.kind, "role", spec.Role)
		failure = cmp.Or(failure, err)
		spec.Types = rest
		s.end(a.id, "it wants a login")
	}
}

// begin takes over the agent of an earlier life, or starts one.
func (s *Service) begin(ctx context.Context, spec core.RoleSpec) (*agent, error) {
	if a := s.takeOver(spec); a != nil {
		return a, nil
	}
	infos := s.agents.Runtimes(ctx)
	var failure error
	for _, kind := range spec.Types {
		if !offers(infos, kind, spec.Runtime) {
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		made, err := s.launch(ctx, spec, core.ManagedAgentSpec{
			Name: agentName(spec), Type: kind, Capabilities: spec.Capabilities, Runtime: spec.Runtime,
			Approval: spec.Approval, Labels: labels(spec),
		})
		if err == nil {
			return s.adoptNew(made, spec), nil
		}
		// A failure that leaves open whether the agent runs leaves its record: it may yet come.
		if runtimecode.Passing(err) || ctx.Err() != nil || slices.Contains([]string{runtimecode.Internal, runtimecode.Timeout}, runtimecode.Of(err)) {
			if a := s.recorded(spec); a != nil {
				return a, nil
			}
		}
		failure = cmp.Or(failure, err)
		if code := runtimecode.Of(err); code != runtimecode.CLINotFound && code != runtimecode.UnknownType {
			return nil, err
		}
		s.log.Info("a type of agent cannot be started; the role's next one is tried", "type", kind, "role", spec.Role, "error", err)
	}
	if failure != nil {
		return nil, failure
	}
	return nil, core.RuntimeAway("the role %s: %s", spec.Role, missing(infos, spec.Types, spec.Runtime))
}

// launch starts an agent, as a thread of its execution where there are threads.
func (s *Service) launch(ctx context.Context, spec core.RoleSpec, agent core.ManagedAgentSpec) (*core.ManagedAgent, error) {
	if s.opts.Threads != nil {
		return s.opts.Threads.SpawnRole(ctx, spec, agent) // bounds the starts, and prepares many at a time
	}
	select {
	case s.spawns <- struct{}{}:
		defer func() { <-s.spawns }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return s.agents.SpawnManagedAgent(ctx, agent)
}

// takeOver returns the agent that serves the instance already, or did in an earlier life, or nil. Of several, which
// only a failed start leaves, the others are ended.
func (s *Service) takeOver(spec core.RoleSpec) *agent {
	who := instanceOf(spec)
	s.mu.Lock()
	defer s.mu.Unlock()
	var taken *agent
	for _, a := range s.crew {
		if a.who == who && !a.over {
			taken = a
		}
	}
	for id := range s.left[who] {
		s.took(who, id)
		found, err := s.agents.FindManagedAgent(s.ctx, id)
		if err != nil || found.Gone() {
			continue
		}
		if taken != nil {
			s.endLocked(id, "its role has another agent")
			continue
		}
		s.log.Info("an agent that was spawned before is taken over", "agent", id, "execution", who.execution, "role", who.role)
		taken = s.take(id, found.Name, found.Type, who)
	}
	return taken
}

// recorded looks in the store for an agent whose start was not answered, also when it is not needed any more: it is
// to be ended then.
func (s *Service) recorded(spec core.RoleSpec) *agent {
	records, err := s.opts.Store.AllManagedAgents(s.ctx)
	if err != nil {
		s.log.Warn("the agents cannot be read", "error", err)
		return nil
	}
	for _, r := range slices.Backward(records) {
		if who, ok := labelled(r); ok && who == instanceOf(spec) && r.Wanted && !r.Gone() {
			return s.adoptNew(&r.ManagedAgent, spec)
		}
	}
	return nil
}

// adoptNew begins to follow an agent that was just started; nil once the service is closing.
func (s *Service) adoptNew(made *core.ManagedAgent, spec core.RoleSpec) *agent {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.crew[made.ID]; a != nil {
		return a
	}
	return s.take(made.ID, made.Name, made.Type, instanceOf(spec))
}

// awaitReady waits until an agent takes messages. One that wants a login is given some time for it, less when there
// is a spare type: a person may be there, and a task that could ask for it is not.
func (s *Service) awaitReady(ctx context.Context, a *agent, spare bool) error {
	ready := func() bool {
		return a.over || a.state.gone || a.state.read && (a.state.status == core.ManagedReady || a.state.status == core.ManagedBusy)
	}
	limit, login := wait(s.opts.ReadyWait), false
	err := s.await(ctx, a, limit, func() bool { login = a.state.login; return ready() || login })
	if err == nil && login {
		limit = wait(s.opts.LoginWait)
		if spare {
			limit = min(limit, wait(spareLoginWait))
		}
		err = s.await(ctx, a, limit, ready)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case errors.Is(err, errLate) && a.state.login:
		return notReady(a.kind, runtimecode.AuthRequired,
			"it wants a login: give its runtime a key or a login for agents of this type (env or credentials in its settings)")
	case errors.Is(err, errLate):
		return notReady(a.kind, runtimecode.SpawnFailed, "it did not get ready in %s%s", s.opts.ReadyWait, because(a.state.reason))
	case err != nil:
		return err
	case a.over || a.state.gone:
		return notReady(a.kind, runtimecode.SpawnFailed, "it ended before it was ready%s", because(a.state.reason))
	}
	return nil
}

// because is a reason as the end of a sentence.
func because(reason string) string {
	if reason = strings.TrimSpace(reason); reason == "" {
		return ""
	}
	return " (" + clip.Text(reason, 500) + ")"
}
