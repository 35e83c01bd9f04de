package api

import (
	"encoding/json"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// threadRequest is what spawn and prepare have in common. Names of fields are the interface's; runtime, agentId and the
// fields of policy beyond the first two are ours. Its bounds keep nonsense out; the service checks the rest.
type threadRequest struct {
	ExecutionID string                   `json:"executionId" check:"required,min=1,max=128" doc:"Execution that it belongs to; new: one of its own, which lives as long as its threads." example:"new"`
	Name        string                   `json:"name" check:"max=128" doc:"Default: from role and objective."`
	Role        string                   `json:"role" check:"max=128" example:"implementer"`
	Objective   string                   `json:"objective" check:"max=262144" doc:"The first message to the agent." example:"Fix the flaky test"`
	Preparation threadPreparationRequest `json:"preparation"`
	Policy      wire.ThreadPolicy        `json:"policy"`
	Metadata    map[string]any           `json:"metadata" doc:"Free keys, kept with the thread. memoryContext, which prepare adds, is left out."`
	Runtime     string                   `json:"runtime" check:"max=128" doc:"Default: the first ready one by priority; connected: a connected agent."`
	AgentID     string                   `json:"agentId" check:"max=128" doc:"Connected agent that is to host it. Default: any that offers the type."`
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

type threadPreparationRequest struct {
	Workspace      *wire.WorkspaceSpec  `json:"workspace" doc:"Default: an empty directory."`
	ContextFiles   []contextFileRequest `json:"contextFiles" check:"max=1000" doc:"Files to write into the workspace. .wardroom/thread-memory.md is written by the service: a file of that path is taken only with the workspaceId of the prepare that answered it, and is written anew."`
	ApprovalPreset string               `json:"approvalPreset" enum:"readonly,standard,permissive,autonomous" doc:"What it may do without asking. Default: standard."`
	Env            map[string]string    `json:"env" doc:"Environment of the agent. Secret: never logged or answered."`
	EnvNames       []string             `json:"envNames" check:"max=512" doc:"Of the answer to prepare; left out, since the values are needed: give env."`
}

type contextFileRequest struct {
	Path    string `json:"path" check:"required,min=1,max=4096" doc:"Relative to the workspace, with slashes." example:".wardroom/notes.md"`
	Content string `json:"content"`
}

// memoryContextKey is what prepare adds to the metadata.
const memoryContextKey = "memoryContext"

// spec checks what the decoder could not, and makes the service's spec.
func (r *threadRequest) spec(agentType string) (core.ThreadSpec, error) {
	var problems []core.Problem
	checkEnv("preparation.env", r.Preparation.Env, func(path, reason string) {
		problems = append(problems, core.Problem{Path: path, Reason: reason})
	})
	if err := core.InvalidAll("invalid request body", problems); err != nil {
		return core.ThreadSpec{}, err
	}
	delete(r.Metadata, memoryContextKey)
	core.WithoutOrigin(r.Metadata)
	return core.ThreadSpec{
		ExecutionID: r.ExecutionID, Name: r.Name, AgentType: agentType, Role: r.Role, Objective: r.Objective,
		Preparation: r.Preparation.preparation(), Policy: r.Policy, Metadata: r.Metadata,
		Runtime: r.Runtime, AgentID: r.AgentID,
	}, nil
}

// workspaceID returns the id of the workspace that is asked for, or "".
func (r *threadPreparationRequest) workspaceID() string {
	if r.Workspace == nil {
		return ""
	}
	return r.Workspace.WorkspaceID
}

func (r *threadPreparationRequest) repo() string {
	if r.Workspace == nil {
		return ""
	}
	return r.Workspace.Repo
}

func (r *threadPreparationRequest) preparation() core.Preparation {
	p := core.Preparation{Approval: r.ApprovalPreset, Env: r.Env}
	if w := r.Workspace; w != nil {
		spec := *w
		spec.Path, spec.BaseCommit = "", "" // of the answer to prepare
		p.Workspace = &spec
	}
	for _, f := range r.ContextFiles {
		p.ContextFiles = append(p.ContextFiles, core.ContextFile{Path: f.Path, Content: f.Content})
	}
	return p
}

func (s *Server) spawnThread(c *call) (answer, error) {
	var req spawnThreadRequest
	if err := c.decode(&req); err != nil {
		return answer{}, err
	}
	spec, err := req.spec(req.AgentType)
	if err != nil {
		return answer{}, err
	}
	if err := c.mayIn(req.ExecutionID); err != nil {
		return answer{}, err
	}
	if err := c.mayUse(req.Preparation.workspaceID()); err != nil {
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

// threadPlanBody is what prepare answers. It can be sent to spawn as it is.
type threadPlanBody struct {
	ExecutionID string             `json:"executionId"`
	Name        string             `json:"name"`
	AgentType   string             `json:"agentType,omitempty"`
	Objective   string             `json:"objective"`
	Role        string             `json:"role"`
	Preparation plannedPreparation `json:"preparation"`
	Policy      core.ThreadPolicy  `json:"policy"`
	Metadata    json.RawMessage    `json:"metadata" doc:"The caller's keys, and memoryContext {sharedDecisionCount, episodicExperienceCount, repo, role, objective}."`
}

type plannedPreparation struct {
	Workspace      *plannedWorkspace  `json:"workspace,omitempty" doc:"What it became; absent where a connected agent is to host it."`
	ContextFiles   []core.ContextFile `json:"contextFiles" doc:"The caller's, and the memory file."`
	ApprovalPreset string             `json:"approvalPreset"`
	EnvNames       []string           `json:"envNames,omitempty" doc:"Names of the variables that were given; a spawn needs their values again."`
}

type plannedWorkspace struct {
	WorkspaceID string `json:"workspaceId"`
	Path        string `json:"path" doc:"Absolute, on the appliance."`
	Repo        string `json:"repo" doc:"Empty: an empty directory."`
	Branch      string `json:"branch" doc:"That it begins with."`
	WorkBranch  string `json:"workBranch,omitempty"`
	BaseCommit  string `json:"baseCommit,omitempty" doc:"What branch is now."`
	Depth       int    `json:"depth,omitempty"`
	Filter      string `json:"filter,omitempty"`
	Submodules  bool   `json:"submodules,omitempty"`
}

func (s *Server) prepareThread(c *call) (answer, error) {
	var req prepareThreadRequest
	if err := c.decode(&req); err != nil {
		return answer{}, err
	}
	// A repository by its name is one of the configuration; by a URL the server reaches out to where the caller says.
	if req.Provision || strings.Contains(req.Preparation.repo(), ":") {
		if err := c.mayAlso(actionProvision); err != nil {
			return answer{}, err
		}
	}
	spec, err := req.spec(req.AgentType)
	if err != nil {
		return answer{}, err
	}
	spec.Provision = req.Provision
	if err := c.mayIn(req.ExecutionID); err != nil {
		return answer{}, err
	}
	if err := c.mayUse(req.Preparation.workspaceID()); err != nil {
		return answer{}, err
	}
	plan, err := s.opts.Threads.PrepareThread(c.ctx, spec)
	if err != nil {
		return answer{}, err
	}
	body := threadPlanBody{
		ExecutionID: plan.ExecutionID, Name: plan.Name, AgentType: plan.AgentType, Objective: plan.Objective,
		Role: plan.Role, Policy: plan.Policy, Metadata: rawOr(plan.Metadata, "{}"),
		Preparation: plannedPreparation{
			ContextFiles:   plan.Preparation.ContextFiles,
			ApprovalPreset: plan.Preparation.Approval, EnvNames: plan.Preparation.EnvNames,
		},
	}
	if w := plan.Preparation.Workspace; w != nil {
		planned := plannedWorkspace(*w)
		body.Preparation.Workspace = &planned
	}
	if body.Preparation.ContextFiles == nil {
		body.Preparation.ContextFiles = []core.ContextFile{}
	}
	return ok(body), nil
}
