package store

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
	"github.com/wardroom/wardroom/sdk/wire"
)

// decisionFacets are the lists that a decision is in; nil is none.
func decisionFacets(d *core.Decision) []facet {
	if d == nil {
		return nil
	}
	return []facet{{'x', d.ExecutionID}, {'t', d.ThreadID}, {'c', d.Category}}
}

// decisionPrint makes the key of a decision's fingerprint; nil for a decision without one.
func (t *tx) decisionPrint(d *core.Decision) []byte {
	if d == nil || d.Fingerprint == "" {
		return nil
	}
	return t.take(func(b []byte) []byte { return appendDecisionPrint(b, d.ExecutionID, d.Fingerprint) })
}

func appendDecisionPrint(dst []byte, executionID, fingerprint string) []byte {
	return append(appendEscaped(append(dst, prefixDecisionPrint...), executionID), fingerprint...)
}

// PutDecision implements core.Tx. A decision never changes its execution.
func (t *tx) PutDecision(d *core.Decision) error {
	switch {
	case d.ID == "":
		return core.Invalid("id", "must not be empty")
	case d.ExecutionID == "":
		return core.Invalid("executionId", "must not be empty")
	}
	old, err := t.decision(d.ID)
	if err != nil {
		return err
	}
	if old != nil && old.ExecutionID != d.ExecutionID {
		return core.Invalid("executionId", "is not the one that the decision was stored with")
	}
	if err := t.setJSON(t.key(prefixDecision, d.ID), d); err != nil {
		return err
	}
	if err := t.fingerprint(d.ID, t.decisionPrint(old), t.decisionPrint(d)); err != nil {
		return err
	}
	return t.relist(kindDecision, d.ID, decisionFacets(old), decisionFacets(d))
}

// dropDecision removes a decision and its index entries.
func (t *tx) dropDecision(id string) error {
	old, err := t.decision(id)
	if err != nil || old == nil {
		return err
	}
	if err := t.fingerprint(id, t.decisionPrint(old), nil); err != nil {
		return err
	}
	if err := t.relist(kindDecision, id, decisionFacets(old), nil); err != nil {
		return err
	}
	t.delete(t.key(prefixDecision, id))
	return nil
}

// decision returns a decision as the closure sees it, or nil.
func (t *tx) decision(id string) (*core.Decision, error) {
	value, err := t.get(t.key(prefixDecision, id))
	if err != nil || value == nil {
		return nil, err
	}
	d := new(core.Decision)
	return d, decodeJSON("decision", id, value, d)
}

// SameDecision implements core.Tx.
func (t *tx) SameDecision(executionID, fingerprint string) (*core.Decision, error) {
	id, err := t.get(t.take(func(b []byte) []byte { return appendDecisionPrint(b, executionID, fingerprint) }))
	if err != nil || id == nil {
		return nil, err
	}
	return t.decision(string(id))
}

// FindDecision implements core.MemoryReader.
func (s *Store) FindDecision(ctx context.Context, id string) (*core.Decision, error) {
	var d *core.Decision
	err := s.view(ctx, func(txn kv.Snapshot) (err error) {
		d, err = readDecision(txn, id)
		return err
	})
	return d, err
}

func readDecision(txn kv.Snapshot, id string) (*core.Decision, error) {
	d := new(core.Decision)
	return d, read(txn, appendKey(nil, prefixDecision, id), "decision", id, d)
}

// FindDecisions implements core.MemoryReader. A filter without execution and thread selects decisions of all.
func (s *Store) FindDecisions(ctx context.Context, filter core.DecisionFilter) ([]*core.Decision, core.PageInfo, error) {
	q := listQuery{kind: kindDecision, idPrefix: core.PrefixDecision, page: filter.Page, facets: decisionFacets(&core.Decision{
		Decision: wire.Decision{
			ExecutionID: filter.ExecutionID, ThreadID: filter.ThreadID, Category: filter.Category,
		},
	})}
	return findRows(ctx, s, q, readDecision)
}
