package client

import (
	"context"
	"crypto/tls"
	"iter"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What the API says of managed agents, see package wire.
type (
	ManagedAgentStatus = wire.ManagedAgentStatus
	Runtime            = wire.RuntimeInfo
	RuntimeIsolation   = wire.RuntimeIsolation
)

// ManagedAgent is a command-line agent that a runtime runs.
type ManagedAgent struct {
	Meta
	wire.ManagedAgent
	Prompt *ManagedPrompt `json:"prompt,omitempty"` // while it is blocked; the one of wire.ManagedAgent stays empty
}

// ManagedAgentMetrics measure a running agent.
type ManagedAgentMetrics struct {
	Meta
	wire.ManagedAgentMetrics
}

// ManagedAgentScreen is the screen of an agent's terminal, as text.
type ManagedAgentScreen struct {
	Meta
	wire.ManagedAgentScreen
}

// States of a managed agent.
const (
	ManagedStarting    = "starting"
	ManagedReady       = "ready"
	ManagedBusy        = "busy"
	ManagedUnreachable = "unreachable" // it runs as far as is known, and cannot be reached
	ManagedError       = "error"
	ManagedStopped     = "stopped"
)

// ManagedPrompt is the prompt that a blocked agent waits with.
type ManagedPrompt = wire.Prompt

// PromptOption is one way to answer.
type PromptOption = wire.QuestionOption

// ManagedAgentSpec asks for a managed agent. Only Type is needed.
type ManagedAgentSpec = wire.ManagedAgentSpec

// ManagedAgentList is one page of managed agents.
type ManagedAgentList struct {
	Meta
	PageInfo
	Agents []ManagedAgent `json:"agents"`
}

func (l *ManagedAgentList) page() ([]ManagedAgent, PageInfo) { return l.Agents, l.PageInfo }

// ManagedAgentFilter selects managed agents of a list. Zero values select all.
type ManagedAgentFilter struct {
	Status    string
	Type      string
	Runtime   string
	Name      string            // a part of it, whatever the case
	Reason    string            // of the status
	Execution string            // that it works for
	Labels    map[string]string // all of them
	CreatedBy string
	Page
}

// RuntimeList is the configured runtimes, in the order in which they are tried.
type RuntimeList struct {
	Meta
	Runtimes []Runtime `json:"runtimes"`
}

const managedPath = "/api/managed-agents"

func managedAgentPath(id string) string { return managedPath + "/" + segment(id) }

// SpawnManagedAgent starts an agent and returns it once its process runs.
func (c *Client) SpawnManagedAgent(ctx context.Context, spec ManagedAgentSpec) (*ManagedAgent, error) {
	r := request{method: http.MethodPost, path: managedPath, body: spec, key: spec.IdempotencyKey}
	return ask[ManagedAgent](ctx, c, r)
}

// ListManagedAgents returns one page of managed agents, newest first.
func (c *Client) ListManagedAgents(ctx context.Context, filter ManagedAgentFilter) (*ManagedAgentList, error) {
	query := url.Values{}
	setTexts(query, "status", filter.Status, "type", filter.Type, "runtime", filter.Runtime, "name", filter.Name,
		"reason", filter.Reason, "executionId", filter.Execution, "createdBy", filter.CreatedBy)
	for _, name := range slices.Sorted(maps.Keys(filter.Labels)) {
		query.Add("label", name+"="+filter.Labels[name])
	}
	filter.addTo(query)
	return ask[ManagedAgentList](ctx, c, request{method: http.MethodGet, path: managedPath, query: query})
}

// ManagedAgents walks all pages of a list.
func (c *Client) ManagedAgents(ctx context.Context, filter ManagedAgentFilter) iter.Seq2[ManagedAgent, error] {
	return walkList(ctx, filter, c.ListManagedAgents)
}

// GetManagedAgent returns one managed agent.
func (c *Client) GetManagedAgent(ctx context.Context, id string) (*ManagedAgent, error) {
	return get[ManagedAgent](ctx, c, managedAgentPath(id))
}

// stopQuery has the parameters of a stop. A grace of less than a millisecond is one: 0 would be the runtime's default.
func stopQuery(force bool, grace time.Duration) url.Values {
	if grace > 0 {
		grace = max(grace, time.Millisecond)
	}
	return queryOf("force", flag(force), "timeout", number(grace.Milliseconds()))
}

// StopManagedAgent ends an agent: force kills it at once, grace is the time that it has to end by itself (0:
// the runtime's default). Stopping a stopped agent is no error.
func (c *Client) StopManagedAgent(ctx context.Context, id string, force bool, grace time.Duration) error {
	return c.do(ctx, request{method: http.MethodDelete, path: managedAgentPath(id), query: stopQuery(force, grace)}, nil)
}

// TerminalTicket lets whoever has it attach to the terminal of one agent, once and within 30 seconds.
type TerminalTicket struct {
	Meta
	wire.TerminalTicket
}

// CreateTerminalTicket returns a ticket to the terminal of an agent, for a browser that must not have the client's credential.
// With readOnly nothing can be typed by it.
func (c *Client) CreateTerminalTicket(ctx context.Context, id string, readOnly bool) (*TerminalTicket, error) {
	return ask[TerminalTicket](ctx, c, request{
		method: http.MethodPost, path: managedAgentPath(id) + "/terminal/tickets", body: wire.TerminalTicketSpec{ReadOnly: readOnly},
	})
}

// ManagedAgentRestart says how to restart.
type ManagedAgentRestart struct {
	Fresh          bool   `json:"fresh,omitempty"` // begin a new session instead of resuming the last one
	IdempotencyKey string `json:"-"`               // a restart is repeated with it, and comes about once
}

// RestartManagedAgent starts an agent again under its id.
func (c *Client) RestartManagedAgent(ctx context.Context, id string, how ManagedAgentRestart) (*ManagedAgent, error) {
	return ask[ManagedAgent](ctx, c, request{method: http.MethodPost, path: managedAgentPath(id) + "/restart", body: how, key: how.IdempotencyKey})
}

// ManagedAgentMetrics measures a running agent. CONFLICT when it is stopped.
func (c *Client) ManagedAgentMetrics(ctx context.Context, id string) (*ManagedAgentMetrics, error) {
	return get[ManagedAgentMetrics](ctx, c, managedAgentPath(id)+"/metrics")
}

// ManagedAgentScreen reads what an agent's terminal shows, of a stopped one what it showed last.
func (c *Client) ManagedAgentScreen(ctx context.Context, id string) (*ManagedAgentScreen, error) {
	return get[ManagedAgentScreen](ctx, c, managedAgentPath(id)+"/screen")
}

// ListRuntimes returns the configured runtimes.
func (c *Client) ListRuntimes(ctx context.Context) (*RuntimeList, error) {
	return get[RuntimeList](ctx, c, "/api/runtimes")
}

// TLS returns how the server's certificate is checked, as Options had it; for terminal.Dial.
func (c *Client) TLS() *tls.Config { return c.opts.TLS }

// TerminalRequest returns the address of an agent's terminal, a WebSocket that terminal.Dial of sdk/terminal
// speaks to, and the headers that the request needs.
func (c *Client) TerminalRequest(id string) (address string, header http.Header) {
	header = http.Header{"User-Agent": {c.opts.UserAgent}}
	if c.opts.Token != "" {
		header.Set("Authorization", "Bearer "+c.opts.Token)
	}
	return c.base.String() + managedAgentPath(id) + "/terminal", header
}
