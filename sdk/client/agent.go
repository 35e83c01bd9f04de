package client

import (
	"context"
	"iter"
	"net/http"
	"strings"

	"github.com/wardroom/wardroom/sdk/wire"
)

// AgentStatistics counts over the life of an agent's id.
type AgentStatistics = wire.AgentStatistics

// Agent is a connected agent, or one that was connected within the last 24 hours.
type Agent struct {
	Meta
	wire.Agent
	Statistics *AgentStatistics `json:"statistics,omitempty"` // of GetAgent
}

// AgentList is one page of agents.
type AgentList struct {
	Meta
	PageInfo
	Agents       []Agent `json:"agents"`
	Connected    int     `json:"connected"` // of all agents that match
	Disconnected int     `json:"disconnected"`
}

func (l *AgentList) page() ([]Agent, PageInfo) { return l.Agents, l.PageInfo }

// AgentFilter selects agents of a list. Zero values select all.
type AgentFilter struct {
	Status       string   // connected or disconnected
	Capabilities []string // all of them
	Region       string
	CreatedBy    string // who registered it
	Page
}

// AgentDisconnection says what DisconnectAgent did.
type AgentDisconnection struct {
	Meta
	wire.AgentDisconnection
}

// ListAgents returns one page of agents, newest connection first.
func (c *Client) ListAgents(ctx context.Context, filter AgentFilter) (*AgentList, error) {
	query := queryOf("capabilities", strings.Join(filter.Capabilities, ","))
	setTexts(query, "status", filter.Status, "region", filter.Region, "createdBy", filter.CreatedBy)
	filter.addTo(query)
	return ask[AgentList](ctx, c, request{method: http.MethodGet, path: "/api/agents", query: query})
}

// Agents walks all pages of a list.
func (c *Client) Agents(ctx context.Context, filter AgentFilter) iter.Seq2[Agent, error] {
	return walkList(ctx, filter, c.ListAgents)
}

func agentPath(id string) string { return "/api/agents/" + segment(id) }

// GetAgent returns one agent with its statistics.
func (c *Client) GetAgent(ctx context.Context, id string) (*Agent, error) {
	return get[Agent](ctx, c, agentPath(id))
}

// AgentTask is a task of a connected agent, see package wire.
type AgentTask = wire.AgentTask

// AgentTaskList lists the tasks that an agent works on and worked on last, newest hand-out first.
type AgentTaskList struct {
	Meta
	Tasks []AgentTask `json:"tasks"`
}

// AgentTasks returns the tasks that an agent has and the last ones that it was done with.
func (c *Client) AgentTasks(ctx context.Context, id string) (*AgentTaskList, error) {
	return get[AgentTaskList](ctx, c, agentPath(id)+"/tasks")
}

// DisconnectAgent ends an agent's session gracefully; reason may be empty.
func (c *Client) DisconnectAgent(ctx context.Context, id, reason string) (*AgentDisconnection, error) {
	r := request{method: http.MethodPost, path: agentPath(id) + "/disconnect", body: reasonBody(reason), harmless: true}
	return ask[AgentDisconnection](ctx, c, r)
}
