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

// experienceFacets are the lists that an experience is in; nil is none.
func experienceFacets(e *core.Experience) []facet {
	if e == nil {
		return nil
	}
	return []facet{{'x', e.ExecutionID}, {'g', e.Repo}, {'r', e.Role}, {'o', string(e.Outcome)}}
}

// experiencePrint makes the key of an experience's fingerprint; nil for one without.
func (t *tx) experiencePrint(e *core.Experience) []byte {
	if e == nil || e.Fingerprint == "" {
		return nil
	}
	return t.key(prefixExperiencePrint, e.Fingerprint)
}

// PutExperience implements core.Tx. The score is not kept: it is part of an answer.
func (t *tx) PutExperience(e *core.Experience) error {
	switch {
	case e.ID == "":
		return core.Invalid("id", "must not be empty")
	case !slices.Contains(core.ExperienceOutcomes, e.Outcome):
		return core.Invalid("outcome", "%q is not an outcome of an experience", e.Outcome)
	}
	old, err := t.experience(e.ID)
	if err != nil {
		return err
	}
	stored := *e
	stored.Score = 0
	if err := t.setJSON(t.key(prefixExperience, e.ID), &stored); err != nil {
		return err
	}
	if err := t.fingerprint(e.ID, t.experiencePrint(old), t.experiencePrint(e)); err != nil {
		return err
	}
	return t.relist(kindExperience, e.ID, experienceFacets(old), experienceFacets(e))
}

// DeleteExperience implements core.Tx. An unknown id is no error.
func (t *tx) DeleteExperience(id string) error {
	old, err := t.experience(id)
	if err != nil || old == nil {
		return err
	}
	if err := t.fingerprint(id, t.experiencePrint(old), nil); err != nil {
		return err
	}
	if err := t.relist(kindExperience, id, experienceFacets(old), nil); err != nil {
		return err
	}
	t.delete(t.key(prefixExperience, id))
	return nil
}

// experience returns an experience as the closure sees it, or nil.
func (t *tx) experience(id string) (*core.Experience, error) {
	value, err := t.get(t.key(prefixExperience, id))
	if err != nil || value == nil {
		return nil, err
	}
	e := new(core.Experience)
	return e, decodeJSON("experience", id, value, e)
}

// SameExperience implements core.Tx.
func (t *tx) SameExperience(fingerprint string) (*core.Experience, error) {
	id, err := t.get(t.key(prefixExperiencePrint, fingerprint))
	if err != nil || id == nil {
		return nil, err
	}
	return t.experience(string(id))
}

// FindExperience implements core.MemoryReader.
func (s *Store) FindExperience(ctx context.Context, id string) (*core.Experience, error) {
	var e *core.Experience
	err := s.view(ctx, func(txn kv.Snapshot) (err error) {
		e, err = readExperience(txn, id)
		return err
	})
	return e, err
}

func readExperience(txn kv.Snapshot, id string) (*core.Experience, error) {
	e := new(core.Experience)
	return e, read(txn, appendKey(nil, prefixExperience, id), "experience", id, e)
}

// FindExperiences implements core.MemoryReader.
func (s *Store) FindExperiences(ctx context.Context, filter core.ExperienceFilter) ([]*core.Experience, core.PageInfo, error) {
	if filter.Outcome != "" && !slices.Contains(core.ExperienceOutcomes, filter.Outcome) {
		return nil, core.PageInfo{}, core.Invalid("outcome", "%q is not an outcome of an experience", filter.Outcome)
	}
	q := listQuery{kind: kindExperience, idPrefix: core.PrefixMemory, page: filter.Page, facets: experienceFacets(&core.Experience{
		Experience: wire.Experience{
			ExecutionID: filter.ExecutionID, Repo: filter.Repo, Role: filter.Role, Outcome: filter.Outcome,
		},
	})}
	return findRows(ctx, s, q, readExperience)
}

// WalkExperiences implements core.MemoryReader. It is no snapshot: fn may take its time and use the store, and sees
// what is put behind the walk meanwhile.
func (s *Store) WalkExperiences(ctx context.Context, after string, fn func(*core.Experience) error) error {
	for {
		var chunk []*core.Experience
		err := s.view(ctx, func(txn kv.Snapshot) error {
			seek := appendKey(nil, prefixExperience, after)
			return scan(txn, []byte(prefixExperience), seek, true, func(key, value []byte) (bool, error) {
				id := string(key[len(prefixExperience):])
				if id == after {
					return true, nil
				}
				e := new(core.Experience)
				if err := decodeJSON("experience", id, value, e); err != nil {
					return s.pass(key, err)
				}
				chunk = append(chunk, e)
				return len(chunk) < walkChunk, ctx.Err()
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
