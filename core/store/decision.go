package store

import (
	"context"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

var decisions = &table[core.Decision]{
	prefix: prefixDecision, kind: "decision", lists: kindDecision, idPrefix: core.PrefixDecision,
	facets: func(d *core.Decision) []facet {
		return []facet{{'x', d.ExecutionID}, {'t', d.ThreadID}, {'c', d.Category}}
	},
	creator: func(d *core.Decision) string { return d.CreatedBy },
	print: func(d *core.Decision) []byte {
		if d.Fingerprint == "" {
			return nil
		}
		return appendDecisionPrint(nil, d.ExecutionID, d.Fingerprint)
	},
}

func appendDecisionPrint(dst []byte, executionID, fingerprint string) []byte {
	return append(appendEscaped(append(dst, prefixDecisionPrint...), executionID), fingerprint...)
}

// PutDecision implements core.DecisionTx. A decision never changes its execution.
func (t *tx) PutDecision(d *core.Decision) error {
	switch {
	case d.ID == "":
		return core.Invalid("id", "must not be empty")
	case d.ExecutionID == "":
		return core.Invalid("executionId", "must not be empty")
	}
	old, err := decisions.get(t, d.ID)
	if err != nil {
		return err
	}
	if old != nil && old.ExecutionID != d.ExecutionID {
		return core.Invalid("executionId", "is not the one that the decision was stored with")
	}
	return decisions.put(t, d.ID, old, d)
}

// SameDecision implements core.DecisionTx.
func (t *tx) SameDecision(executionID, fingerprint string) (*core.Decision, error) {
	return decisions.same(t, appendDecisionPrint(nil, executionID, fingerprint))
}

// FindDecision implements core.MemoryReader.
func (s *Store) FindDecision(ctx context.Context, id string) (*core.Decision, error) {
	return decisions.one(ctx, s, id)
}

// FindDecisions implements core.MemoryReader. A filter without execution and thread selects decisions of all.
func (s *Store) FindDecisions(ctx context.Context, filter core.DecisionFilter) ([]*core.Decision, core.PageInfo, error) {
	return decisions.page(ctx, s, filter.Page, &core.Decision{Decision: wire.Decision{
		ExecutionID: filter.ExecutionID, ThreadID: filter.ThreadID, Category: filter.Category,
		CreatedBy: filter.CreatedBy,
	}})
}
