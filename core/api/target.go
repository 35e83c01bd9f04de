package api

import (
	"maps"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// targetRequest names what a schedule or a trigger starts.
type targetRequest struct {
	Execution *core.ExecutionTarget `json:"execution" doc:"An execution of a pattern. One of execution and thread is needed."`
	Thread    *threadTargetRequest  `json:"thread" doc:"A managed thread."`
}

// threadTargetRequest is a thread to be.
type threadTargetRequest struct {
	wire.ThreadBrief
	Preparation wire.ThreadPreparation `json:"preparation"`
	Policy      wire.ThreadPolicy      `json:"policy"`
}

// target checks what the decoder could not, and makes the service's target, with the environment of a thread beside it.
func (r *targetRequest) target(c *call) (t core.Target, env map[string]string, err error) {
	if t.Execution = r.Execution; t.Execution != nil {
		core.WithoutOrigin(t.Execution.Options.Metadata)
	}
	if r.Thread == nil {
		return t, nil, nil
	}
	prepared := &r.Thread.Preparation
	problems := core.CheckEnv("target.thread.preparation.env", prepared.Env)
	if askedWorkspace(prepared).WorkspaceID != "" {
		problems = append(problems, core.Problem{Path: "target.thread.preparation.workspace.workspaceId",
			Reason: "must be left out: each thread has a workspace of its own"})
	}
	if err := core.InvalidAll("invalid request body", problems); err != nil {
		return t, nil, err
	}
	if err := c.mayIn(r.Thread.ExecutionID); err != nil {
		return t, nil, err
	}
	delete(r.Thread.Metadata, memoryContextKey)
	core.WithoutOrigin(r.Thread.Metadata)
	p := newPreparation(prepared)
	thread := &core.ThreadTarget{
		ThreadBrief: r.Thread.ThreadBrief,
		Preparation: wire.TargetPreparation{Workspace: p.Workspace, ApprovalPreset: p.Approval, EnvNames: slices.Sorted(maps.Keys(p.Env))},
		Policy:      r.Thread.Policy,
	}
	for _, f := range p.ContextFiles {
		thread.Preparation.ContextFiles = append(thread.Preparation.ContextFiles, wire.TargetFile(f))
	}
	t.Thread = thread
	return t, p.Env, nil
}

// runBody is the answer to what was started by hand.
type runBody struct {
	core.RunRef
	StatusURL string `json:"statusUrl"`
}

func runAccepted(ref core.RunRef) answer {
	path := executionPath(ref.ExecutionID)
	if ref.ThreadID != "" {
		path = threadPath(ref.ThreadID)
	}
	return accepted(path, runBody{ref, path})
}
