package threads

import (
	"context"
	"errors"
	"iter"
	"reflect"

	"github.com/wardroom/wardroom/core"
)

// QueuedThreadInputs implements core.ThreadService.
func (s *Service) QueuedThreadInputs(ctx context.Context, id string, after uint64, limit int) (*core.ThreadQueue, error) {
	if limit < 1 || limit > core.MaxPageLimit {
		return nil, core.Invalid("limit", "must be from 1 to %d", core.MaxPageLimit)
	}
	r, err := s.opts.Store.FindThread(ctx, id)
	if err != nil {
		return nil, err
	}
	for range queueLooks - 1 {
		queue, err := s.queueOf(ctx, r, after, limit)
		if err != nil {
			return nil, err
		}
		now, err := s.opts.Store.FindThread(ctx, id)
		if err != nil {
			return nil, err
		}
		if sameQueue(r, now) {
			return queue, nil
		}
		r = now
	}
	return s.queueOf(ctx, r, after, limit)
}

// queueLooks is how often a queue is read that changes meanwhile.
const queueLooks = 4

// sameQueue reports whether two records of a thread have the same messages in the same states.
func sameQueue(a, b *core.ThreadRecord) bool {
	return a.InputSeq == b.InputSeq && a.SentSeq == b.SentSeq && a.Withdrawals == b.Withdrawals && reflect.DeepEqual(a.Work, b.Work)
}

// queueOf reads the messages of a record.
func (s *Service) queueOf(ctx context.Context, r *core.ThreadRecord, after uint64, limit int) (*core.ThreadQueue, error) {
	queue := &core.ThreadQueue{ThreadID: r.ID, Queued: r.QueuedInputs, Inputs: []core.ThreadQueueItem{}}
	for in, err := range s.inputs(ctx, r.ID, max(after, firstWaiting(r)-1)) {
		if err != nil {
			return nil, err
		}
		if len(queue.Inputs) == limit {
			queue.HasMore = true
			break
		}
		queue.Inputs = append(queue.Inputs, item(r, in))
		queue.NextAfter = in.Number
	}
	return queue, nil
}

// inputs walks the messages of a thread behind the number after that were not withdrawn, and reads a page of them at a time. An
// error ends it.
func (s *Service) inputs(ctx context.Context, id string, after uint64) iter.Seq2[*core.QueuedInput, error] {
	return func(yield func(*core.QueuedInput, error) bool) {
		for at := after; ; {
			page, err := s.opts.Store.QueuedInputs(ctx, id, at, inputPage)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, in := range page {
				if at = in.Number; !in.Withdrawn && !yield(in, nil) {
					return
				}
			}
			if len(page) < inputPage {
				return
			}
		}
	}
}

// stored returns the record of a thread, which must not be changed. That of one that is over is changed in the store
// alone, also while its supervisor is still there.
func (s *Service) stored(ctx context.Context, id string) (*core.ThreadRecord, error) {
	if t := s.find(id); t != nil {
		if r := t.record(); !r.Status.Terminal() {
			return r, nil
		}
	}
	return s.opts.Store.FindThread(ctx, id)
}

// firstWaiting is the number of the first message that waits, or that the agent works on.
func firstWaiting(r *core.ThreadRecord) uint64 {
	if w := r.Work; w != nil && w.Number > 0 && w.Ended == nil {
		return w.Number
	}
	return r.SentSeq + 1
}

func item(r *core.ThreadRecord, in *core.QueuedInput) core.ThreadQueueItem {
	out := core.ThreadQueueItem{ID: in.ID, InputID: in.ID, Number: in.Number, State: core.InputWaiting, Message: in.Message, CreatedAt: in.CreatedAt, CreatedBy: in.CreatedBy}
	if w := r.Work; w != nil && w.Number == in.Number {
		out.Attempt = w.Attempt
		if w.Held {
			out.State = core.InputWorking
		}
	}
	return out
}

// WithdrawThreadInput implements core.ThreadService. A withdrawal that comes in between may be of the same message, and has
// it looked for again.
func (s *Service) WithdrawThreadInput(ctx context.Context, id, inputID string) error {
	for {
		if err := s.withdraw(ctx, id, inputID); !errors.Is(err, errWithdrawn) {
			return err
		}
	}
}

// withdraw is WithdrawThreadInput with what the thread and its queue are now. errWithdrawn.
func (s *Service) withdraw(ctx context.Context, id, inputID string) error {
	r, err := s.stored(ctx, id)
	if err != nil {
		return err
	}
	in, err := s.findInput(ctx, r, inputID)
	if err != nil {
		return err
	}
	if t := s.find(id); t != nil && !r.Status.Terminal() {
		return t.change(ctx, func(c *change) error {
			if c.rec.Ending != nil || c.rec.Status.Terminal() {
				return over(c.rec)
			}
			return c.withdraw(in, r.Withdrawals)
		})
	}
	if !r.Status.Terminal() {
		return core.Unavailable("starting", "the thread is not supervised yet; try again")
	}
	return s.withdrawStored(ctx, id, in, r.Withdrawals)
}

// findInput finds a message that waits by its id.
func (s *Service) findInput(ctx context.Context, r *core.ThreadRecord, inputID string) (*core.QueuedInput, error) {
	for in, err := range s.inputs(ctx, r.ID, firstWaiting(r)-1) {
		if err != nil || in.ID == inputID {
			return in, err
		}
	}
	return nil, core.NotFound("input", inputID)
}

// withdraw takes a message out of the queue, unless the agent may have it. Its place stays, without the text. errWithdrawn.
func (c *change) withdraw(in *core.QueuedInput, withdrawals int) error {
	r := c.rec
	gone, err := withdrawFrom(r, in, withdrawals)
	if err != nil {
		return err
	}
	c.event(core.EventThreadStatus, statusData{Status: statusWithdrawn, InputID: in.ID})
	if gone.Number > r.SentSeq {
		c.freed += int64(len(in.Message))
	}
	c.extra = append(c.extra, func(tx core.Tx) error { return tx.PutInput(gone) })
	c.complete()
	return nil
}

// withdrawFrom notes in a record that a message is withdrawn, and returns what is stored in its place. errWithdrawn when there
// were more withdrawals than as the message was read.
func withdrawFrom(r *core.ThreadRecord, in *core.QueuedInput, withdrawals int) (*core.QueuedInput, error) {
	w := r.Work
	switch {
	case r.Withdrawals != withdrawals:
		return nil, errWithdrawn
	case w != nil && w.Number == in.Number && w.Held, in.Number <= r.SentSeq && (w == nil || w.Number != in.Number):
		return nil, core.Conflict("input", in.ID, core.InputWorking, "the agent has the message already; interrupt its turn instead")
	case w != nil && w.Number == in.Number:
		r.Work, r.RetryAt = nil, nil
		if r.StatusReason == core.ThreadReasonRetrying {
			r.StatusReason = ""
		}
	}
	if in.Number > r.SentSeq {
		r.Withdrawn++
	}
	r.Withdrawals++
	return &core.QueuedInput{ID: in.ID, ThreadID: in.ThreadID, Number: in.Number, CreatedAt: in.CreatedAt, CreatedBy: in.CreatedBy, Withdrawn: true}, nil
}

// withdrawStored withdraws a message that a thread which is over still has. errWithdrawn.
func (s *Service) withdrawStored(ctx context.Context, id string, in *core.QueuedInput, withdrawals int) error {
	return s.update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		r, err := tx.FindThread(id)
		if err != nil {
			return err
		}
		next := *r
		if in.Number < firstWaiting(r) {
			return core.NotFound("input", in.ID) // another thread took it over
		}
		gone, err := withdrawFrom(&next, in, withdrawals)
		if err != nil {
			return err
		}
		next.QueuedInputs, next.UpdatedAt = waits(&next), s.clock.Now()
		if err := tx.PutInput(gone); err != nil {
			return err
		}
		return tx.PutThread(&next)
	})
}

// skip passes messages that were withdrawn.
func (t *thread) skip(ctx context.Context, in *core.QueuedInput) bool {
	return t.must(ctx, func(c *change) error {
		r := c.rec
		if r.Ending != nil || again(r) || unsent(r) || in.Number != r.SentSeq+1 {
			return errUnchanged
		}
		c.closeWork()
		r.SentSeq = in.Number
		r.Withdrawn = max(0, r.Withdrawn-1)
		id, upTo := t.id, in.Number
		c.extra = append(c.extra, func(tx core.Tx) error { return tx.DeleteInputs(id, upTo) })
		c.complete()
		return nil
	})
}
