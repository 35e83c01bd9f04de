package threads

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// instanceKey is the key of the metadata of a role's thread that holds its instance.
const instanceKey = "instance"

// instanceOf returns the instance of a role that a thread is.
func instanceOf(r *core.ThreadRecord) (roleInstance, bool) {
	if r.Kind != core.ThreadKindRole {
		return roleInstance{}, false
	}
	at := roleInstance{execution: r.ExecutionID, role: r.Role}
	switch n := r.Metadata[instanceKey].(type) {
	case int:
		at.number = n
	case json.Number: // as it is read from the store
		number, err := n.Int64()
		if err != nil {
			return roleInstance{}, false
		}
		at.number = int(number)
	default:
		return roleInstance{}, false
	}
	return at, true
}

// SpawnRole implements core.RoleThreads.
func (s *Service) SpawnRole(ctx context.Context, spec core.RoleSpec, agent core.ManagedAgentSpec) (*core.ManagedAgent, error) {
	at := roleInstance{execution: spec.ExecutionID, role: spec.Role, number: spec.Instance}
	release, err := s.claim(ctx, at)
	if err != nil {
		return nil, err
	}
	defer release()
	s.mu.Lock()
	t := s.roles[at]
	s.mu.Unlock()
	if t != nil && t.spent(ctx) {
		s.vacate(t)
		s.tasks.Go(t.endRole)
		t = nil
	}
	if t == nil {
		if t, err = s.newRole(ctx, at, spec, agent); err != nil {
			return nil, err
		}
	}
	return t.spawnRole(ctx, agent)
}

// spent reports whether the thread of a role has no agent any more.
func (t *thread) spent(ctx context.Context) bool {
	r := t.record()
	if r.Ending != nil || r.ManagedAgentID == "" {
		return r.Ending != nil
	}
	a, err := t.s.opts.ManagedAgents.FindManagedAgent(ctx, r.ManagedAgentID)
	return core.ErrorCode(err) == core.CodeNotFound || err == nil && a.Gone()
}

// vacate makes room for another thread of the same instance.
func (s *Service) vacate(t *thread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vacateLocked(t)
}

func (s *Service) vacateLocked(t *thread) {
	if at, ok := instanceOf(t.record()); ok && s.roles[at] == t {
		delete(s.roles, at)
	}
}

// claim waits until no other call spawns the agent of the same instance.
func (s *Service) claim(ctx context.Context, at roleInstance) (release func(), err error) {
	for {
		s.mu.Lock()
		if s.tasks.Ended() {
			s.mu.Unlock()
			return nil, errShuttingDown()
		}
		taken := s.spawns[at]
		if taken == nil {
			mine := make(chan struct{})
			s.spawns[at] = mine
			s.mu.Unlock()
			return func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.spawns, at)
				close(mine)
			}, nil
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-taken:
		}
	}
}

// newRole stores the thread of a role.
func (s *Service) newRole(ctx context.Context, at roleInstance, spec core.RoleSpec, agent core.ManagedAgentSpec) (*thread, error) {
	now := s.clock.Now()
	r := &core.ThreadRecord{Kind: core.ThreadKindRole, Trace: spec.Trace.String(), Thread: core.Thread{
		ID: s.opts.IDs.New(core.PrefixThread), ExecutionID: at.execution, Name: at.role + "-" + strconv.Itoa(at.number),
		AgentType: agent.Type, Role: at.role, Objective: spec.Objective, Status: core.ThreadPending, Runtime: spec.Runtime,
		Preparation: core.Preparation{Workspace: spec.Workspace, Approval: spec.Approval},
		Metadata:    map[string]any{instanceKey: at.number}, CreatedBy: core.System.ID,
		CreatedAt: now, UpdatedAt: now, LastActivityAt: now,
	}}
	r.Preparation.Approval = cmp.Or(r.Preparation.Approval, defaultApproval)
	ws, err := s.reserve(ctx, r)
	if err != nil {
		return nil, err
	}
	s.joinAdHoc(r.ExecutionID, r.ID)
	err = s.opts.Store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		if r.Workspace, err = s.opts.Workspaces.AdoptWorkspace(tx, ws.ID, r.ID, r.ExecutionID); err != nil {
			return err
		}
		if err := checkPrepared(&r.Preparation, r.Workspace); err != nil {
			return err
		}
		return tx.PutThread(r)
	})
	if err = s.outcome(err, s.hasThread(r.ID)); err != nil {
		s.leaveAdHoc(r.ExecutionID, r.ID)
		return nil, err
	}
	t := s.newThread(r)
	s.mu.Lock()
	s.roles[at] = t
	s.mu.Unlock()
	s.observer.ThreadSpawned(r.AgentType)
	s.launch(t)
	return t, nil
}

// spawnRole prepares the workspace and starts the agent, unless that was done.
func (t *thread) spawnRole(ctx context.Context, agent core.ManagedAgentSpec) (*core.ManagedAgent, error) {
	r := t.record()
	if r.ManagedAgentID != "" {
		return t.s.opts.ManagedAgents.FindManagedAgent(ctx, r.ManagedAgentID)
	}
	if r.Status == core.ThreadPending || r.Status == core.ThreadPreparing {
		if err := t.furnishRole(ctx); err != nil {
			return nil, err
		}
	}
	a, err := t.labelled(ctx)
	if err != nil {
		return nil, err
	}
	if a == nil {
		t.s.complete(&agent, t.record())
		if a, err = t.s.startAgent(ctx, agent); err != nil {
			return nil, err
		}
	}
	kind := agent.Type
	if a.Type != "" {
		kind = a.Type
	}
	err = t.change(ctx, func(c *change) error {
		if c.rec.Ending != nil || c.rec.Status.Terminal() {
			return over(c.rec)
		}
		if c.rec.ManagedAgentID == a.ID {
			return errUnchanged // it was found by its label meanwhile
		}
		c.rec.AgentType = kind
		c.started(a)
		return nil
	})
	if err != nil {
		return nil, err // its label tells whose the agent is
	}
	return a, nil
}

func (t *thread) furnishRole(ctx context.Context) error {
	err := t.change(ctx, func(c *change) error {
		if c.rec.Status != core.ThreadPending {
			return errUnchanged
		}
		c.rec.Status = core.ThreadPreparing
		c.event(core.EventThreadStatus, statusData{Status: string(core.ThreadPreparing)})
		return nil
	})
	if err != nil {
		return err
	}
	ws, memory, err := t.furnish(ctx)
	if err != nil {
		return err
	}
	return t.change(ctx, func(c *change) error {
		if c.rec.Ending != nil {
			return over(c.rec)
		}
		c.prepared(ws, memory)
		return nil
	})
}

// awaitRole waits until the thread of a role has its agent. SpawnRole sees to that; but an agent whose start was uncertain,
// or that an earlier life of ours started, is found by its label.
func (t *thread) awaitRole() {
	linked := func(r *core.ThreadRecord) bool { return r.ManagedAgentID != "" || r.Ending != nil }
	for t.work.Err() == nil && !linked(t.record()) {
		if t.record().Begun {
			if a, err := t.labelled(t.work); err == nil && a != nil && !a.Gone() {
				t.must(t.work, func(c *change) error {
					if linked(c.rec) {
						return errUnchanged
					}
					if a.Type != "" {
						c.rec.AgentType = a.Type
					}
					c.started(a)
					return nil
				})
				return
			}
		}
		due, stop := t.s.after(lookInterval)
		t.await(t.work, due, linked)
		stop()
	}
}

// OpenWork implements core.RoleThreads. What came before is in the record by then, so that a turn that shows there later
// began or ended behind the note.
func (s *Service) OpenWork(ctx context.Context, agentID, key string, attempt int) (core.RoleWork, error) {
	known := core.RoleWork{Attempt: attempt}
	s.mu.Lock()
	t := s.crew[agentID]
	s.mu.Unlock()
	if t == nil || t.record().Kind != core.ThreadKindRole {
		return known, nil
	}
	if err := t.lockFeed(ctx); err != nil {
		return known, err
	}
	defer t.unlockFeed()
	if err := t.catchUpOnce(ctx); err != nil {
		return known, err
	}
	err := t.change(ctx, func(c *change) error {
		w := c.rec.Work
		switch {
		case c.rec.Ending != nil:
			return errUnchanged
		case w != nil && w.InputID == key && w.Attempt >= attempt:
			known = core.RoleWork{Attempt: w.Attempt, Shown: w.Begun || w.Ended != nil}
			return errUnchanged
		}
		c.rec.Work = &core.ThreadWork{InputID: key, Attempt: attempt, Held: true}
		return nil
	})
	return known, err
}

// EndRole implements core.RoleThreads.
func (s *Service) EndRole(agentID, _ string) {
	s.mu.Lock()
	t := s.crew[agentID]
	if t != nil && t.record().Kind == core.ThreadKindRole {
		s.vacateLocked(t)
		s.tasks.Go(t.endRole)
	}
	s.mu.Unlock()
}

// endRole decides how the thread of a role ends: as its execution did, or completed when that goes on without it. One
// that never had an agent, because none could be started, did nothing that could complete.
func (t *thread) endRole() {
	var e *core.Execution
	var retry pause.Backoff
	for {
		var err error
		// One that cannot be read never goes on, and its agents must not wait for it for ever.
		if e, err = t.s.opts.Store.FindExecution(t.work, t.execution); err == nil || core.ErrorCode(err) == core.CodeNotFound ||
			errors.Is(err, core.ErrUnreadable) {
			break
		}
		if !t.s.pause(t.work, retry.Next()) {
			return
		}
	}
	t.catchUp(t.work)
	t.must(t.work, func(c *change) error {
		ending := core.ThreadEnding{Status: core.ThreadCompleted, State: core.CompletionComplete}
		switch {
		case e == nil, e.Status == core.ExecutionCancelled, c.rec.TurnCount == 0 && (!e.Status.Terminal() || c.rec.StartedAt == nil && e.Status == core.ExecutionCompleted):
			ending = core.ThreadEnding{Status: core.ThreadStopped, State: core.CompletionPartial, Reason: core.ThreadReasonExecution}
		case e.Status == core.ExecutionFailed:
			ending = core.ThreadEnding{Status: core.ThreadFailed, State: core.CompletionFailed, Reason: core.ThreadReasonExecution}
			ending.Error = &core.ThreadError{Code: core.CodeAgentError, Message: "the execution failed"}
			if e.Error != nil {
				ending.Error = &core.ThreadError{Code: e.Error.Code, Message: "the execution failed: " + clip.Text(e.Error.Message, maxSummary)}
			}
		}
		c.end(ending)
		return nil
	})
}
