package threads

import (
	"context"

	"github.com/wardroom/wardroom/core"
)

// StopThread implements core.ThreadService. That the thread is to stop is stored first.
func (s *Service) StopThread(ctx context.Context, id string, opts core.ThreadStop) error {
	t := s.find(id)
	if t == nil {
		r, err := s.opts.Store.FindThread(ctx, id)
		if err != nil || r.Status.Terminal() {
			return err
		}
		if t = s.find(id); t == nil {
			return core.Unavailable("starting", "the thread is not supervised yet; try again")
		}
	}
	if err := t.catchUpOnce(ctx); err != nil {
		return err
	}
	err := t.change(ctx, func(c *change) error {
		r := c.rec
		if r.Status.Terminal() || r.Ending != nil && (!opts.Force || r.Ending.Force) {
			return errUnchanged
		}
		if r.Ending != nil {
			forced := *r.Ending
			forced.Force, forced.By = true, c.by
			r.Ending = &forced
			return nil
		}
		c.end(core.ThreadEnding{
			Status: core.ThreadStopped, State: core.CompletionPartial, Reason: core.ThreadReasonRequested,
			Force: opts.Force, GraceMs: opts.Grace.Milliseconds(),
		})
		return nil
	})
	if err != nil {
		return err
	}
	due, stop := s.after(opts.Grace + stopReserve)
	defer stop()
	select {
	case <-t.done:
		return nil
	case <-due:
		return nil // it goes on by itself
	case <-t.ctx.Done():
		select { // it ends with the thread as well
		case <-t.done:
			return nil
		default:
			return errShuttingDown()
		}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// CloseThread implements core.ThreadService.
func (s *Service) CloseThread(ctx context.Context, id string, in core.ThreadClose) (*core.Thread, error) {
	switch in.State {
	case "":
		in.State = core.CompletionComplete
	case core.CompletionComplete, core.CompletionPartial, core.CompletionFailed:
	default:
		return nil, core.Invalid("state", "must be one of complete, partial, failed")
	}
	if len(in.Summary) > maxSummary {
		return nil, core.Invalid("summary", "must be at most %d bytes", maxSummary)
	}
	t, err := s.active(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := t.catchUpOnce(ctx); err != nil {
		return nil, err
	}
	err = t.change(ctx, func(c *change) error {
		if c.rec.Ending != nil || c.rec.Status.Terminal() {
			return over(c.rec)
		}
		c.end(core.ThreadEnding{Status: core.ThreadCompleted, State: in.State, Summary: in.Summary})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return view(t.record()), nil
}
