package store

import (
	"context"

	"github.com/wardroom/wardroom/core"
)

var agents = &table[core.AgentRecord]{prefix: prefixAgent, kind: "agent", idPrefix: core.PrefixAgent}

// PutAgent implements core.AgentTx.
func (t *tx) PutAgent(a *core.AgentRecord) error { return agents.save(t, a.ID, a) }

// DeleteAgent implements core.AgentTx. An unknown id is no error: retention may have been there first.
func (t *tx) DeleteAgent(id string) error { return agents.drop(t, id) }

// AllAgents implements core.AgentReader. The order is that of ids, oldest first.
func (s *Store) AllAgents(ctx context.Context) ([]*core.AgentRecord, error) {
	return agents.all(ctx, s)
}
