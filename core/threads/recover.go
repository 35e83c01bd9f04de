package threads

import (
	"context"

	"github.com/wardroom/wardroom/core"
)

// Open takes up every thread that is not over, in whatever state it is.
func (s *Service) Open(ctx context.Context) error {
	records, err := s.opts.Store.ActiveThreads(ctx)
	if err != nil {
		return err
	}
	for _, r := range records {
		if err := s.loadMembers(ctx, r.ExecutionID); err != nil {
			return err
		}
	}
	threads := make([]*thread, 0, len(records))
	now := s.clock.Now()
	for _, r := range records {
		if r.LastActivityAt.After(now) { // the clock was set back: it is idle from now on, at the latest
			r.LastActivityAt = now
		}
		t := s.newThread(r)
		if err := t.weigh(ctx); err != nil {
			return err
		}
		threads = append(threads, t)
		s.mu.Lock()
		if at, ok := instanceOf(r); ok {
			s.roles[at] = t
		} else {
			s.spawned++
		}
		s.mu.Unlock()
	}
	for _, t := range threads {
		s.launch(t)
	}
	if len(threads) > 0 {
		s.log.Info("threads are taken up again", "threads", len(threads))
	}
	return nil
}

// loadMembers reads the threads of an execution, unless that was done.
func (s *Service) loadMembers(ctx context.Context, execution string) error {
	s.mu.Lock()
	_, known := s.members[execution]
	s.mu.Unlock()
	if known {
		return nil
	}
	var ids []string
	filter := core.ThreadFilter{ExecutionID: execution}
	filter.Limit = readPage
	for {
		page, info, err := s.opts.Store.FindThreads(ctx, filter)
		if err != nil {
			return err
		}
		for _, r := range page {
			ids = append(ids, r.ID)
		}
		if !info.HasMore || info.NextCursor == "" {
			break
		}
		filter.Cursor = info.NextCursor
	}
	for i, j := 0, len(ids)-1; i < j; i, j = i+1, j-1 { // oldest first
		ids[i], ids[j] = ids[j], ids[i]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[execution] = ids
	return nil
}

// weigh counts what waits in the queue.
func (t *thread) weigh(ctx context.Context) error {
	r := t.record()
	for at := r.SentSeq; at < r.InputSeq; {
		page, err := t.s.opts.Store.QueuedInputs(ctx, t.id, at, readPage)
		if err != nil {
			return err
		}
		if len(page) == 0 {
			break
		}
		for _, in := range page {
			t.waiting += int64(len(in.Message))
			at = in.Number
		}
	}
	return nil
}
