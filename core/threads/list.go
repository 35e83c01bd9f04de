package threads

import (
	"context"

	"github.com/wardroom/wardroom/core"
)

// FindThreads implements core.ThreadService.
func (s *Service) FindThreads(ctx context.Context, filter core.ThreadFilter) ([]*core.Thread, core.PageInfo, error) {
	if filter.ExecutionID != "" {
		if _, err := s.opts.Store.FindExecution(ctx, filter.ExecutionID); err != nil {
			return nil, core.PageInfo{}, err
		}
	}
	records, info, err := s.opts.Store.FindThreads(ctx, filter)
	if err != nil {
		return nil, core.PageInfo{}, err
	}
	rows := make([]*core.Thread, 0, len(records))
	for _, r := range records {
		rows = append(rows, view(r))
	}
	return rows, info, nil
}

// FindThread implements core.ThreadService.
func (s *Service) FindThread(ctx context.Context, id string) (*core.Thread, error) {
	if t := s.find(id); t != nil {
		return view(t.record()), nil
	}
	r, err := s.opts.Store.FindThread(ctx, id)
	if err != nil {
		return nil, err
	}
	return view(r), nil
}

// FollowThreads implements core.ThreadService.
func (s *Service) FollowThreads(ctx context.Context, executionID string, after uint64, live bool) (core.EventStream, error) {
	if _, err := s.opts.Store.FindExecution(ctx, executionID); err != nil {
		return nil, err
	}
	if live {
		after = s.opts.Store.LastSeq()
	}
	return s.opts.Streams.Follow(ctx, core.ThreadGroup(executionID), after)
}
