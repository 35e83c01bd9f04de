package core

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixToken begins the ids of registration tokens of agents.
const PrefixToken = "atok_"

// What is public of registration tokens.
type (
	AgentToken    = wire.AgentToken
	NewAgentToken = wire.NewAgentToken
)

// AgentTokenRecord is a registration token as it is stored: without Status, which follows from the time, and without a
// place for the secret in clear. Values are snapshots.
type AgentTokenRecord struct {
	AgentToken
	MAC []byte `json:"mac,omitempty"` // as that of a KeyHash; empty once it is revoked
}

// StatusAt returns how the token is at a time.
func (r *AgentTokenRecord) StatusAt(now time.Time) wire.AgentTokenStatus {
	switch {
	case r.RevokedAt != nil:
		return wire.AgentTokenRevoked
	case r.ExpiresAt != nil && !now.Before(*r.ExpiresAt):
		return wire.AgentTokenExpired
	case r.Uses > 0 && r.Used >= r.Uses:
		return wire.AgentTokenExhausted
	}
	return wire.AgentTokenActive
}

// AgentTokenSpec describes a registration token to create.
type AgentTokenSpec struct {
	Capabilities []string
	Names        []string      // none: any
	Uses         int           // 0: any number
	Life         time.Duration // 0: DefaultKeyLife
	Never        bool          // it never expires; Life is 0 then
}

// AgentTokenFilter selects registration tokens of a list. Zero values select all.
type AgentTokenFilter struct {
	CreatedBy string
	Page
}

// AgentTokenService keeps registration tokens. Methods are safe for concurrent use.
type AgentTokenService interface {
	// CreateAgentToken stores a token and returns it with its secret, this once. VALIDATION_ERROR; FORBIDDEN for a caller
	// without the scope agents:manage; CONFLICT when there are too many.
	CreateAgentToken(ctx context.Context, spec AgentTokenSpec) (*NewAgentToken, error)
	// FindAgentTokens lists tokens, newest first.
	FindAgentTokens(ctx context.Context, filter AgentTokenFilter) ([]*AgentToken, PageInfo, error)
	// FindAgentToken returns one. NOT_FOUND.
	FindAgentToken(ctx context.Context, id string) (*AgentToken, error)
	// RevokeAgentToken ends a token for good; its agents are disconnected within seconds. One that was revoked stays as it
	// is. NOT_FOUND.
	RevokeAgentToken(ctx context.Context, id string) error
}

// AgentTokenReader reads stored registration tokens.
type AgentTokenReader interface {
	// FindAgentToken returns one. NOT_FOUND.
	FindAgentToken(ctx context.Context, id string) (*AgentTokenRecord, error)
	// FindAgentTokens lists tokens, newest first.
	FindAgentTokens(ctx context.Context, filter AgentTokenFilter) ([]*AgentTokenRecord, PageInfo, error)
}

// AgentOffer holds what an agent registers with, as far as its credential may bound it.
type AgentOffer struct {
	Name         string
	Capabilities []string
	Threads      bool // it offers to host threads
}
