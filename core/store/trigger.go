package store

import (
	"context"

	"github.com/wardroom/wardroom/core"
)

var triggers = &table[core.TriggerRecord]{prefix: "tg/", kind: "trigger", idPrefix: core.PrefixTrigger}

// PutTrigger implements core.TriggerTx.
func (t *tx) PutTrigger(r *core.TriggerRecord) error { return triggers.save(t, r.ID, r) }

// FindTriggerRecord implements core.TriggerTx.
func (t *tx) FindTriggerRecord(id string) (*core.TriggerRecord, error) { return triggers.find(t, id) }

// DeleteTrigger implements core.TriggerTx.
func (t *tx) DeleteTrigger(id string) error { return triggers.drop(t, id) }

// AllTriggers implements core.TriggerReader.
func (s *Store) AllTriggers(ctx context.Context) ([]*core.TriggerRecord, error) {
	return triggers.all(ctx, s)
}
