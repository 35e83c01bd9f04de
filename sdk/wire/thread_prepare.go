package wire

import "encoding/json"

// ThreadPreparation says what an agent is to start with.
type ThreadPreparation struct {
	Workspace      *WorkspaceSpec    `json:"workspace,omitempty" doc:"Default: an empty directory."`
	ContextFiles   []NewContextFile  `json:"contextFiles,omitempty" check:"max=1000" doc:"Files to write into the workspace. .wardroom/thread-memory.md is written by the service: a file of that path is taken only with the workspaceId of the prepare that answered it, and is written anew."`
	ApprovalPreset string            `json:"approvalPreset,omitempty" enum:"readonly,standard,permissive,autonomous" doc:"What it may do without asking. Default: standard."`
	Env            map[string]string `json:"env,omitempty" check:"max=512,variables" doc:"Environment of the agent. Secret: never logged or answered. 256 KiB in all, and 128 KiB a variable."`
	EnvNames       []string          `json:"envNames,omitempty" check:"max=512" doc:"Of the answer to prepare; left out, since the values are needed: give env."`
}

// NewContextFile is a file to write into the workspace before the agent starts.
type NewContextFile struct {
	Path    string `json:"path" check:"required,min=1,max=4096" doc:"Relative to the workspace, with slashes." example:".wardroom/notes.md"`
	Content string `json:"content"`
}

// ContextFile is a file that is written into the workspace before the agent starts.
type ContextFile struct {
	Path    string `json:"path"` // relative to the workspace, with slashes
	Content string `json:"content"`
}

// ThreadSetup describes what the agent of a thread started with. It never holds values of the environment.
type ThreadSetup struct {
	Workspace      *WorkspaceSpec `json:"workspace,omitempty" doc:"As it was asked for."`
	ContextFiles   []ThreadFile   `json:"contextFiles"`
	ApprovalPreset string         `json:"approvalPreset"`
	EnvNames       []string       `json:"envNames" doc:"Names of the variables that were given; their values are secret."`
}

// ThreadFile describes a ContextFile of a thread.
type ThreadFile struct {
	Path    string  `json:"path"`
	Bytes   int     `json:"bytes"`
	Content *string `json:"content,omitempty" doc:"Left out of lists."`
}

// ThreadPlan describes what a spawn of the same spec would begin with. It can be sent to spawn as it is.
type ThreadPlan struct {
	ExecutionID string             `json:"executionId"`
	Name        string             `json:"name"`
	AgentType   string             `json:"agentType,omitempty"`
	Objective   string             `json:"objective"`
	Role        string             `json:"role"`
	Preparation PlannedPreparation `json:"preparation"`
	Policy      ThreadPolicy       `json:"policy"`
	Metadata    json.RawMessage    `json:"metadata" doc:"The caller's keys, and memoryContext {sharedDecisionCount, episodicExperienceCount, repo, role, objective}."`
}

// PlannedPreparation is the preparation of a ThreadPlan.
type PlannedPreparation struct {
	Workspace      *PlannedWorkspace `json:"workspace,omitempty" doc:"What it became; absent where a connected agent is to host it."`
	ContextFiles   []ContextFile     `json:"contextFiles" doc:"The caller's, and the memory file."`
	ApprovalPreset string            `json:"approvalPreset"`
	EnvNames       []string          `json:"envNames,omitempty" doc:"Names of the variables that were given; a spawn needs their values again."`
}

// PlannedWorkspace is the WorkspaceSpec of a ThreadPlan: resolved, so the first four are always there, and described as
// what they became.
type PlannedWorkspace struct {
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
