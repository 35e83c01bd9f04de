package core

import (
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PromptRuling is how a prompt is answered without people, or why they are asked.
type PromptRuling = wire.PromptRuling

// What a policy answers to a prompt: one of the answers that every approval takes, or that people are to say.
const (
	RulingAllow = "allow"
	RulingDeny  = "deny"
	RulingAsk   = "ask"
)

// Where a PromptRuling comes from.
const (
	RulingByPolicy        = "policy"        // package wardroom.approvals of security.policy.dir
	RulingByThread        = "thread"        // policy.autoAnswer of the thread
	RulingByConfiguration = "configuration" // threads.autoAnswer
	RulingByPreset        = "preset"        // approvalPreset
	RulingByPerson        = "person"        // somebody over the API
)

// PromptRuled is the data of prompt.ruled.
type PromptRuled struct {
	ThreadID string       `json:"threadId"`
	Name     string       `json:"name"` // of the thread
	Role     string       `json:"role,omitempty"`
	AgentID  string       `json:"agentId,omitempty"`
	Kind     string       `json:"kind,omitempty"` // of the prompt
	Tool     string       `json:"tool,omitempty"`
	Text     string       `json:"text,omitempty"` // of the prompt, its beginning
	Ruling   PromptRuling `json:"ruling"`
}

// PromptQuestion describes a prompt of an agent that a policy rules on. Fields that are not known are empty.
type PromptQuestion struct {
	PromptID string
	Kind     string // approval or question
	Text     string
	Tool     string
	Input    map[string]any // of the tool
	Options  []string       // ids

	AgentID     string // managed agent
	ThreadID    string
	ExecutionID string
	Name        string // of the thread or agent
	Role        string
	AgentType   string
	Preset      string // approvalPreset
	Owner       string // who made the thread
	Repository  string
	Branch      string
	Workspace   string // the path that the agent works in
	Time        time.Time
}
