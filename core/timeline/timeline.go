package timeline

import (
	"context"
	"fmt"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

var _ core.TimelineService = (*Service)(nil)

// Store is the part of the durable state that a Service reads.
type Store interface {
	FindExecution(ctx context.Context, id string) (*core.Execution, error)
	FindThreads(ctx context.Context, filter core.ThreadFilter) ([]*core.ThreadRecord, core.PageInfo, error)
	Events(ctx context.Context, subject string, after uint64, limit int) (page []core.Event, more bool, err error)
}

// Service reads timelines and tasks. It holds nothing and is safe for concurrent use. Both fields are needed.
type Service struct {
	Store Store
	Clock core.Clock
}

// eventPage is how many events are read at once.
const eventPage = 1000

// Timeline implements core.TimelineService.
func (s *Service) Timeline(ctx context.Context, id string) (*core.Timeline, error) {
	exec, err := s.Store.FindExecution(ctx, id)
	if err != nil {
		return nil, err
	}
	f := newFold()
	if err := s.eachPage(ctx, id, 0, f.add); err != nil {
		return nil, fmt.Errorf("timeline of %s: %w", id, err)
	}
	if f.over && !exec.Status.Terminal() { // it ended while the journal was read
		if exec, err = s.Store.FindExecution(ctx, id); err != nil {
			return nil, err
		}
	}
	now := s.Clock.Now()
	if err := s.eachThread(ctx, id, f.thread); err != nil {
		return nil, err
	}
	return &core.Timeline{
		ExecutionID: id, Pattern: exec.Pattern, Status: exec.Status,
		StartedAt: exec.StartedAt, CompletedAt: exec.CompletedAt, Duration: wire.MillisOf(exec.Duration(now)),
		Entries: f.result(now), LastSequence: f.lastSeq,
	}, nil
}

// eachPage calls fn with the events of an execution after a sequence, page by page.
func (s *Service) eachPage(ctx context.Context, id string, after uint64, fn func([]core.Event) error) error {
	for more := true; more; {
		var page []core.Event
		var err error
		if page, more, err = s.Store.Events(ctx, id, after, eventPage); err != nil {
			return err
		}
		if err = fn(page); err != nil {
			return err
		}
		if len(page) > 0 {
			after = page[len(page)-1].Seq
		}
	}
	return nil
}

// eachThread calls fn with each thread of an execution, oldest first.
func (s *Service) eachThread(ctx context.Context, id string, fn func(*core.ThreadRecord)) error {
	filter := core.ThreadFilter{ExecutionID: id, Page: core.Page{Limit: core.MaxPageLimit}}
	var all []*core.ThreadRecord
	for {
		page, info, err := s.Store.FindThreads(ctx, filter)
		if err != nil {
			return fmt.Errorf("threads of %s: %w", id, err)
		}
		all = append(all, page...)
		if !info.HasMore {
			break
		}
		filter.Cursor = info.NextCursor
	}
	for i := len(all) - 1; i >= 0; i-- {
		fn(all[i])
	}
	return nil
}
