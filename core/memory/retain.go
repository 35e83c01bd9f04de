package memory

import (
	"context"
	"errors"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// retainChunk is how many experiences one transaction removes.
const retainChunk = 200

// errEnough ends a walk.
var errEnough = errors.New("enough")

// retainNow removes the experiences that are too old or too many, the oldest first.
func (s *Service) retainNow() error {
	c := s.config.Load()
	if c.MaxAge > 0 {
		before := s.clock.Now().Add(-c.MaxAge)
		old := func(e *core.Experience) bool { return s.older(lastMade(e), c.MaxAge) }
		end := core.IDBound(core.PrefixMemory, before)
		if err := s.removeOldest(old, -1, end); err != nil {
			return err
		}
	}
	if c.MaxCount <= 0 {
		return nil
	}
	_, info, err := s.store.FindExperiences(s.ctx, core.ExperienceFilter{Page: core.Page{Limit: 1}})
	if err != nil || info.Total <= c.MaxCount {
		return err
	}
	return s.removeOldest(func(*core.Experience) bool { return true }, info.Total-c.MaxCount, "")
}

// lastMade is when an experience was made the last time.
func lastMade(e *core.Experience) time.Time {
	if e.UpdatedAt != nil {
		return *e.UpdatedAt
	}
	return e.CreatedAt
}

// removeOldest removes up to most experiences that are to go, -1 for any number, oldest first, and looks at none with an
// id from end on.
func (s *Service) removeOldest(goes func(*core.Experience) bool, most int, end string) error {
	after, removed := "", 0
	defer func() {
		if removed > 0 {
			s.log.Info("experiences were removed", "count", removed)
		}
	}()
	for {
		var chunk []*core.Experience
		err := s.store.WalkExperiences(s.ctx, after, func(e *core.Experience) error {
			if end != "" && e.ID >= end || most >= 0 && removed+len(chunk) >= most {
				return errEnough
			}
			after = e.ID
			if !goes(e) {
				return s.ctx.Err()
			}
			if chunk = append(chunk, e); len(chunk) == retainChunk {
				return errEnough
			}
			return s.ctx.Err()
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		if len(chunk) == 0 {
			return nil
		}
		n, err := s.remove(s.ctx, chunk, goes)
		removed += n
		if err != nil {
			return err
		}
		if len(chunk) < retainChunk {
			return nil
		}
	}
}

// remove removes experiences from the store and from the index, but those that were made again meanwhile.
func (s *Service) remove(ctx context.Context, chunk []*core.Experience, goes func(*core.Experience) bool) (int, error) {
	var gone []change
	err := doubt.Update(ctx, ctx, s.clock, s.store, func(tx core.Tx) error {
		gone = nil
		for _, e := range chunk {
			if e.Fingerprint != "" {
				now, err := tx.SameExperience(e.Fingerprint)
				if err != nil {
					return err
				}
				if now != nil && now.ID == e.ID && !goes(now) {
					continue
				}
			}
			if err := tx.DeleteExperience(e.ID); err != nil {
				return err
			}
			gone = append(gone, change{remove: e.ID})
		}
		tx.AfterCommit(func() { s.enqueue(gone...) }) // also where that is known only after its caller left
		return nil
	}, pause.For)
	if err != nil {
		return 0, err
	}
	return len(gone), nil
}

// ForgetExecution removes the experiences of an execution, from the index too, and returns their ids.
func (s *Service) ForgetExecution(ctx context.Context, executionID string) (ids []string, err error) {
	all := func(*core.Experience) bool { return true }
	for {
		chunk, _, err := s.store.FindExperiences(ctx, core.ExperienceFilter{ExecutionID: executionID, Page: core.Page{Limit: core.MaxPageLimit}})
		if err != nil || len(chunk) == 0 {
			return ids, err
		}
		for _, e := range chunk {
			ids = append(ids, e.ID)
		}
		if _, err := s.remove(ctx, chunk, all); err != nil {
			return ids, err
		}
	}
}
