package store

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

var managedAgents = &table[core.ManagedAgentRecord]{prefix: prefixManaged, kind: "managed agent", idPrefix: core.PrefixManaged}

// PutManagedAgent implements core.Tx.
func (t *tx) PutManagedAgent(a *core.ManagedAgentRecord) error { return managedAgents.save(t, a.ID, a) }

// DeleteManagedAgent implements core.Tx. An unknown id is no error.
func (t *tx) DeleteManagedAgent(id string) error { return managedAgents.drop(t, id) }

// PutRuntimePosition implements core.Tx.
func (t *tx) PutRuntimePosition(p core.RuntimePosition) error {
	if p.Runtime == "" {
		return core.Invalid("runtime", "must not be empty")
	}
	return t.set(t.key(prefixRuntime, p.Runtime), append(appendUint64(nil, p.Seq), p.Log...))
}

// AllManagedAgents implements core.ManagedAgentReader.
func (s *Store) AllManagedAgents(ctx context.Context) ([]*core.ManagedAgentRecord, error) {
	return managedAgents.all(ctx, s)
}

// RuntimePositions implements core.ManagedAgentReader.
func (s *Store) RuntimePositions(ctx context.Context) (map[string]core.RuntimePosition, error) {
	positions := make(map[string]core.RuntimePosition)
	err := s.view(ctx, func(txn kv.Snapshot) error {
		return scan(txn, []byte(prefixRuntime), nil, true, func(key, value []byte) (bool, error) {
			name := string(key[len(prefixRuntime):])
			seq, err := decodeUint64(value)
			if err != nil { // the runtime tells all that it still knows
				return s.pass(key, damaged("position of runtime", name, err))
			}
			positions[name] = core.RuntimePosition{Runtime: name, Seq: seq, Log: string(value[8:])}
			return true, nil
		})
	})
	return positions, err
}
