package runtimes

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// SpawnManagedAgent implements core.ManagedAgentService. The record is stored before the runtime is asked, so
// that a crash in between leaves an agent that recovery finds, and never one without a record.
func (s *Service) SpawnManagedAgent(ctx context.Context, spec core.ManagedAgentSpec) (*core.ManagedAgent, error) {
	if err := checkSpec(spec); err != nil {
		return nil, err
	}
	s.awaitFirst(ctx, spec)
	candidates, err := s.candidates(spec)
	if err != nil {
		return nil, err
	}
	env, declared, err := s.secretEnv(ctx, spec)
	if err != nil {
		return nil, err
	}
	r, err := s.begin(ctx, spec, candidates[0].Name)
	if err != nil {
		return nil, err
	}
	defer s.settled(r.ID)
	// A caller that leaves does not leave half an agent behind.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), spawnTimeout)
	defer cancel()
	var failure error
	for _, src := range candidates {
		if r, err = s.move(ctx, r.ID, src.Name); err != nil {
			return nil, err
		}
		agent, err := src.Runtime.Spawn(ctx, s.specFor(r, spec, env, declared))
		if err == nil {
			return s.started(ctx, src, r.ID, &agent)
		}
		if failed := translate(err, r); failure == nil {
			failure = failed
		}
		if unsure(err) {
			failure = translate(err, r)
			// It may run: the record stays, and recovery finds out, unless the runtime can tell right now.
			if runtime.ErrorCode(err) != runtime.CodeInternal || !s.absent(ctx, src, r.ID) {
				return nil, failure
			}
			break
		}
		if !elsewhere(err) {
			break
		}
	}
	if err := s.discard(ctx, r.ID); err != nil {
		s.log.Error("the record of an agent that did not start was not removed", "agent", r.ID, "error", err)
	}
	return nil, failure
}

// elsewhere reports whether an agent that did not start on one runtime may start on another: what it lacks is the
// runtime's and not the caller's. The caller gets that of the first one that was tried.
func elsewhere(err error) bool {
	switch runtime.ErrorCode(err) {
	case runtime.CodeResourceLimit, runtime.CodeCLINotFound, runtime.CodeImageNotFound, runtime.CodeSocketError, runtime.CodeNetworkError:
		return true
	}
	return false
}

// unsure reports whether an agent may run, or may yet start, although its spawn failed.
func unsure(err error) bool {
	switch runtime.ErrorCode(err) {
	case runtime.CodeUnavailable, runtime.CodeInternal, runtime.CodeTimeout, runtime.CodeCanceled:
		return true
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// absent asks a runtime that failed inside, and goes on, whether it has the agent all the same.
func (s *Service) absent(ctx context.Context, src *source, id string) bool {
	a, err := src.Runtime.Inspect(ctx, id)
	if err != nil {
		return runtime.ErrorCode(err) == runtime.CodeNotFound
	}
	if _, err := s.started(ctx, src, id, &a); err != nil {
		s.log.Error("an agent that runs is not stored", "agent", id, "error", err)
	}
	return false
}

// begin stores the record of an agent to be, with the claim of the request's idempotency key.
func (s *Service) begin(ctx context.Context, spec core.ManagedAgentSpec, on string) (*core.ManagedAgentRecord, error) {
	now := s.opts.Clock.Now()
	r := &core.ManagedAgentRecord{
		ManagedAgent: core.ManagedAgent{
			ID: s.opts.IDs.New(core.PrefixManaged), Name: spec.Name, Type: spec.Type, Status: core.ManagedStarting,
			Runtime: on, Capabilities: slices.Clone(spec.Capabilities), Workdir: spec.Workdir,
			CreatedBy: cmp.Or(spec.CreatedBy, core.PrincipalFrom(ctx).ID),
			CreatedAt: now, LastActivityAt: now,
		},
		Spec: spec, Wanted: true,
	}
	r.WantedBy = r.CreatedBy
	if r.Capabilities == nil {
		r.Capabilities = []string{}
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if r.Name == "" {
		r.Name = s.spareName(spec.Type)
	}
	err := s.opts.Store.Update(ctx, func(tx core.Tx) error {
		if err := tx.ClaimIdempotency(core.IdempotencyFrom(ctx), r.ID, now); err != nil {
			return err
		}
		return tx.PutManagedAgent(r)
	})
	if err = s.outcome(err, s.has(r)); err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.pending[r.ID] = make(chan struct{})
	s.mu.Unlock()
	s.put(r)
	return r, nil
}

// spareName returns the type, or the type with the least number behind it, that no agent has which is not gone: people
// tell agents apart by it. The caller holds writing.
func (s *Service) spareName(kind string) string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	taken := map[string]bool{}
	for _, r := range s.agents {
		if !r.Gone() {
			taken[r.Name] = true
		}
	}
	name := kind
	for n := 2; taken[name]; n++ {
		name = kind + "-" + strconv.Itoa(n)
	}
	return name
}

// settled ends the time in which recovery leaves the agent alone.
func (s *Service) settled(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.pending[id])
	delete(s.pending, id)
}

// answered waits until the spawn of an agent has been answered; false if there is none to wait for.
func (s *Service) answered(ctx context.Context, id string) (bool, error) {
	s.mu.RLock()
	done := s.pending[id]
	s.mu.RUnlock()
	if done == nil {
		return false, nil
	}
	select {
	case <-done:
		return true, nil
	case <-ctx.Done():
		return true, runtime.Errorf(runtime.CodeTimeout, "the agent is still being started; it is stopped as soon as it is")
	}
}

// move notes which runtime is tried.
func (s *Service) move(ctx context.Context, id, on string) (*core.ManagedAgentRecord, error) {
	return s.change(ctx, id, func(r *core.ManagedAgentRecord) ([]core.Event, bool) {
		changed := r.Runtime != on
		r.Runtime = on
		return nil, changed
	})
}

// started stores what the runtime answered, unless its events told more already. An agent that was stopped before
// the runtime knew it is stopped now.
func (s *Service) started(ctx context.Context, src *source, id string, a *runtime.Agent) (*core.ManagedAgent, error) {
	r, err := s.change(ctx, id, func(r *core.ManagedAgentRecord) ([]core.Event, bool) {
		r.Handle = encode(a.Handle)
		if r.PID == 0 && r.ContainerID == "" && r.PodName == "" && r.StoppedAt == nil {
			take(r, a, s.opts.Clock.Now())
		}
		return nil, true
	})
	if err != nil {
		return nil, err
	}
	if !r.Wanted && !r.Gone() {
		if r, err = s.end(ctx, src.Runtime, r, runtime.StopOptions{Grace: defaultStopGrace}); err != nil {
			return nil, err
		}
	}
	return s.view(r), nil
}

// discard removes the record of an agent that did not start.
func (s *Service) discard(ctx context.Context, id string) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	return s.remove(ctx, id)
}

// remove removes a record. The caller holds writing.
func (s *Service) remove(ctx context.Context, id string) error {
	return doubt.Update(ctx, s.ctx, s.opts.Clock, s.opts.Store, func(tx core.Tx) error {
		tx.AfterCommit(func() { s.forget(id) })
		return tx.DeleteManagedAgent(id)
	}, pause.For)
}

// secretEnv returns the environments of an agent and of its declared type with secrets in place of references. They go to the
// runtime alone; the record keeps the references.
func (s *Service) secretEnv(ctx context.Context, spec core.ManagedAgentSpec) (env map[string]string, declared *runtime.DeclaredType, err error) {
	if env = spec.Env; s.opts.Secrets != nil {
		if env, err = s.opts.Secrets.SecretEnv(ctx, env); err != nil {
			return nil, nil, err
		}
	}
	if t, ok := s.opts.Types[spec.Type]; ok {
		declared = &t
		if s.opts.TypeSecrets != nil {
			if declared.Env, err = s.opts.TypeSecrets.SecretEnv(ctx, t.Env); err != nil {
				return nil, nil, err
			}
		}
		if err = checkSecretEnv(declared.Env); err != nil {
			return nil, nil, err
		}
	}
	return env, declared, checkSecretEnv(env)
}

// checkSecretEnv refuses what no environment can hold. Values may have become longer than those that were asked for.
func checkSecretEnv(env map[string]string) error {
	return core.InvalidAll("managed agent", core.CheckEnv("env", env))
}

// specFor makes the runtime's spec.
func (s *Service) specFor(
	r *core.ManagedAgentRecord, spec core.ManagedAgentSpec, env map[string]string, declared *runtime.DeclaredType,
) runtime.Spec {
	out := runtime.Spec{
		ID: r.ID, Name: r.Name, Type: spec.Type, Installation: s.opts.Installation, Capabilities: spec.Capabilities,
		Labels: spec.Labels, Workdir: spec.Workdir, Env: env, Approval: spec.Approval, Resume: spec.Resume,
		Limits: runtime.Limits{MemoryBytes: spec.MemoryBytes, CPU: spec.CPU}, Image: spec.Image, Network: spec.Network, Volumes: spec.Volumes,
	}
	out.Declared = declared
	return out
}
