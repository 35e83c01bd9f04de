package store

import (
	"context"

	"github.com/wardroom/wardroom/core"
)

var agentTokens = &table[core.AgentTokenRecord]{
	prefix: "at/", kind: "agent token", lists: "at", idPrefix: core.PrefixToken,
	facets: func(k *core.AgentTokenRecord) []facet { return []facet{{'b', k.CreatedBy}} },
}

// PutAgentToken implements core.AgentTokenTx.
func (t *tx) PutAgentToken(k *core.AgentTokenRecord) error { return agentTokens.save(t, k.ID, k) }

// FindAgentToken implements core.AgentTokenTx.
func (t *tx) FindAgentToken(id string) (*core.AgentTokenRecord, error) {
	return agentTokens.find(t, id)
}

// DeleteAgentToken implements core.AgentTokenTx.
func (t *tx) DeleteAgentToken(id string) error { return agentTokens.drop(t, id) }

// FindAgentToken implements core.AgentTokenReader.
func (s *Store) FindAgentToken(ctx context.Context, id string) (*core.AgentTokenRecord, error) {
	return agentTokens.one(ctx, s, id)
}

// FindAgentTokens implements core.AgentTokenReader.
func (s *Store) FindAgentTokens(ctx context.Context, filter core.AgentTokenFilter) ([]*core.AgentTokenRecord, core.PageInfo, error) {
	wanted := new(core.AgentTokenRecord)
	wanted.CreatedBy = filter.CreatedBy
	return agentTokens.page(ctx, s, filter.Page, wanted)
}
