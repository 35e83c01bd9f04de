package client

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/wardroom/wardroom/sdk/wire"
)

// ThreadSpec asks for a thread. ExecutionID (or NewExecution), AgentType and Objective are what most need.
type ThreadSpec struct {
	ExecutionID string            `json:"executionId"`
	Name        string            `json:"name,omitempty"`
	AgentType   string            `json:"agentType,omitempty"` // of a spawn: needed
	Role        string            `json:"role,omitempty"`
	Objective   string            `json:"objective,omitempty"` // the first message to the agent
	Preparation ThreadPreparation `json:"preparation"`
	Policy      ThreadPolicy      `json:"policy"`
	Metadata    wire.Metadata     `json:"metadata,omitempty"`
	Runtime     string            `json:"runtime,omitempty"`
	AgentID     string            `json:"agentId,omitempty"`   // connected agent that is to host it
	Provision   bool              `json:"provision,omitempty"` // of a preparation only: check the workspace out
	// IdempotencyKey makes it safe to send the request again: see NewIdempotencyKey.
	IdempotencyKey string `json:"-"`
}

// ThreadPlan describes what a spawn would begin with. Its JSON is that of a ThreadSpec.
type ThreadPlan struct {
	Meta
	wire.ThreadPlan
}

// MemoryContext counts what a preparation found in the memory.
type MemoryContext = wire.MemoryContext

// MemoryContext reads metadata.memoryContext of the plan.
func (p *ThreadPlan) MemoryContext() (MemoryContext, error) {
	var m struct {
		MemoryContext MemoryContext `json:"memoryContext"`
	}
	err := json.Unmarshal(p.Metadata, &m)
	return m.MemoryContext, err
}

// PrepareThread builds what a spawn of the spec would begin with, and reserves its workspace.
func (c *Client) PrepareThread(ctx context.Context, spec ThreadSpec) (*ThreadPlan, error) {
	return ask[ThreadPlan](ctx, c, request{method: http.MethodPost, path: threadsPath + "/prepare", body: spec})
}

// SpawnThread starts a thread and returns it once it is stored; it goes on by itself.
func (c *Client) SpawnThread(ctx context.Context, spec ThreadSpec) (*Thread, error) {
	spec.Provision = false
	r := request{method: http.MethodPost, path: threadsPath, body: spec, key: spec.IdempotencyKey}
	return ask[Thread](ctx, c, r)
}
