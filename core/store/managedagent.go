package store

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// PutManagedAgent implements core.Tx.
func (t *tx) PutManagedAgent(a *core.ManagedAgentRecord) error {
	if a.ID == "" {
		return core.Invalid("id", "must not be empty")
	}
	return t.setJSON(t.key(prefixManaged, a.ID), a)
}

// DeleteManagedAgent implements core.Tx. An unknown id is no error.
func (t *tx) DeleteManagedAgent(id string) error {
	t.delete(t.key(prefixManaged, id))
	return nil
}

// PutRuntimePosition implements core.Tx.
func (t *tx) PutRuntimePosition(p core.RuntimePosition) error {
	if p.Runtime == "" {
		return core.Invalid("runtime", "must not be empty")
	}
	return t.set(t.key(prefixRuntime, p.Runtime), appendUint64(nil, p.Seq))
}

// AllManagedAgents implements core.ManagedAgentReader.
func (s *Store) AllManagedAgents(ctx context.Context) ([]*core.ManagedAgentRecord, error) {
	var list []*core.ManagedAgentRecord
	err := s.view(ctx, func(txn kv.Snapshot) error {
		return scan(txn, []byte(prefixManaged), nil, true, func(key, value []byte) (bool, error) {
			a := new(core.ManagedAgentRecord)
			if err := decodeJSON("managed agent", string(key[len(prefixManaged):]), value, a); err != nil {
				return s.pass(key, err)
			}
			list = append(list, a)
			return true, ctx.Err()
		})
	})
	return list, err
}

// RuntimePositions implements core.ManagedAgentReader.
func (s *Store) RuntimePositions(ctx context.Context) (map[string]uint64, error) {
	positions := make(map[string]uint64)
	err := s.view(ctx, func(txn kv.Snapshot) error {
		return scan(txn, []byte(prefixRuntime), nil, true, func(key, value []byte) (bool, error) {
			seq, err := decodeUint64(value)
			if err != nil { // the runtime tells all that it still knows
				return s.pass(key, damaged("position of runtime", string(key[len(prefixRuntime):]), err))
			}
			positions[string(key[len(prefixRuntime):])] = seq
			return true, nil
		})
	})
	return positions, err
}
