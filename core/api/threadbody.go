package api

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// threadBody is a managed thread on the wire.
type threadBody struct {
	ID             string                `json:"id"`
	ExecutionID    string                `json:"executionId"`
	Name           string                `json:"name"`
	AgentType      string                `json:"agentType" example:"claude"`
	Role           string                `json:"role"`
	Objective      string                `json:"objective"`
	Status         core.ThreadStatus     `json:"status" enum:"pending,preparing,starting,ready,running,blocked,idle,completed,failed,stopped" doc:"The last three are final."`
	StatusReason   string                `json:"statusReason,omitempty" doc:"For example idle, stuck, finishing, login, restarting, host_away, retrying, requested, execution, timeout, crashed, lost, turn_failed, or limit: and what was reached."`
	Runtime        *string               `json:"runtime" check:"nullable" doc:"null until its agent starts; connected for one that a connected agent hosts."`
	ManagedAgentID *string               `json:"managedAgentId" check:"nullable" doc:"null until its agent starts."`
	AgentID        string                `json:"agentId,omitempty" doc:"Connected agent that hosts it."`
	SessionID      string                `json:"sessionId,omitempty" doc:"Of the command-line tool."`
	Workspace      *wire.WorkspaceRow    `json:"workspace" check:"nullable" doc:"null until it is reserved, and of a thread that a connected agent hosts."`
	Preparation    threadPreparationBody `json:"preparation"`
	Policy         core.ThreadPolicy     `json:"policy"`
	Metadata       map[string]any        `json:"metadata"`
	Summary        string                `json:"summary"`
	Completion     *core.Completion      `json:"completion,omitempty" doc:"Once it is over."`
	Error          *threadErrorBody      `json:"error,omitempty" doc:"Why it failed."`
	Prompt         json.RawMessage       `json:"prompt,omitempty" doc:"While it is blocked: {id, kind, text, tool?, input?, options, url?}."`
	PromptRuling   *core.PromptRuling    `json:"promptRuling,omitempty" doc:"How its latest prompt was answered without people, or why they are asked; absent if no rule says anything."`
	LoginURL       string                `json:"loginUrl,omitempty"`
	TurnCount      int                   `json:"turnCount" doc:"Turns that did not fail."`
	FailedTurns    int                   `json:"failedTurns" doc:"Turns that failed, beside them."`
	LastTurn       *core.ThreadTurn      `json:"lastTurn,omitempty" doc:"How the last turn ended."`
	Usage          *wire.Usage           `json:"usage,omitempty" doc:"Of all turns, as its agent told; absent when it told nothing."`
	RetryAt        *timestamp            `json:"retryAt,omitempty" doc:"When the message of a turn that failed is given again."`
	Continues      string                `json:"continues,omitempty" doc:"Id of the thread that it goes on with."`
	ContinuedBy    string                `json:"continuedBy,omitempty" doc:"Id of the thread that goes on with it."`
	EventCount     int                   `json:"eventCount" doc:"Of the persisted kinds."`
	QueuedInputs   int                   `json:"queuedInputs" doc:"Messages that its agent did not take yet."`
	Restarts       int                   `json:"restarts" doc:"Of its agent, after it was lost."`
	Sanitized      []core.SanitizedField `json:"sanitized,omitempty" doc:"Texts that something was taken out of (security.inputValidation.sanitize), 100 at most: those that it began with, and in the answer to a request those of the request."`
	CreatedBy      string                `json:"createdBy,omitempty"`
	CreatedAt      timestamp             `json:"createdAt"`
	UpdatedAt      timestamp             `json:"updatedAt"`
	LastActivityAt timestamp             `json:"lastActivityAt"`
	StartedAt      *timestamp            `json:"startedAt,omitempty" doc:"When its agent ran for the first time."`
	EndedAt        *timestamp            `json:"endedAt,omitempty"`
}

type threadErrorBody struct {
	Code    core.Code `json:"code"`
	Message string    `json:"message"`
}

// threadPreparationBody is what an agent started with. It never holds values of the environment.
type threadPreparationBody struct {
	Workspace      *core.WorkspaceSpec `json:"workspace,omitempty" doc:"As it was asked for."`
	ContextFiles   []threadFileBody    `json:"contextFiles"`
	ApprovalPreset string              `json:"approvalPreset"`
	EnvNames       []string            `json:"envNames" doc:"Names of the variables that were given; their values are secret."`
}

type threadFileBody struct {
	Path    string  `json:"path"`
	Bytes   int     `json:"bytes"`
	Content *string `json:"content,omitempty" doc:"Left out of lists."`
}

func newThreadBody(t *core.Thread) threadBody {
	body := threadBody{
		ID: t.ID, ExecutionID: t.ExecutionID, Name: t.Name, AgentType: t.AgentType, Role: t.Role, Objective: t.Objective,
		Status: t.Status, StatusReason: t.StatusReason, Runtime: textOrNull(t.Runtime),
		ManagedAgentID: textOrNull(t.ManagedAgentID), AgentID: t.AgentID, SessionID: t.SessionID, Workspace: newWorkspaceRow(t.Workspace),
		Preparation: newThreadPreparationBody(&t.Preparation), Policy: t.Policy, Metadata: t.Metadata,
		Summary: t.Summary, Completion: t.Completion, Prompt: t.Prompt, PromptRuling: t.Ruling, LoginURL: t.LoginURL,
		FailedTurns: t.FailedTurns, LastTurn: t.LastTurn, Usage: t.Usage, RetryAt: stamp(t.RetryAt),
		Continues: t.Continues, ContinuedBy: t.ContinuedBy,
		TurnCount: t.TurnCount, EventCount: t.EventCount, QueuedInputs: t.QueuedInputs, Restarts: t.Restarts, Sanitized: t.Sanitized,
		CreatedBy: t.CreatedBy, CreatedAt: timestamp(t.CreatedAt), UpdatedAt: timestamp(t.UpdatedAt),
		LastActivityAt: timestamp(t.LastActivityAt), StartedAt: stamp(t.StartedAt), EndedAt: stamp(t.EndedAt),
	}
	if t.Error != nil {
		body.Error = &threadErrorBody{Code: t.Error.Code, Message: t.Error.Message}
	}
	if body.Metadata == nil {
		body.Metadata = map[string]any{}
	}
	return body
}

func textOrNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func newThreadPreparationBody(p *core.Preparation) threadPreparationBody {
	body := threadPreparationBody{
		Workspace: p.Workspace, ContextFiles: make([]threadFileBody, len(p.ContextFiles)),
		ApprovalPreset: p.Approval, EnvNames: p.EnvNames,
	}
	for i := range p.ContextFiles {
		f := &p.ContextFiles[i]
		body.ContextFiles[i] = threadFileBody{Path: f.Path, Bytes: len(f.Content), Content: &f.Content}
	}
	if body.EnvNames == nil {
		body.EnvNames = []string{}
	}
	return body
}

type threadList struct {
	Threads []threadBody `json:"threads"`
	wire.PageInfo
}

// newThreadRow is newThreadBody without the text of context files: a page would be as large as all of them.
func newThreadRow(t *core.Thread) threadBody {
	body := newThreadBody(t)
	for i := range body.Preparation.ContextFiles {
		body.Preparation.ContextFiles[i].Content = nil
	}
	return body
}
