package threads

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
	"github.com/wardroom/wardroom/sdk/wire"
)

// feed gives the agent the messages of the queue, one at a time and in their order, until ctx ends.
func (t *thread) feed(ctx context.Context) {
	// What the agent did since the record was stored comes first: it may be at work.
	if t.catchUp(ctx); ctx.Err() != nil {
		return
	}
	if w := t.record().Work; w != nil && w.Taken {
		if t.awaitTurn(ctx, turnShows, w); ctx.Err() != nil {
			return
		}
	}
	var page []*core.QueuedInput
	var retry pause.Backoff
	withdrawals := 0
	for t.await(ctx, nil, func(r *core.ThreadRecord) bool { return feedable(r) || undecided(r) }) {
		r := t.record()
		if r.Withdrawals != withdrawals {
			page, withdrawals = nil, r.Withdrawals
		}
		var in *core.QueuedInput
		if next := nextNumber(r); next > 0 {
			for len(page) > 0 && page[0].Number < next {
				page = page[1:]
			}
			if len(page) == 0 || page[0].Number != next {
				var err error
				if page, err = t.s.opts.Store.QueuedInputs(ctx, t.id, next-1, inputPage); err != nil || len(page) == 0 {
					if err != nil {
						t.log.Warn("the messages of a thread cannot be read yet", "error", err)
					}
					if !t.s.pause(ctx, retry.Next()) {
						return
					}
					continue
				}
			}
			in = page[0]
			if in.Withdrawn {
				if !t.skip(ctx, in) {
					return
				}
				continue
			}
		}
		retry.Reset()
		if !t.give(ctx, in, withdrawals) {
			return
		}
		w := t.record().Work
		if w == nil || !w.Taken {
			continue
		}
		// What comes before the turn is known to run would be taken for an answer, should the turn need a login.
		if t.awaitTurn(ctx, turnShows, w); ctx.Err() != nil {
			return
		}
	}
}

// nextNumber is the number of the message that is to be handed over next; 0 for a word to go on, which is in no queue.
func nextNumber(r *core.ThreadRecord) uint64 {
	if again(r) || unsent(r) {
		return r.Work.Number
	}
	return r.SentSeq + 1
}

// give hands one message over and notes that, before and after. It returns false when ctx ended first. When the work
// is to be handed over anew, in another attempt, it returns at once.
func (t *thread) give(ctx context.Context, in *core.QueuedInput, withdrawals int) bool {
	if !t.open(ctx, in, withdrawals) {
		return false
	}
	r := t.record()
	if !unsent(r) || in != nil && r.Work.Number != in.Number {
		return true // the thread ends, or the message was taken already
	}
	w := r.Work
	if w.Refused && !t.setRefused(ctx, w, false) { // in an earlier life of ours
		return false
	}
	attempt := w.Attempt
	text, key := workText(r, in), workKey(w)
	resends, asked := 0, 0
	var retry pause.Backoff
	for {
		_, err := t.s.opts.ManagedAgents.SendManagedAgent(ctx, t.record().ManagedAgentID, core.ManagedAgentInput{
			Message: text, Timeout: sendLimit, Key: key,
		})
		if ctx.Err() != nil {
			return false
		}
		code := runtimecode.Of(err)
		switch {
		case err == nil, code == runtimecode.InvalidArgument && fieldOf(err) == "id":
			return t.sent(ctx, in, attempt, "")
		case code == runtimecode.DeliveryUnknown:
			// The call was cut off, or the runtime does not know it itself: what remembers keys is asked before a turn is waited for,
			// as a turn that ended meanwhile may have left no other trace.
			limit := settleTime
			if asked++; asked <= unknownAsks {
				limit = retry.Next()
			}
			if t.awaitTurn(ctx, limit, w) {
				return t.sent(ctx, in, attempt, "")
			}
			if asked > unknownAsks {
				resends++
				key, asked = wire.ResendKey(workKey(w), resends+1), 0
			}
			if !t.awaitFeedable(ctx) {
				return false
			}
			if turnShown(t.record(), w) {
				return t.sent(ctx, in, attempt, "")
			}
			continue
		case core.ErrorCode(err) == core.CodeValidation:
			t.log.Warn("an agent refuses a message for good", "input", r.Work.InputID, "error", err)
			return t.sent(ctx, in, attempt, clip.Text(core.AsError(err).Message, maxSummary))
		}
		t.log.Debug("a message is not taken yet", "input", r.Work.InputID, "error", err)
		// A refusal under another key says nothing of the first typing.
		refused := refuses(code) && resends == 0
		if refused && !t.setRefused(ctx, w, true) || !t.s.pause(ctx, retry.Next()) || !t.awaitFeedable(ctx) {
			return false
		}
		if refused && !t.setRefused(ctx, w, false) {
			return false
		}
		if resends > 0 && turnShown(t.record(), w) {
			return t.sent(ctx, in, attempt, "")
		}
		if !unsentAttempt(t.record(), w) {
			return true
		}
	}
}

// awaitFeedable waits until the agent waits for the next message, by all that it did until then: what refuses a message,
// such as a dialog, may be in no record yet. It returns false when ctx ended first.
func (t *thread) awaitFeedable(ctx context.Context) bool {
	for t.await(ctx, nil, feedable) {
		if t.catchUp(ctx); feedable(t.record()) {
			return ctx.Err() == nil
		}
	}
	return false
}

// refuses reports whether a code is the word of a live agent that it has no such message. An agent that is gone and a
// runtime that is away say nothing of an attempt before, whose turn may be over.
func refuses(code string) bool {
	return code == runtimecode.Blocked || code == runtimecode.AuthRequired || code == runtimecode.NotDelivered
}

// open notes that a message is about to be handed over, unless one was withdrawn since it was read.
func (t *thread) open(ctx context.Context, in *core.QueuedInput, withdrawals int) bool {
	if t.lockFeed(ctx) != nil {
		return false
	}
	defer t.unlockFeed()
	return t.must(ctx, func(c *change) error {
		if c.rec.Withdrawals != withdrawals || c.rec.Ending != nil || in == nil && c.rec.Work == nil || unsent(c.rec) {
			return errUnchanged
		}
		c.open(in)
		return nil
	})
}

// lockFeed waits until nothing else is given to the agent, and its workspace is not being changed. Its owner calls unlockFeed.
func (t *thread) lockFeed(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case t.feeding <- struct{}{}:
		return nil
	}
}

func (t *thread) unlockFeed() { <-t.feeding }

// setRefused notes whether the attempt w waits to be handed over anew, since the agent did not take it: turns are another's
// then, those included that were seen before.
func (t *thread) setRefused(ctx context.Context, w *core.ThreadWork, refused bool) bool {
	return t.must(ctx, func(c *change) error {
		if !unsentAttempt(c.rec, w) || c.rec.Work.Refused == refused && !c.rec.Work.Begun && c.rec.Work.Ended == nil {
			return errUnchanged
		}
		c.setWork(func(w *core.ThreadWork) { w.Refused, w.Begun, w.Ended = refused, false, nil })
		return nil
	})
}

// unsentAttempt reports whether the attempt w of a message is being handed over, and it is not known whether the agent took
// it.
func unsentAttempt(r *core.ThreadRecord, w *core.ThreadWork) bool {
	return unsent(r) && r.Work.InputID == w.InputID && r.Work.Attempt == w.Attempt
}

// awaitTurn waits until a turn of the attempt w was seen to begin or, in whatever way, to end. It returns false when none
// was within limit. The record tells, so that a turn counts which ended while this process was down.
func (t *thread) awaitTurn(ctx context.Context, limit time.Duration, w *core.ThreadWork) bool {
	due, stop := t.s.after(limit)
	defer stop()
	return t.await(ctx, due, func(r *core.ThreadRecord) bool { return turnShown(r, w) })
}

// turnShown reports whether a turn of the attempt w was seen to begin or to end, or the attempt is over.
func turnShown(r *core.ThreadRecord, w *core.ThreadWork) bool {
	now := r.Work
	return now == nil || now.InputID != w.InputID || now.Attempt != w.Attempt || now.Begun || now.Ended != nil
}

// sent notes that the agent has a message, or refused it for good.
func (t *thread) sent(ctx context.Context, in *core.QueuedInput, attempt int, refused string) bool {
	return t.must(ctx, func(c *change) error { return c.sent(in, attempt, refused) })
}

// sent notes that the agent took an attempt of a message. The text stays until its turn is over.
func (c *change) sent(in *core.QueuedInput, attempt int, refused string) error {
	r := c.rec
	if r.Ending != nil || !unsent(r) || r.Work.Attempt != attempt || in != nil && r.Work.Number != in.Number {
		return errUnchanged
	}
	r.LastActivityAt = c.now
	c.setWork(func(w *core.ThreadWork) { w.Taken, w.Refusals = true, 0 })
	if in != nil && r.SentSeq < in.Number {
		r.SentSeq = in.Number
		c.freed += int64(len(in.Message))
	}
	if ended := r.Work.Ended; ended != nil && r.LastTurn != nil && refused == "" && !triesAgain(r, ended) {
		c.event(core.EventThreadStatus, statusData{Status: statusTurnOf, InputID: r.Work.InputID, Turn: r.LastTurn.Turn})
	}
	switch ended := r.Work.Ended; {
	case refused != "":
		c.event(core.EventThreadStatus, statusData{Status: statusRefused, Reason: refused, InputID: r.Work.InputID})
		c.closeWork()
	case ended != nil && !ended.Interrupted:
		c.settleWork(ended)
	}
	c.complete()
	return nil
}
