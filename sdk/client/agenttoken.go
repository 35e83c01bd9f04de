package client

import (
	"context"
	"iter"
	"net/http"

	"github.com/wardroom/wardroom/sdk/wire"
)

// AgentToken is a token that agents register with, without its secret, see package wire.
type AgentToken struct {
	Meta
	wire.AgentToken
}

// NewAgentToken is such a token with its secret, which no other answer shows.
type NewAgentToken struct {
	Meta
	wire.NewAgentToken
}

// AgentTokenList is one page of tokens, newest first.
type AgentTokenList struct {
	Meta
	PageInfo
	Tokens []AgentToken `json:"tokens"`
}

func (l *AgentTokenList) page() ([]AgentToken, PageInfo) { return l.Tokens, l.PageInfo }

// AgentTokenSpec asks for a token, see package wire.
type AgentTokenSpec = wire.AgentTokenSpec

const agentTokensPath = "/api/auth/agent-tokens" //nolint:gosec // a path with the word token in it

func agentTokenPath(id string) string { return agentTokensPath + "/" + segment(id) }

// CreateAgentToken makes a token that agents register with, and returns it with its secret, this once. With an idempotency
// key that is not empty it may be sent again, see NewIdempotencyKey; the answer to a repeat has no secret.
func (c *Client) CreateAgentToken(ctx context.Context, spec AgentTokenSpec, idempotencyKey string) (*NewAgentToken, error) {
	return ask[NewAgentToken](ctx, c, request{method: http.MethodPost, path: agentTokensPath, body: spec, key: idempotencyKey})
}

// ListAgentTokens returns one page of tokens, newest first; of one who made them unless that is empty.
func (c *Client) ListAgentTokens(ctx context.Context, createdBy string, page Page) (*AgentTokenList, error) {
	return listOf[AgentTokenList](ctx, c, agentTokensPath, page, "createdBy", createdBy)
}

// AgentTokens walks all pages of the list.
func (c *Client) AgentTokens(ctx context.Context, createdBy string, page Page) iter.Seq2[AgentToken, error] {
	return walkPages(ctx, page, func(ctx context.Context, page Page) (*AgentTokenList, error) {
		return c.ListAgentTokens(ctx, createdBy, page)
	})
}

// GetAgentToken returns one token, without its secret.
func (c *Client) GetAgentToken(ctx context.Context, id string) (*AgentToken, error) {
	return get[AgentToken](ctx, c, agentTokenPath(id))
}

// RevokeAgentToken ends a token for good; agents that registered with it are disconnected within seconds.
func (c *Client) RevokeAgentToken(ctx context.Context, id string) error {
	return c.do(ctx, request{method: http.MethodDelete, path: agentTokenPath(id), harmless: true}, nil)
}
