package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// FindExperience implements core.MemoryService.
func (s *Service) FindExperience(ctx context.Context, id string) (*core.Experience, error) {
	return s.store.FindExperience(ctx, id)
}

// FindExperiences implements core.MemoryService.
func (s *Service) FindExperiences(ctx context.Context, f core.ExperienceFilter) ([]*core.Experience, core.PageInfo, error) {
	if strings.TrimSpace(f.Query) == "" {
		return s.store.FindExperiences(ctx, f)
	}
	limit := cmp.Or(f.Limit, core.DefaultPageLimit)
	switch {
	case f.Outcome != "" && !slices.Contains(core.ExperienceOutcomes, f.Outcome):
		return nil, core.PageInfo{}, core.Invalid("outcome", "%q is not an outcome of an experience", f.Outcome)
	case f.Cursor != "":
		return nil, core.PageInfo{}, core.Invalid("cursor", "cannot be used with a query; use offset")
	case limit < 1 || limit > core.MaxPageLimit:
		return nil, core.PageInfo{}, core.Invalid("limit", "must be 1 to %d", core.MaxPageLimit)
	case f.Offset < 0 || f.Offset > MaxDepth-limit: // a sum of both may overflow
		return nil, core.PageInfo{}, core.Invalid("offset", "must be 0 to %d with a query; use filters to find less", MaxDepth-limit)
	}
	if err := s.settle(ctx); err != nil {
		return nil, core.PageInfo{}, err
	}
	hits, total, err := s.find(ctx, f, f.Offset, limit)
	if err != nil {
		return nil, core.PageInfo{}, err
	}
	list, err := s.read(ctx, hits)
	if err != nil {
		return nil, core.PageInfo{}, err
	}
	return list, core.PageInfo{Total: total, HasMore: f.Offset+len(hits) < total}, nil
}

// find searches the index. INTERNAL_ERROR with Unavailable when there is none; the error of ctx.
func (s *Service) find(ctx context.Context, f core.ExperienceFilter, offset, limit int) ([]hit, int, error) {
	hits, total, err := s.searchIndex(ctx, f, offset, limit)
	switch {
	case err == nil:
		return hits, total, nil
	case ctx.Err() != nil:
		return nil, 0, fmt.Errorf("searching experiences: %w", ctx.Err())
	case !errors.Is(err, errNoIndex):
		s.broken(err)
	}
	return nil, 0, unusable.WithCause(err)
}

var (
	errNoIndex = errors.New("there is no index")
	unusable   = core.Unavailable("index", "the index of experiences cannot be used at the moment; list them without a query")
)

func (s *Service) searchIndex(ctx context.Context, f core.ExperienceFilter, offset, limit int) ([]hit, int, error) {
	s.indexMu.RLock()
	defer s.indexMu.RUnlock()
	if s.index == nil {
		return nil, 0, errNoIndex
	}
	terms, err := s.index.terms(ctx, f.Query, f.NoDetails)
	if err != nil {
		return nil, 0, err
	}
	return s.index.search(ctx, terms, f, offset, limit)
}

// read gets what was found from the store. What is gone there goes from the index as well.
func (s *Service) read(ctx context.Context, hits []hit) ([]*core.Experience, error) {
	list := make([]*core.Experience, 0, len(hits))
	for _, h := range hits {
		e, err := s.store.FindExperience(ctx, h.id)
		if core.ErrorCode(err) == core.CodeNotFound {
			s.enqueue(change{remove: h.id})
			continue
		}
		if err != nil {
			return nil, err
		}
		found := *e
		found.Score = h.score
		list = append(list, &found)
	}
	return list, nil
}

// KeepExperience implements core.MemoryService.
func (s *Service) KeepExperience(tx core.Tx, e *core.Experience) error {
	if s.guarded(e) {
		e.ID = "" // nothing that Kept would take
		return nil
	}
	e.Pattern = s.patternOf(e.ExecutionID)
	now := s.clock.Now()
	e.Score = 0
	e.Fingerprint = experiencePrint(e)
	same, err := tx.SameExperience(e.Fingerprint)
	if err != nil {
		return err
	}
	if same != nil {
		again := *same
		if again.Pattern == "" { // it was kept before patterns were noted
			again.Pattern = cmp.Or(s.patternOf(again.ExecutionID), e.Pattern)
		}
		again.Count = max(again.Count, 1) + 1
		again.UpdatedAt = &now
		*e = again
		return tx.PutExperience(&again)
	}
	if e.ID == "" {
		e.ID = s.ids.New(core.PrefixMemory)
	}
	if e.CreatedAt.IsZero() {
		e.CreatedAt = now
	}
	if len(e.Details) == 0 {
		e.Details = json.RawMessage("{}")
	}
	e.Count = max(e.Count, 1)
	stored := *e
	return tx.PutExperience(&stored)
}

// patternOf returns the name of the pattern that an execution runs; "" if that is gone, or cannot be read.
func (s *Service) patternOf(executionID string) string {
	x, err := s.store.FindExecution(context.Background(), executionID)
	if err != nil {
		return ""
	}
	return x.Pattern.Name
}

func (s *Service) guarded(e *core.Experience) bool {
	return s.guards != nil && s.guards(e.ExecutionID, e.Pattern)
}

// Kept implements core.MemoryService.
func (s *Service) Kept(list ...*core.Experience) {
	changes := make([]change, 0, len(list))
	for _, e := range list {
		if e != nil && e.ID != "" {
			stored := *e
			changes = append(changes, change{put: &stored})
		}
	}
	s.enqueue(changes...)
}
