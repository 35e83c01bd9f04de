package appliance

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/core"
)

var _ core.Launcher = launcher{}

// launcher starts what schedules and triggers ask for, with the rights of whom they belong to.
type launcher struct{ app *App }

// Principal implements core.Launcher.
func (l launcher) Principal(ctx context.Context, r core.PrincipalRecord) (core.Principal, error) {
	p := r.Principal()
	if l.app.access == nil { // as every request
		return core.Anonymous, nil
	}
	if p.Kind == core.PrincipalAnonymous || p.Kind == core.PrincipalSystem {
		return core.Principal{}, core.Errorf(core.CodeUnauthorized, "it was made while no security was configured; change it with a credential")
	}
	if r.SignedIn {
		p.Scopes, p.ScopesByDefault = l.app.sessionScopes(ctx, p)
	}
	p, err := l.app.access.Refresh(ctx, p)
	if core.ErrorCode(err) == core.CodeUnauthorized {
		return p, core.Errorf(core.CodeUnauthorized, "the credential of %s that it was made with is revoked or expired", r.ID)
	}
	return p, err
}

// accessOf returns what is asked of the policy before a target is started.
func accessOf(t core.Target) core.Access {
	if t.Execution != nil {
		return core.Access{
			Action: "executions.create", Resource: "executions", Scope: core.ScopeExecutionsCreate, ID: t.Execution.Pattern, Pattern: t.Execution.Pattern,
		}
	}
	access := core.Access{Action: "threads.spawn", Resource: "threads", Scope: core.ScopeExecutionsCreate}
	if id := t.Thread.ExecutionID; core.ValidID(core.PrefixExecution, id) {
		access.Resource, access.ID = "executions", id
	}
	return access
}

// may refuses a target that the principal of ctx may not start.
func (l launcher) may(ctx context.Context, t core.Target) error {
	if l.app.policy == nil {
		return nil
	}
	return l.app.authorize(ctx, core.PrincipalFrom(ctx), accessOf(t))
}

// CheckTarget implements core.Launcher.
func (l launcher) CheckTarget(ctx context.Context, t core.Target) error {
	if err := l.may(ctx, t); err != nil {
		return err
	}
	if t.Thread != nil {
		return l.app.threads.CheckSpec(ctx, threadSpec(t.Thread, nil))
	}
	req := executeRequest(t.Execution)
	if t.Execution.Input == nil {
		req.Input = nil
	}
	err := l.app.engine.CheckRequest(ctx, req)
	if core.ErrorCode(err) == core.CodeNotFound {
		if t.Execution.Version == "" {
			return core.Invalid("target.execution.pattern", "there is no pattern %s", t.Execution.Pattern)
		}
		return core.Invalid("target.execution.pattern", "there is no pattern %s of the version %s", t.Execution.Pattern, t.Execution.Version)
	}
	return err
}

// Launch implements core.Launcher.
func (l launcher) Launch(ctx context.Context, t core.Target, env map[string]string, along core.AlongFunc) (core.RunRef, error) {
	if err := l.may(ctx, t); err != nil {
		return core.RunRef{}, err
	}
	if along != nil {
		ctx = core.WithAlong(ctx, along)
	}
	if t.Thread != nil {
		started, err := l.app.threads.SpawnThread(ctx, threadSpec(t.Thread, env))
		if err != nil {
			return core.RunRef{}, err
		}
		return core.RunRef{ExecutionID: started.ExecutionID, ThreadID: started.ID}, nil
	}
	started, err := l.app.engine.Start(ctx, executeRequest(t.Execution))
	if err != nil {
		return core.RunRef{}, err
	}
	return core.RunRef{ExecutionID: started.ID}, nil
}

func executeRequest(t *core.ExecutionTarget) core.ExecuteRequest {
	input := t.Input
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	return core.ExecuteRequest{Pattern: t.Pattern, Version: t.Version, Input: input, Options: t.Options}
}

func threadSpec(t *core.ThreadTarget, env map[string]string) core.ThreadSpec {
	spec := core.ThreadSpec{
		ExecutionID: cmp.Or(t.ExecutionID, core.NewExecution), Name: t.Name, AgentType: t.AgentType, Role: t.Role, Objective: t.Objective,
		Preparation: core.Preparation{Workspace: t.Preparation.Workspace, Approval: t.Preparation.ApprovalPreset, Env: env},
		Policy:      t.Policy, Metadata: t.Metadata, Runtime: t.Runtime, AgentID: t.AgentID,
	}
	for _, f := range t.Preparation.ContextFiles {
		spec.Preparation.ContextFiles = append(spec.Preparation.ContextFiles, core.ContextFile(f))
	}
	return spec
}

// Over implements core.Launcher.
func (l launcher) Over(ctx context.Context, ref core.RunRef) (bool, error) {
	var over bool
	var err error
	if ref.ThreadID != "" {
		var t *core.ThreadRecord
		if t, err = l.app.store.FindThread(ctx, ref.ThreadID); err == nil {
			over = t.Status.Terminal()
		}
	} else {
		var e *core.Execution
		if e, err = l.app.store.FindExecution(ctx, ref.ExecutionID); err == nil {
			over = e.Status.Terminal()
		}
	}
	if core.ErrorCode(err) == core.CodeNotFound {
		return true, nil
	}
	return over, err
}

// cancelGrace is how long an agent of a thread may take to end, when the thread is to make room for the next one.
const cancelGrace = 10 * time.Second

// Cancel implements core.Launcher.
func (l launcher) Cancel(ctx context.Context, ref core.RunRef, reason string) error {
	var err error
	if ref.ThreadID != "" {
		err = l.app.threads.StopThread(ctx, ref.ThreadID, core.ThreadStop{Grace: cancelGrace})
	} else {
		_, err = l.app.engine.Cancel(ctx, ref.ExecutionID, reason)
	}
	switch core.ErrorCode(err) {
	case core.CodeNotFound, core.CodeConflict: // it is over
		return nil
	}
	return err
}
