package api_test

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

const decisionID = "dec_01JGFJJZ8N4Q1W0000000000AB"

// fakeMemory is a core.MemoryService made of functions; what the API does not call stays unset.
type fakeMemory struct {
	core.MemoryService
	add         func(ctx context.Context, d core.Decision) (*core.Decision, error)
	decisions   func(core.DecisionFilter) ([]*core.Decision, core.PageInfo, error)
	experiences func(core.ExperienceFilter) ([]*core.Experience, core.PageInfo, error)
}

func someDecision(id string) *core.Decision {
	later := epoch.Add(time.Hour)
	return &core.Decision{
		Decision: wire.Decision{
			ID: id, ExecutionID: execID, ThreadID: threadID, Category: "architecture", Summary: "UTC everywhere",
			Details: json.RawMessage(`{"why":["zones"]}`), CreatedBy: "mira", CreatedAt: epoch, UpdatedAt: &later, Count: 2,
		},
		Fingerprint: "internal",
	}
}

func (f *fakeMemory) AddDecision(ctx context.Context, d core.Decision) (*core.Decision, error) {
	if f.add != nil {
		return f.add(ctx, d)
	}
	d.ID, d.CreatedAt, d.Count = decisionID, epoch, 1
	return &d, nil
}

func (f *fakeMemory) FindDecisions(_ context.Context, filter core.DecisionFilter) ([]*core.Decision, core.PageInfo, error) {
	if f.decisions != nil {
		return f.decisions(filter)
	}
	return []*core.Decision{someDecision(decisionID), {Decision: wire.Decision{ID: "dec_2", ExecutionID: execID, Category: "finding", CreatedBy: "system", Count: 1}}},
		core.PageInfo{Total: 2}, nil
}

func (f *fakeMemory) FindExperience(ctx context.Context, id string) (*core.Experience, error) {
	list, _, err := f.FindExperiences(ctx, core.ExperienceFilter{})
	for _, e := range list {
		if e.ID == id {
			return e, nil
		}
	}
	return nil, cmp.Or(err, error(core.NotFound("experience", id)))
}

func (f *fakeMemory) FindExperiences(_ context.Context, filter core.ExperienceFilter) ([]*core.Experience, core.PageInfo, error) {
	if f.experiences != nil {
		return f.experiences(filter)
	}
	return []*core.Experience{
		{Experience: wire.Experience{ID: "exp_1", ExecutionID: execID, ThreadID: threadID, Role: "implementer", Repo: "app", Objective: "o", Summary: "s",
			Outcome: core.ExperienceSuccessful, Details: json.RawMessage(`{"turns":3}`), CreatedAt: epoch, UpdatedAt: &epoch,
			Count: 2, Score: 0.75}, Fingerprint: "internal"},
		{Experience: wire.Experience{ID: "exp_2", ExecutionID: execID, Outcome: core.ExperienceFailed, CreatedAt: epoch, Count: 1}},
	}, core.PageInfo{Total: 3, HasMore: true, NextCursor: "c"}, nil
}
