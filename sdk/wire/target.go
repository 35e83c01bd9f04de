package wire

import (
	"cmp"
	"encoding/json"
)

// Target names what a schedule or a trigger starts: an execution of a pattern, or a thread. One of them is set.
type Target struct {
	Execution *ExecutionTarget `json:"execution,omitempty" doc:"An execution of a pattern."`
	Thread    *ThreadTarget    `json:"thread,omitempty" doc:"A managed thread."`
}

// Name returns what a target is called in lists: the pattern, or the name, role or type of the thread.
func (t *Target) Name() string {
	switch {
	case t.Execution != nil && t.Execution.Version != "":
		return t.Execution.Pattern + "@" + t.Execution.Version
	case t.Execution != nil:
		return t.Execution.Pattern
	case t.Thread == nil:
		return ""
	case t.Thread.Name != "":
		return "thread " + t.Thread.Name
	case t.Thread.Role != "":
		return "thread " + t.Thread.Role
	}
	return "thread of " + t.Thread.AgentType
}

// ExecutionTarget is an execution to be.
type ExecutionTarget struct {
	Pattern string          `json:"pattern" check:"required,min=1,max=256" doc:"Name of the pattern." example:"nightly-report"`
	Version string          `json:"version,omitempty" check:"max=256" doc:"Exact, or a range such as 1.x. Default: the latest at each start."`
	Input   json.RawMessage `json:"input,omitempty" doc:"Checked against the pattern's input at each start. Default: {}."`
	Options ExecuteOptions  `json:"options,omitzero"`
}

// ThreadTarget is a thread to be. The environment of its agent is kept encrypted and never shown.
type ThreadTarget struct {
	ThreadBrief
	Preparation TargetPreparation `json:"preparation,omitzero"`
	Policy      ThreadPolicy      `json:"policy,omitzero"`
}

// ThreadBrief says what a thread to be is for, and where it runs.
type ThreadBrief struct {
	ExecutionID string   `json:"executionId,omitempty" check:"max=128" doc:"Execution that it belongs to. Default: new, one of its own each time." example:"new"`
	Name        string   `json:"name,omitempty" check:"max=128" doc:"Default: from role and objective."`
	AgentType   string   `json:"agentType" check:"required,min=1,max=128" doc:"claude, codex, gemini, or one of agentTypes in the configuration." example:"claude"`
	Role        string   `json:"role,omitempty" check:"max=128" example:"maintainer"`
	Objective   string   `json:"objective,omitempty" check:"max=65536" doc:"The first message to the agent." example:"Update the dependencies"`
	Metadata    Metadata `json:"metadata,omitempty" doc:"Free keys, kept with the thread."`
	Runtime     string   `json:"runtime,omitempty" check:"max=128" doc:"Default: the first ready one by priority; connected: a connected agent."`
	AgentID     string   `json:"agentId,omitempty" check:"max=128" doc:"Connected agent that is to host it. Default: any that offers the type."`
}

// TargetPreparation describes what the agent of a ThreadTarget starts with.
type TargetPreparation struct {
	Workspace      *WorkspaceSpec `json:"workspace,omitempty"`
	ApprovalPreset string         `json:"approvalPreset,omitempty"`
	EnvNames       []string       `json:"envNames,omitempty" doc:"Names of the variables of its environment, whose values are secret."`
	TargetFiles
}

// TargetFiles are files that are written into the workspace of a thread before its agent starts.
type TargetFiles struct {
	ContextFiles []TargetFile `json:"contextFiles,omitempty"`
}

// TargetFile is one of TargetFiles.
type TargetFile struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// RunRef names what was started: an execution, or a thread and its execution.
type RunRef struct {
	ExecutionID string `json:"executionId,omitempty"`
	ThreadID    string `json:"threadId,omitempty" doc:"Where a thread was spawned."`
}

// IsZero reports whether nothing was started.
func (r RunRef) IsZero() bool { return r == RunRef{} }

// ID returns the id of what was started: of the thread, or else of the execution.
func (r RunRef) ID() string {
	return cmp.Or(r.ThreadID, r.ExecutionID)
}
