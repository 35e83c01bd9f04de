package threads

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/sanitize"
	"github.com/wardroom/wardroom/sdk/wire"
)

// memoryContextKey is the key of a thread's metadata that is ours: what its memory was made of.
const memoryContextKey = "memoryContext"

// SpawnThread implements core.ThreadService. The record, with the execution if it is a new one, and the first message
// are stored in one transaction; everything else follows from them.
func (s *Service) SpawnThread(ctx context.Context, spec core.ThreadSpec) (*core.Thread, error) {
	return s.spawnThread(ctx, spec, nil)
}

// spawnThread spawns a thread, which goes on with another if from is not nil.
func (s *Service) spawnThread(ctx context.Context, spec core.ThreadSpec, from *continuation) (*core.Thread, error) {
	spec, err := s.check(s.withPrepared(ctx, s.sanitized(spec)), true)
	if err != nil {
		return nil, err
	}
	if err := s.checkType(ctx, &spec); err != nil {
		return nil, err
	}
	if err := s.checkExecution(ctx, spec.ExecutionID); err != nil {
		return nil, err
	}
	if err := s.checkConsent(ctx, &spec); err != nil {
		return nil, err
	}
	if err := s.confine(ctx, &spec); err != nil {
		return nil, err
	}
	where, err := s.place(ctx, &spec)
	if err != nil {
		return nil, err
	}
	if err := s.takeRoom(); err != nil {
		return nil, err
	}
	t, err := s.spawn(ctx, spec, where, from)
	if err != nil {
		s.mu.Lock()
		s.spawned--
		s.mu.Unlock()
		return nil, err
	}
	s.observer.ThreadSpawned(spec.AgentType)
	first := view(t.record())
	s.launch(t)
	return first, nil
}

// confine refuses a workspace that would be open to others in the execution of the thread than it is now. One of its own has the
// allow-lists of the former.
func (s *Service) confine(ctx context.Context, spec *core.ThreadSpec) error {
	asked := workspaceSpec(&spec.Preparation)
	if s.opts.Opens == nil || asked.WorkspaceID == "" || spec.ExecutionID == core.NewExecution {
		return nil
	}
	w, err := s.opts.Workspaces.FindWorkspace(ctx, asked.WorkspaceID)
	if err != nil {
		return err
	}
	if !core.ValidID(core.PrefixExecution, w.ExecutionID) || w.ExecutionID == spec.ExecutionID || !s.opts.Opens(w.ExecutionID, spec.ExecutionID) {
		return nil
	}
	return core.Conflict("workspace", w.ID, string(w.Status),
		"workspace %q is of a pattern with an allow-list that execution %q does not have; spawn the thread with executionId \"new\"", w.ID, spec.ExecutionID)
}

// sanitized returns a spec with the texts that the configuration wants, and adds to it what was changed. Files and the
// environment are no texts.
func (s *Service) sanitized(spec core.ThreadSpec) core.ThreadSpec {
	config := s.config.Load()
	texts := sanitize.Texts{Options: sanitize.Options{HTML: config.SanitizeHTML, Scripts: config.SanitizeScripts}, Changes: slices.Clone(spec.Sanitized)}
	if !texts.Options.Any() {
		return spec
	}
	texts.Text("name", &spec.Name)
	texts.Text("role", &spec.Role)
	texts.Text("objective", &spec.Objective)
	if len(spec.Metadata) > 0 {
		spec.Metadata, _ = texts.Value("metadata", spec.Metadata).(map[string]any)
	}
	if finish := spec.Policy.Finish; finish != nil {
		own := *finish
		texts.Text("policy.finish.message", &own.Message)
		spec.Policy.Finish = &own
	}
	spec.Sanitized = texts.Changes
	return spec
}

// takeRoom counts a thread to be, if there is room for one.
func (s *Service) takeRoom() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tasks.Ended() {
		return errShuttingDown()
	}
	if most := s.config.Load().MaxThreads; s.spawned >= most {
		return core.RateLimited(int64(most), 0, 0, "%d threads are active, which is the limit (threads.maxThreads); "+
			"wait until one ends, or stop one", s.spawned)
	}
	s.spawned++
	return nil
}

// checkExecution reports whether threads can be added to an execution.
func (s *Service) checkExecution(ctx context.Context, id string) error {
	if id == core.NewExecution {
		return nil
	}
	e, err := s.opts.Store.FindExecution(ctx, id)
	if err != nil {
		return err
	}
	return takesThreads(e)
}

func takesThreads(e *core.Execution) error {
	if e.Status == core.ExecutionCancelled || e.AdHoc && e.Status.Terminal() {
		return core.Conflict("execution", e.ID, string(e.Status),
			"the execution is %s; spawn the thread in another one, or with executionId \"new\"", e.Status)
	}
	return nil
}

// checkConsent refuses a thread without the consent of those whom its data is of, where that is required: its own, or that of
// the execution that it belongs to, which may have begun before it was.
func (s *Service) checkConsent(ctx context.Context, spec *core.ThreadSpec) error {
	if !s.config.Load().RequireConsent {
		return nil
	}
	err := core.CheckConsent(spec.Metadata, "metadata")
	if err == nil || spec.ExecutionID == core.NewExecution {
		return err
	}
	e, failed := s.opts.Store.FindExecution(ctx, spec.ExecutionID)
	if failed != nil {
		return failed
	}
	if core.CheckConsent(e.Options.Metadata, "metadata") == nil {
		return nil
	}
	return err
}

// spawn stores a thread.
func (s *Service) spawn(ctx context.Context, spec core.ThreadSpec, where place, from *continuation) (*thread, error) {
	now := s.clock.Now()
	asked := core.TraceFrom(ctx)
	r := &core.ThreadRecord{Trace: asked.String(), Thread: core.Thread{
		ID: s.opts.IDs.New(core.PrefixThread), ExecutionID: spec.ExecutionID, Name: spec.Name, AgentType: spec.AgentType,
		Role: spec.Role, Objective: spec.Objective, Status: core.ThreadPending, Runtime: where.runtime, AgentID: where.host,
		Preparation: spec.Preparation, Policy: spec.Policy, Metadata: withoutMemory(spec.Metadata), Sanitized: spec.Sanitized,
		CreatedBy: core.PrincipalFrom(ctx).ID, CreatedAt: now, UpdatedAt: now, LastActivityAt: now,
	}}
	s.opts.Tracer.Remember(r.ID, asked)
	var err error
	if r.SealedEnv, err = s.sealEnv(r.ID, spec.Preparation.Env); err != nil {
		return nil, err
	}
	r.Preparation.Env = nil
	fresh := spec.ExecutionID == core.NewExecution
	var exec *core.Execution
	if fresh {
		exec = newAdHoc(s.opts.IDs.New(core.PrefixExecution), r.CreatedBy, now)
		for _, key := range []string{core.SubjectKey, core.ConsentKey} { // whose data the thread is of, and that they agree, its execution says too
			value, ok := r.Metadata[key]
			if !ok {
				continue
			}
			if exec.Options.Metadata == nil {
				exec.Options.Metadata = core.Metadata{}
			}
			exec.Options.Metadata[key] = value
		}
		r.ExecutionID = exec.ID
	}
	if where.host == "" {
		// The request is recorded with the thread, which its record names, and not with what is got ready for it.
		if r.Workspace, err = s.reserve(core.WithAuditIntent(ctx, nil), r); err != nil {
			return nil, err
		}
	} else if _, err := s.opts.Workspaces.ResolveWorkspace(spec.Preparation.Workspace); err != nil {
		return nil, err
	}
	if from != nil {
		if r.Continues = from.old.ID; told[r.AgentType] {
			r.SessionID = from.old.SessionID
		}
	}
	first := s.firstInputs(r, from)
	r.InputSeq, r.QueuedInputs = uint64(len(first)), len(first)
	if len(first) > 0 {
		r.AskedInput = first[len(first)-1].ID
	}
	s.joinAdHoc(r.ExecutionID, r.ID)
	err = s.opts.Store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		if err := tx.ClaimIdempotency(core.IdempotencyFrom(ctx), r.ID, now); err != nil {
			return err
		}
		if err := core.Along(ctx, tx, core.RunRef{ExecutionID: r.ExecutionID, ThreadID: r.ID}); err != nil {
			return err
		}
		if fresh {
			if err := inherit(tx, exec, r, from); err != nil {
				return err
			}
		}
		if err := s.putExecution(tx, r.ExecutionID, exec, now); err != nil {
			return err
		}
		if r.Workspace != nil {
			ws, err := s.opts.Workspaces.AdoptWorkspace(tx, r.Workspace.ID, r.ID, r.ExecutionID)
			if err != nil {
				return err
			}
			if err := checkPrepared(&r.Preparation, ws); err != nil {
				return err
			}
			r.Workspace = ws
		}
		for _, in := range first {
			if err := tx.PutInput(in); err != nil {
				return err
			}
			data, err := json.Marshal(inputOf(in, inputQueued))
			if err != nil {
				return err
			}
			err = tx.Append(core.Event{
				Type: core.EventThreadInput, Time: now, Subject: r.ID, Group: core.ThreadGroup(r.ExecutionID), Data: data, By: in.CreatedBy,
			})
			if err != nil {
				return err
			}
		}
		if from != nil {
			if err := from.take(tx, r); err != nil {
				return err
			}
		}
		return tx.PutThread(r)
	})
	if err = s.outcome(err, s.hasThread(r.ID)); err != nil {
		s.leaveAdHoc(r.ExecutionID, r.ID)
		return nil, err
	}
	t := s.newThread(r)
	for _, in := range first {
		t.waiting += int64(len(in.Message))
	}
	return t, nil
}

// putExecution stores a new ad-hoc execution, or checks that a thread can still be added to one.
func (s *Service) putExecution(tx core.Tx, id string, fresh *core.Execution, now time.Time) error {
	if fresh == nil {
		e, err := tx.FindExecution(id)
		if err != nil {
			return err
		}
		return takesThreads(e)
	}
	if err := tx.PutExecution(fresh); err != nil {
		return err
	}
	return tx.Append(s.executionEvent(core.EventExecutionStarted, fresh, now))
}

// reserve finds the workspace of a thread: the one that was prepared, or a new one.
func (s *Service) reserve(ctx context.Context, r *core.ThreadRecord) (*core.Workspace, error) {
	spec := workspaceSpec(&r.Preparation)
	if spec.WorkspaceID == "" {
		return s.opts.Workspaces.ReserveWorkspace(ctx, core.WorkspaceRequest{
			ExecutionID: r.ExecutionID, ThreadID: r.ID, Role: r.Role, Name: r.Name, Spec: spec,
		})
	}
	return s.opts.Workspaces.FindWorkspace(ctx, spec.WorkspaceID)
}

// withPrepared fills in what a prepared workspace is of, where only its id is given.
func (s *Service) withPrepared(ctx context.Context, spec core.ThreadSpec) core.ThreadSpec {
	if asked := workspaceSpec(&spec.Preparation); asked.WorkspaceID != "" && asked.Repo == "" {
		if ws, err := s.opts.Workspaces.FindWorkspace(ctx, asked.WorkspaceID); err == nil { // reserve tells why not
			asked.Repo, asked.WorkBranch = ws.Repo, ws.WorkBranch
			spec.Preparation.Workspace = &asked
		}
	}
	return spec
}

// checkPrepared reports whether a workspace is one that was prepared for what is asked for beside its id.
func checkPrepared(p *core.Preparation, ws *core.Workspace) error {
	spec := workspaceSpec(p)
	if spec.WorkspaceID == "" {
		return nil
	}
	if spec.Repo != "" && spec.Repo != ws.Repo && spec.Repo != ws.URL || spec.Branch != "" && spec.Branch != ws.Branch {
		return core.Conflict("workspace", ws.ID, string(ws.Status),
			"the workspace was prepared for repository %q and branch %q; leave both out, or prepare another one", ws.Repo, ws.Branch)
	}
	return nil
}

// withoutMemory is the caller's metadata without what prepare added.
func withoutMemory(metadata map[string]any) map[string]any {
	if _, ok := metadata[memoryContextKey]; !ok {
		return metadata
	}
	own := make(map[string]any, len(metadata))
	for key, value := range metadata {
		if key != memoryContextKey {
			own[key] = value
		}
	}
	return own
}

// told are the agent types that understand a hint in plain words. Others take each line as it is.
var told = map[string]bool{"claude": true, "codex": true, "gemini": true}

// firstMessage is the first message of an agent; "" without an objective.
func firstMessage(r *core.ThreadRecord) string {
	if r.Objective == "" || !told[r.AgentType] {
		return r.Objective
	}
	return r.Objective + "\n\n(Before you begin, read " + core.ThreadMemoryPath +
		": it tells what is known already, and how to report the outcome at the end.)"
}

// CheckSpec returns why a spawn would be refused now, as far as that can be told without a look at workspaces and
// runtimes. Nothing is reserved.
func (s *Service) CheckSpec(ctx context.Context, spec core.ThreadSpec) error {
	spec, err := s.check(spec, true)
	if err != nil {
		return err
	}
	if err := s.checkExecution(ctx, spec.ExecutionID); err != nil {
		return err
	}
	return s.checkConsent(ctx, &spec)
}

// PrepareThread implements core.ThreadService.
func (s *Service) PrepareThread(ctx context.Context, spec core.ThreadSpec) (*core.ThreadPlan, error) {
	spec, err := s.check(s.withPrepared(ctx, spec), false)
	if err != nil {
		return nil, err
	}
	if err := s.checkType(ctx, &spec); err != nil {
		return nil, err
	}
	if err := checkRuntime(s.opts.ManagedAgents.Runtimes(ctx), &spec); err != nil {
		return nil, err
	}
	if err := s.checkExecution(ctx, spec.ExecutionID); err != nil {
		return nil, err
	}
	if err := s.confine(ctx, &spec); err != nil {
		return nil, err
	}
	draft := &core.ThreadRecord{Thread: core.Thread{
		ExecutionID: spec.ExecutionID, Name: spec.Name, Role: spec.Role, Objective: spec.Objective, Preparation: spec.Preparation,
	}}
	ws, err := s.reserve(ctx, draft)
	if err == nil {
		err = checkPrepared(&spec.Preparation, ws)
	}
	if err == nil && ws.ThreadID != "" && ws.Status != core.WorkspaceReleased { // nor is anything written beside its agent
		err = core.Conflict("workspace", ws.ID, string(ws.Status), "workspace %q belongs to another thread; prepare again for a new one", ws.ID)
	}
	if err != nil {
		return nil, err
	}
	memory, err := s.recall(ctx, draft, ws, spec.Mask)
	if err != nil {
		return nil, err
	}
	given := slices.Clip(spec.Preparation.ContextFiles)
	if spec.Provision {
		if ws, err = s.opts.Workspaces.ProvisionWorkspace(ctx, ws.ID); err != nil {
			return nil, err
		}
		whole := memory
		if spec.Mask != nil {
			if whole, err = s.recall(ctx, draft, ws, nil); err != nil {
				return nil, err
			}
		}
		if err := s.opts.Workspaces.WriteContext(ctx, ws.ID, "", append(given, whole.File)); err != nil {
			return nil, err
		}
	}
	metadata := make(map[string]any, len(spec.Metadata)+1)
	maps.Copy(metadata, spec.Metadata)
	metadata[memoryContextKey] = summaryOf(memory)
	raw, err := json.Marshal(metadata)
	if err != nil {
		return nil, core.Invalid("metadata", "must be plain JSON")
	}
	plan := &core.ThreadPlan{
		ExecutionID: spec.ExecutionID, Name: spec.Name, AgentType: spec.AgentType, Objective: spec.Objective, Role: spec.Role,
		Preparation: spec.Preparation, Policy: spec.Policy, Metadata: raw,
	}
	plan.Preparation.Env, plan.Preparation.ContextFiles = nil, append(given, memory.File)
	plan.Preparation.Workspace = &core.WorkspaceSpec{
		WorkspaceID: ws.ID, Path: ws.Path, Repo: ws.Repo, Branch: ws.Branch, WorkBranch: ws.WorkBranch, BaseCommit: ws.BaseCommit,
		Depth: ws.Depth, Filter: ws.Filter, Submodules: ws.Submodules,
	}
	return plan, nil
}

// recall asks what a thread should know. ws may be nil, and mask, which is that of who reads it.
func (s *Service) recall(ctx context.Context, r *core.ThreadRecord, ws *core.Workspace, mask core.Masker) (*core.MemoryContext, error) {
	q := core.MemoryQuery{ExecutionID: r.ExecutionID, Repo: workspaceSpec(&r.Preparation).Repo, Role: r.Role, Objective: r.Objective, Mask: mask}
	if ws != nil {
		q.Repo = ws.Repo
	}
	return s.opts.Memory.Recall(ctx, q)
}

// summaryOf is what callers see of a memory.
func summaryOf(m *core.MemoryContext) wire.MemoryContext {
	return wire.MemoryContext{
		SharedDecisionCount: len(m.Decisions), EpisodicExperienceCount: len(m.Experiences),
		Repo: m.Repo, Role: m.Role, Objective: m.Objective,
	}
}
