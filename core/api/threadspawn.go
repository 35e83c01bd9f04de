package api

import (
	"encoding/json"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// threadRequest is what spawn and prepare have in common. Names of fields are the interface's; runtime, agentId and the
// fields of policy beyond the first two are ours. Its bounds keep nonsense out; the service checks the rest.
type threadRequest struct {
	ExecutionID string                   `json:"executionId" check:"required,min=1,max=128" doc:"Execution that it belongs to; new: one of its own, which lives as long as its threads." example:"new"`
	Name        string                   `json:"name" check:"max=128" doc:"Default: from role and objective."`
	Role        string                   `json:"role" check:"max=128" example:"implementer"`
	Objective   string                   `json:"objective" check:"max=262144" doc:"The first message to the agent." example:"Fix the flaky test"`
	Preparation threadPreparationRequest `json:"preparation"`
	Policy      threadPolicyRequest      `json:"policy"`
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
	Workspace      *workspaceRequest    `json:"workspace" doc:"Default: an empty directory."`
	ContextFiles   []contextFileRequest `json:"contextFiles" check:"max=1000" doc:"Files to write into the workspace. .wardroom/thread-memory.md is written by the service: a file of that path is taken only with the workspaceId of the prepare that answered it, and is written anew."`
	ApprovalPreset string               `json:"approvalPreset" enum:"readonly,standard,permissive,autonomous" doc:"What it may do without asking. Default: standard."`
	Env            map[string]string    `json:"env" doc:"Environment of the agent. Secret: never logged or answered."`
	EnvNames       []string             `json:"envNames" check:"max=512" doc:"Of the answer to prepare; left out, since the values are needed: give env."`
}

type workspaceRequest struct {
	WorkspaceID string `json:"workspaceId" check:"max=128" doc:"One that prepare reserved."`
	Path        string `json:"path" check:"max=4096" doc:"Of the answer to prepare; left out."`
	Repo        string `json:"repo" check:"max=2048" doc:"Git URL or configured shorthand. Default: an empty directory." example:"https://git.example.com/app.git"`
	Branch      string `json:"branch" check:"max=1024" doc:"To begin with. Default: the repository's." example:"main"`
	WorkBranch  string `json:"workBranch" check:"max=1024" doc:"To work on. Default: wardroom/<execution>/<role>-<slug>."`
	BaseCommit  string `json:"baseCommit" check:"max=128" doc:"Of the answer to prepare; left out."`
	Depth       int    `json:"depth" check:"min=0,max=10000000" doc:"Commits of history; 0: all."`
	Filter      string `json:"filter" check:"max=128" doc:"Partial clone: blob:none, tree:0 or blob:limit=SIZE."`
	Submodules  bool   `json:"submodules" doc:"Check submodules out as well."`
}

type contextFileRequest struct {
	Path    string `json:"path" check:"required,min=1,max=4096" doc:"Relative to the workspace, with slashes." example:".wardroom/notes.md"`
	Content string `json:"content"`
}

// threadPolicyRequest says how it is supervised. No duration is longer than a year.
type threadPolicyRequest struct {
	IdleTimeoutMs       int64                `json:"idleTimeoutMs" check:"min=0,max=31622400000" doc:"Milliseconds without activity until it is idle; three times that: stopped. Default: configured."`
	SummarizeAfterTurns int                  `json:"summarizeAfterTurns" check:"min=0,max=100000" doc:"A summary each so many turns; 0: only at the end."`
	CompleteAfterTurns  int                  `json:"completeAfterTurns" check:"min=0,max=100000" doc:"Completed after so many turns; 0: when the agent says so."`
	TimeoutMs           int64                `json:"timeoutMs" check:"min=0,max=31622400000" doc:"Milliseconds of its whole life. Default: configured."`
	MaxRestarts         *int                 `json:"maxRestarts" check:"min=0,max=1000" doc:"Of a lost agent. Default: configured."`
	TurnRetries         *int                 `json:"turnRetries" check:"min=0,max=100" doc:"How often a message is given again whose turn failed in a way that may pass. Default: configured."`
	MaxTokens           int64                `json:"maxTokens" check:"min=0,max=1000000000000" doc:"Stopped once its turns read and wrote so many tokens, as its agent tells; 0: no limit."`
	MaxCost             float64              `json:"maxCost" doc:"Stopped once its turns cost so many US dollars, as its agent tells; 0: no limit."`
	MaxTurns            int                  `json:"maxTurns" check:"min=0,max=1000000" doc:"Stopped after so many turns, failed ones included; 0: no limit."`
	Finish              *threadFinishRequest `json:"finish" doc:"What is done with the workspace when it completes."`
	AutoAnswer          []autoAnswerRequest  `json:"autoAnswer" check:"max=200" doc:"Rules that answer prompts without people; the first that fits counts."`
}

type threadFinishRequest struct {
	Commit  bool   `json:"commit" doc:"What is not committed."`
	Message string `json:"message" check:"max=65536" doc:"Of that commit. Default: the objective."`
	Push    bool   `json:"push" doc:"To the remote."`
	Branch  string `json:"branch" check:"max=1024" doc:"There. Default: the work branch's own name."`
}

type autoAnswerRequest struct {
	Preset string `json:"preset" check:"max=128" doc:"approvalPreset that it holds for; empty: all."`
	Kind   string `json:"kind" check:"max=128" doc:"Of the prompt: approval, question and so on; empty: all."`
	Tool   string `json:"tool" check:"max=1024" doc:"Glob on the name of the tool; empty: all."`
	Match  string `json:"match" check:"max=4096" doc:"Regular expression (RE2) on the prompt's text and the tool's input; empty: all."`
	Answer string `json:"answer" check:"required,min=1,max=1024" doc:"allow, deny, or the id of an option."`
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
		Preparation: r.Preparation.preparation(), Policy: r.Policy.policy(), Metadata: r.Metadata,
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
		p.Workspace = &core.WorkspaceSpec{
			WorkspaceID: w.WorkspaceID, Repo: w.Repo, Branch: w.Branch, WorkBranch: w.WorkBranch,
			Depth: w.Depth, Filter: w.Filter, Submodules: w.Submodules,
		}
	}
	for _, f := range r.ContextFiles {
		p.ContextFiles = append(p.ContextFiles, core.ContextFile{Path: f.Path, Content: f.Content})
	}
	return p
}

func (r *threadPolicyRequest) policy() core.ThreadPolicy {
	p := core.ThreadPolicy{
		IdleTimeoutMs: r.IdleTimeoutMs, SummarizeAfterTurns: r.SummarizeAfterTurns,
		CompleteAfterTurns: r.CompleteAfterTurns, TimeoutMs: r.TimeoutMs, MaxRestarts: r.MaxRestarts,
		TurnRetries: r.TurnRetries, MaxTokens: r.MaxTokens, MaxCost: r.MaxCost, MaxTurns: r.MaxTurns,
	}
	if f := r.Finish; f != nil {
		p.Finish = &core.ThreadFinish{Commit: f.Commit, Message: f.Message, Push: f.Push, Branch: f.Branch}
	}
	for _, rule := range r.AutoAnswer {
		p.AutoAnswer = append(p.AutoAnswer, core.AutoAnswerRule(rule))
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
	t, err := s.opts.Threads.FindThread(c.ctx, id)
	if core.ErrorCode(err) == core.CodeNotFound {
		return answer{}, core.Conflict("thread", id, "",
			"the thread that this Idempotency-Key was for is gone; use a new key to start another")
	}
	if err != nil {
		return answer{}, err
	}
	return created(threadPath(t.ID), newThreadBody(t)), nil
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
