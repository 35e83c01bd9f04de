package store

import (
	"context"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
	"github.com/wardroom/wardroom/sdk/wire"
)

// walkChunk is how many experiences WalkExperiences reads at a time.
const walkChunk = 200

var experiences = &table[core.Experience]{
	prefix: prefixExperience, kind: "experience", lists: kindExperience, idPrefix: core.PrefixMemory,
	facets: func(e *core.Experience) []facet {
		return []facet{{'x', e.ExecutionID}, {'g', e.Repo}, {'r', e.Role}, {'o', string(e.Outcome)}}
	},
	print: func(e *core.Experience) []byte {
		if e.Fingerprint == "" {
			return nil
		}
		return appendKey(nil, prefixExperiencePrint, e.Fingerprint)
	},
}

// PutExperience implements core.ExperienceTx. The score is not kept: it is part of an answer.
func (t *tx) PutExperience(e *core.Experience) error {
	if !slices.Contains(core.ExperienceOutcomes, e.Outcome) {
		return core.Invalid("outcome", "%q is not an outcome of an experience", e.Outcome)
	}
	stored := *e
	stored.Score = 0
	return experiences.save(t, e.ID, &stored)
}

// DeleteExperience implements core.ExperienceTx. An unknown id is no error.
func (t *tx) DeleteExperience(id string) error { return experiences.drop(t, id) }

// SameExperience implements core.ExperienceTx.
func (t *tx) SameExperience(fingerprint string) (*core.Experience, error) {
	return experiences.same(t, t.key(prefixExperiencePrint, fingerprint))
}

// FindExperience implements core.MemoryReader.
func (s *Store) FindExperience(ctx context.Context, id string) (*core.Experience, error) {
	return experiences.one(ctx, s, id)
}

// FindExperiences implements core.MemoryReader.
func (s *Store) FindExperiences(ctx context.Context, filter core.ExperienceFilter) ([]*core.Experience, core.PageInfo, error) {
	if filter.Outcome != "" && !slices.Contains(core.ExperienceOutcomes, filter.Outcome) {
		return nil, core.PageInfo{}, core.Invalid("outcome", "%q is not an outcome of an experience", filter.Outcome)
	}
	return experiences.page(ctx, s, filter.Page, &core.Experience{Experience: wire.Experience{
		ExecutionID: filter.ExecutionID, Repo: filter.Repo, Role: filter.Role, Outcome: filter.Outcome,
	}})
}

// WalkExperiences implements core.MemoryReader. It is no snapshot: fn may take its time and use the store, and sees
// what is put behind the walk meanwhile.
func (s *Store) WalkExperiences(ctx context.Context, after string, fn func(*core.Experience) error) error {
	for {
		var chunk []*core.Experience
		err := s.view(ctx, func(txn kv.Snapshot) error {
			return experiences.scan(ctx, s, txn, after, func(id string, e *core.Experience) bool {
				if id != after {
					chunk = append(chunk, e)
				}
				return len(chunk) < walkChunk
			})
		})
		if err != nil {
			return err
		}
		for _, e := range chunk {
			if err := fn(e); err != nil {
				return err
			}
			after = e.ID
		}
		if len(chunk) < walkChunk {
			return nil
		}
	}
}
