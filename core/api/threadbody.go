package api

import (
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

type threadList struct {
	Threads []wire.Thread `json:"threads"`
	wire.PageInfo
}

// newThreadBody returns a thread as it is answered.
func newThreadBody(t *core.Thread) wire.Thread {
	return wire.Thread{
		ID: t.ID, ExecutionID: t.ExecutionID, Name: t.Name, AgentType: t.AgentType, Role: t.Role, Objective: t.Objective,
		Status: string(t.Status), StatusReason: t.StatusReason, Runtime: t.Runtime,
		ManagedAgentID: t.ManagedAgentID, AgentID: t.AgentID, SessionID: t.SessionID, Workspace: newWorkspaceRow(t.Workspace),
		Preparation: newThreadSetup(&t.Preparation), Policy: t.Policy, Metadata: t.Metadata,
		Summary: t.Summary, Completion: t.Completion, Error: t.Error, Prompt: t.Prompt, PromptRuling: t.Ruling, LoginURL: t.LoginURL,
		FailedTurns: t.FailedTurns, LastTurn: t.LastTurn, Usage: t.Usage, RetryAt: t.RetryAt,
		Continues: t.Continues, ContinuedBy: t.ContinuedBy,
		TurnCount: t.TurnCount, EventCount: t.EventCount, QueuedInputs: t.QueuedInputs, Restarts: t.Restarts, Sanitized: t.Sanitized,
		CreatedBy: t.CreatedBy, CreatedAt: t.CreatedAt, UpdatedAt: t.UpdatedAt,
		LastActivityAt: t.LastActivityAt, StartedAt: t.StartedAt, EndedAt: t.EndedAt,
	}
}

func newThreadSetup(p *core.Preparation) wire.ThreadSetup {
	body := wire.ThreadSetup{
		Workspace: p.Workspace, ContextFiles: make([]wire.ThreadFile, len(p.ContextFiles)),
		ApprovalPreset: p.Approval, EnvNames: p.EnvNames,
	}
	for i := range p.ContextFiles {
		f := &p.ContextFiles[i]
		body.ContextFiles[i] = wire.ThreadFile{Path: f.Path, Bytes: len(f.Content), Content: &f.Content}
	}
	return body
}

// newThreadRow is newThreadBody without the text of context files: a page would be as large as all of them.
func newThreadRow(t *core.Thread) wire.Thread {
	body := newThreadBody(t)
	for i := range body.Preparation.ContextFiles {
		body.Preparation.ContextFiles[i].Content = nil
	}
	return body
}
