package store

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// PutAgent implements core.Tx.
func (t *tx) PutAgent(a *core.AgentRecord) error {
	if a.ID == "" {
		return core.Invalid("id", "must not be empty")
	}
	return t.setJSON(t.key(prefixAgent, a.ID), a)
}

// DeleteAgent implements core.Tx. An unknown id is no error: retention may have been there first.
func (t *tx) DeleteAgent(id string) error {
	t.delete(t.key(prefixAgent, id))
	return nil
}

// AllAgents implements core.AgentReader. The order is that of ids, oldest first.
func (s *Store) AllAgents(ctx context.Context) ([]*core.AgentRecord, error) {
	var list []*core.AgentRecord
	err := s.view(ctx, func(txn kv.Snapshot) error {
		return scan(txn, []byte(prefixAgent), nil, true, func(key, value []byte) (bool, error) {
			a := new(core.AgentRecord)
			if err := decodeJSON("agent", string(key[len(prefixAgent):]), value, a); err != nil {
				return s.pass(key, err)
			}
			list = append(list, a)
			return true, ctx.Err()
		})
	})
	return list, err
}
