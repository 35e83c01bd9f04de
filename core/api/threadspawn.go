package api

import (
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// threadRequest is what spawn and prepare have in common. Names of fields are the interface's; runtime, agentId and the
// fields of policy beyond the first two are ours. Its bounds keep nonsense out; the service checks the rest.
type threadRequest struct {
	ExecutionID string                 `json:"executionId" check:"required,min=1,max=128" doc:"Execution that it belongs to; new: one of its own, which lives as long as its threads." example:"new"`
	Name        string                 `json:"name" check:"max=128" doc:"Default: from role and objective."`
	Role        string                 `json:"role" check:"max=128" example:"implementer"`
	Objective   string                 `json:"objective" check:"max=262144" doc:"The first message to the agent." example:"Fix the flaky test"`
	Preparation wire.ThreadPreparation `json:"preparation"`
	Policy      wire.ThreadPolicy      `json:"policy"`
	Metadata    map[string]any         `json:"metadata" doc:"Free keys, kept with the thread. memoryContext, which prepare adds, is left out."`
	Runtime     string                 `json:"runtime" check:"max=128" doc:"Default: the first ready one by priority; connected: a connected agent."`
	AgentID     string                 `json:"agentId" check:"max=128" doc:"Connected agent that is to host it. Default: any that offers the type."`
}

type spawnThreadRequest struct {
	threadRequest
	AgentType string `json:"agentType" check:"required,min=1,max=128" doc:"claude, codex, gemini, or one of agentTypes in the configuration." example:"claude"`
}

type prepareThreadRequest struct {
	threadRequest
	AgentType string `json:"agentType" check:"max=128" doc:"claude, codex, gemini, or one of agentTypes in the configuration." example:"claude"`
	Provision bool   `json:"provision" doc:"Check the workspace out as well."`
}

// memoryContextKey is what prepare adds to the metadata.
const memoryContextKey = "memoryContext"

// spec checks what the decoder could not, and makes the service's spec.
func (r *threadRequest) spec(agentType string) (core.ThreadSpec, error) {
	if err := core.InvalidAll("invalid request body", core.CheckEnv("preparation.env", r.Preparation.Env)); err != nil {
		return core.ThreadSpec{}, err
	}
	delete(r.Metadata, memoryContextKey)
	core.WithoutOrigin(r.Metadata)
	return core.ThreadSpec{
		ExecutionID: r.ExecutionID, Name: r.Name, AgentType: agentType, Role: r.Role, Objective: r.Objective,
		Preparation: newPreparation(&r.Preparation), Policy: r.Policy, Metadata: r.Metadata,
		Runtime: r.Runtime, AgentID: r.AgentID,
	}, nil
}

// askedWorkspace returns the workspace that is asked for; its zero value asks for an empty directory.
func askedWorkspace(asked *wire.ThreadPreparation) wire.WorkspaceSpec {
	if asked.Workspace == nil {
		return wire.WorkspaceSpec{}
	}
	return *asked.Workspace
}

// newPreparation returns what is asked for, without what only an answer says.
func newPreparation(asked *wire.ThreadPreparation) core.Preparation {
	p := core.Preparation{Approval: asked.ApprovalPreset, Env: asked.Env}
	if w := asked.Workspace; w != nil {
		spec := *w
		spec.Path, spec.BaseCommit = "", ""
		p.Workspace = &spec
	}
	for _, f := range asked.ContextFiles {
		p.ContextFiles = append(p.ContextFiles, core.ContextFile(f))
	}
	return p
}

func (s *Server) spawnThread(c *call, req spawnThreadRequest) (answer, error) {
	spec, err := req.spec(req.AgentType)
	if err != nil {
		return answer{}, err
	}
	if err := c.mayIn(req.ExecutionID); err != nil {
		return answer{}, err
	}
	if err := c.mayUse(askedWorkspace(&req.Preparation).WorkspaceID); err != nil {
		return answer{}, err
	}
	t, err := s.opts.Threads.SpawnThread(c.detached(), spec)
	if err != nil {
		return answer{}, err
	}
	return created(threadPath(t.ID), newThreadBody(t)), nil
}

// recoverThreadSpawn answers a repeated spawn whose first answer was never given.
func (s *Server) recoverThreadSpawn(c *call, id string) (answer, error) {
	t, err := s.spawnedThread(c, id)
	if err != nil {
		return answer{}, err
	}
	return created(threadPath(t.ID), newThreadBody(t)), nil
}

// spawnedThread returns the thread that an Idempotency-Key was for.
func (s *Server) spawnedThread(c *call, id string) (*core.Thread, error) {
	t, err := s.opts.Threads.FindThread(c.ctx, id)
	if core.ErrorCode(err) == core.CodeNotFound {
		return nil, core.Conflict("thread", id, "",
			"the thread that this Idempotency-Key was for is gone; use a new key to start another")
	}
	return t, err
}

func (s *Server) prepareThread(c *call, req prepareThreadRequest) (answer, error) {
	// A repository by its name is one of the configuration; by a URL the server reaches out to where the caller says.
	if req.Provision || strings.Contains(askedWorkspace(&req.Preparation).Repo, ":") {
		if err := c.mayAlso(actionProvision); err != nil {
			return answer{}, err
		}
	}
	spec, err := req.spec(req.AgentType)
	if err != nil {
		return answer{}, err
	}
	spec.Provision = req.Provision
	if c.masks() {
		spec.Mask = s.opts.Mask
	}
	if err := c.mayIn(req.ExecutionID); err != nil {
		return answer{}, err
	}
	if err := c.mayUse(askedWorkspace(&req.Preparation).WorkspaceID); err != nil {
		return answer{}, err
	}
	plan, err := s.opts.Threads.PrepareThread(c.ctx, spec)
	if err != nil {
		return answer{}, err
	}
	body := wire.ThreadPlan{
		ExecutionID: plan.ExecutionID, Name: plan.Name, AgentType: plan.AgentType, Objective: plan.Objective,
		Role: plan.Role, Policy: plan.Policy, Metadata: rawOr(plan.Metadata, "{}"),
		Preparation: wire.PlannedPreparation{
			ContextFiles:   plan.Preparation.ContextFiles,
			ApprovalPreset: plan.Preparation.Approval, EnvNames: plan.Preparation.EnvNames,
		},
	}
	if w := plan.Preparation.Workspace; w != nil {
		planned := wire.PlannedWorkspace(*w)
		body.Preparation.Workspace = &planned
	}
	return ok(body), nil
}
