package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// seed stores n finished executions of ten patterns, two in a hundred failed, through the store package.
func seed(ctx context.Context, path string, n int) error {
	s, err := store.Open(ctx, store.Options{Path: storePath(path), MinFreeBytes: 64 << 20})
	if err != nil {
		return err
	}
	const piece = 500
	clock := &spread{now: time.Now().Add(-24 * time.Hour).UTC(), step: 24 * time.Hour / time.Duration(n+1)}
	ids := core.NewIDs(clock)
	for from := 0; from < n; from += piece {
		err := s.Update(ctx, func(tx core.Tx) error {
			for i := from; i < min(from+piece, n); i++ {
				if err := tx.PutExecution(seeded(ids, clock, i)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return s.Close()
}

// spread is a clock that moves a step at each look.
type spread struct {
	core.SystemClock
	now  time.Time
	step time.Duration
}

func (s *spread) Now() time.Time {
	s.now = s.now.Add(s.step)
	return s.now
}

func seeded(ids core.IDs, clock core.Clock, i int) *core.Execution {
	id := ids.New(core.PrefixExecution)
	created := clock.Now()
	ended := created.Add(2 * time.Millisecond)
	e := &core.Execution{
		ID: id, Pattern: core.PatternRef{Name: fmt.Sprintf("seeded-%d", i%10), Version: "1.0.0"}, Hash: "seeded",
		Status: core.ExecutionCompleted, Input: json.RawMessage(`{"text":"The quick brown fox jumps over the lazy dog."}`),
		Result:    json.RawMessage(`{"label":"pangram","confidence":0.9}`),
		CreatedAt: created, StartedAt: &created, CompletedAt: &ended, Deadline: created.Add(5 * time.Minute),
		Agents: []core.AgentResult{
			{ID: "agent_01", Status: "completed", Result: json.RawMessage(`{"label":"pangram","confidence":0.9}`)},
			{ID: "agent_02", Status: "completed", Result: json.RawMessage(`{"label":"pangram","confidence":0.9}`)},
		},
	}
	if i%50 == 0 {
		e.Status, e.Result = core.ExecutionFailed, nil
		e.Error = &core.ExecutionError{Code: core.CodeAgentError, Message: "agent agent_01: broken"}
	}
	return e
}
