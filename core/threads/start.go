package threads

import (
	"context"
	"maps"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
)

// begin starts the agent of a thread, or takes up the one that an earlier life of ours started. It returns once the
// thread has an agent, or its end was decided on.
func (t *thread) begin() {
	ctx := t.work
	var retry pause.Backoff
	for tries := 1; ; {
		a, err := t.ensureAgent(ctx)
		if err == nil {
			t.must(ctx, func(c *change) error {
				c.started(a)
				return nil
			})
			return
		}
		if ctx.Err() != nil {
			return
		}
		if !runtimecode.Passing(err) {
			if !unsure(err) || tries >= maxTries {
				t.log.Warn("the agent of a thread cannot be started", "error", err)
				t.must(ctx, func(c *change) error {
					c.fail("", threadError(err))
					return nil
				})
				return
			}
			tries++
		}
		t.log.Info("the agent of a thread cannot be started yet", "error", err)
		if !t.s.pause(ctx, retry.Next()) {
			return
		}
	}
}

// ensureAgent returns the agent of the thread, which it starts if there is none.
func (t *thread) ensureAgent(ctx context.Context) (*core.ManagedAgent, error) {
	if a, err := t.labelled(ctx); err != nil || a != nil {
		return a, err
	}
	r := t.record()
	env, err := t.s.openEnv(t.id, r.SealedEnv)
	if err != nil {
		return nil, err
	}
	spec := core.ManagedAgentSpec{
		Name: clip.Text(r.Name, maxName), Type: r.AgentType, Runtime: r.Runtime, Approval: r.Preparation.Approval, Env: env,
		Resume: r.SessionID, CreatedBy: r.CreatedBy,
	}
	t.s.complete(&spec, r)
	return t.s.startAgent(ctx, spec)
}

// startAgent starts an agent, as many at the same time as are configured.
func (s *Service) startAgent(ctx context.Context, spec core.ManagedAgentSpec) (*core.ManagedAgent, error) {
	if err := s.takeStart(ctx); err != nil {
		return nil, err
	}
	defer s.giveStart()
	return s.opts.ManagedAgents.SpawnManagedAgent(ctx, spec)
}

// complete gives the spec of an agent what it needs to be a thread's.
func (s *Service) complete(spec *core.ManagedAgentSpec, r *core.ThreadRecord) {
	if r.Workspace != nil {
		spec.Workdir = r.Workspace.Path
		env := s.opts.Workspaces.GitEnv(r.Workspace.ID)
		if env == nil {
			env = make(map[string]string)
		}
		maps.Copy(env, spec.Env)
		spec.Env = env
	}
	spec.Env = traced(spec.Env, r)
	labels := maps.Clone(spec.Labels)
	if labels == nil {
		labels = make(map[string]string, 2)
	}
	labels[LabelThread], labels[LabelExecution] = r.ID, r.ExecutionID
	spec.Labels = labels
}

// labelled looks for the newest agent that was started for the thread. It returns nil when there is none, or only ones
// that never ran. One of which it is not known yet whether it runs is an error that passes: its runtime finds out, unless that is not
// configured any more.
func (t *thread) labelled(ctx context.Context) (*core.ManagedAgent, error) {
	a, known, err := t.newest(ctx)
	switch {
	case err != nil || a == nil || known:
		return a, err
	case !t.s.configured(ctx, a.Runtime):
		return nil, core.Invalid("runtime", "%q, on which the agent was being started, is not configured any more", a.Runtime)
	}
	return nil, core.Unavailable("starting", "the runtime %s did not tell yet whether the agent was started", a.Runtime)
}

// newest returns the newest agent that was started for the thread, and may run or ran; known reports whether its runtime told
// what became of the start.
func (t *thread) newest(ctx context.Context) (a *core.ManagedAgent, known bool, err error) {
	records, err := t.s.opts.Store.AllManagedAgents(ctx)
	if err != nil {
		return nil, false, err
	}
	for _, r := range slices.Backward(records) {
		if r.Spec.Labels[LabelThread] != t.id || r.ID == t.record().FormerAgentID {
			continue
		}
		ran := r.PID != 0 || r.ContainerID != "" || r.PodName != ""
		switch {
		case ran, r.Status != core.ManagedStarting && !r.Gone():
			return &r.ManagedAgent, true, nil
		case !r.Gone():
			return &r.ManagedAgent, false, nil
		case r.StatusReason != core.ThreadReasonLost:
			return &r.ManagedAgent, true, nil // it ended before it could be told; its events tell why
		}
	}
	return nil, false, nil
}

// configured reports whether a runtime is in the configuration.
func (s *Service) configured(ctx context.Context, name string) bool {
	return slices.ContainsFunc(s.opts.ManagedAgents.Runtimes(ctx), func(info core.RuntimeInfo) bool { return info.Name == name })
}

// started notes that the thread has an agent.
func (c *change) started(a *core.ManagedAgent) {
	r := c.rec
	r.ManagedAgentID, r.Runtime = a.ID, a.Runtime
	if a.SessionID != "" {
		r.SessionID = a.SessionID
	}
	if r.StartedAt == nil {
		at := c.now
		r.StartedAt = &at
	}
	r.LastActivityAt = c.now
	c.event(core.EventThreadStarted, startedData{
		ManagedAgentID: a.ID, Runtime: a.Runtime, AgentType: r.AgentType, Workspace: dataOfWorkspace(r.Workspace), Restart: r.Restarts,
	})
	t := c.t
	c.after = append(c.after, func() {
		t.s.mu.Lock()
		defer t.s.mu.Unlock()
		if t.s.live[t.id] == t {
			t.s.crew[a.ID] = t
		}
	})
}
