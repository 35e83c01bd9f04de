package threads

import (
	"context"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/core"
)

// feedable tells whether the agent waits for the next message of the queue.
func feedable(r *core.ThreadRecord) bool {
	return r.Ending == nil && r.InputSeq > r.SentSeq && (r.Status == core.ThreadReady || r.Status == core.ThreadIdle)
}

// feed gives the agent the messages of the queue, one at a time and in their order, until ctx ends.
func (t *thread) feed(ctx context.Context) {
	var page []*core.QueuedInput
	var retry backoff
	for t.await(ctx, nil, feedable) {
		sent := t.record().SentSeq
		for len(page) > 0 && page[0].Number <= sent {
			page = page[1:]
		}
		if len(page) == 0 || page[0].Number != sent+1 {
			var err error
			if page, err = t.s.opts.Store.QueuedInputs(ctx, t.id, sent, inputPage); err != nil || len(page) == 0 {
				if err != nil {
					t.log.Warn("the messages of a thread cannot be read yet", "error", err)
				}
				if !t.s.pause(ctx, retry.next()) {
					return
				}
				continue
			}
		}
		retry = 0
		began, turns := t.turnsSeen()
		if !t.give(ctx, page[0]) {
			return
		}
		if t.record().SentSeq < page[0].Number {
			page = nil // it is to be given again, under another id
		}
		// What comes before the turn is known to run would be taken for an answer, should the turn need a login.
		if !t.tookOne(ctx, turnShows, began, turns) && ctx.Err() != nil {
			return
		}
	}
}

// give hands one message over and notes that. It returns false when ctx ended first.
func (t *thread) give(ctx context.Context, in *core.QueuedInput) bool {
	key := in.ID
	resends := 0
	var retry backoff
	for {
		began, turns := t.turnsSeen()
		t.mu.Lock()
		t.given = in
		t.mu.Unlock()
		_, err := t.s.opts.ManagedAgents.SendManagedAgent(ctx, t.record().ManagedAgentID, core.ManagedAgentInput{
			Message: in.Message, Timeout: sendLimit, Key: key,
		})
		if ctx.Err() != nil {
			return false
		}
		code := runtimeCode(err)
		switch {
		case err == nil, code == codeInvalidArgument && fieldOf(err) == "id":
			return t.sent(ctx, in, "")
		case code == codeDeliveryUnknown:
			if t.tookOne(ctx, settleTime, began, turns) {
				return t.sent(ctx, in, "")
			}
			resends++
			key = in.ID + "." + strconv.Itoa(resends+1)
			continue
		case core.ErrorCode(err) == core.CodeValidation:
			t.log.Warn("an agent refuses a message for good", "input", in.ID, "error", err)
			return t.sent(ctx, in, clip(core.AsError(err).Message, maxSummary))
		}
		t.log.Debug("a message is not taken yet", "input", in.ID, "error", err)
		if !t.s.pause(ctx, retry.next()) || !t.await(ctx, nil, feedable) {
			return false
		}
	}
}

// turnsSeen returns how many turns were seen to begin in this life of ours, and how many ended.
func (t *thread) turnsSeen() (began, ended int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.busySeen, t.record().TurnCount
}

// tookOne finds out about a message of which it is not known whether it was taken: if a turn begins soon, or began
// since, it was.
func (t *thread) tookOne(ctx context.Context, limit time.Duration, began, turns int) bool {
	due, stop := t.s.after(limit)
	defer stop()
	return t.await(ctx, due, func(r *core.ThreadRecord) bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return t.busySeen > began || r.TurnCount > turns
	})
}

// sent notes that the agent has a message, or refused it for good.
func (t *thread) sent(ctx context.Context, in *core.QueuedInput, refused string) bool {
	return t.must(ctx, func(c *change) error { return c.sent(in, refused) })
}

func (c *change) sent(in *core.QueuedInput, refused string) error {
	r := c.rec
	if r.Ending != nil || r.SentSeq >= in.Number {
		return errUnchanged
	}
	r.LastActivityAt = c.now
	if c.again == in.ID {
		c.requeue(in)
		return nil
	}
	r.SentSeq = in.Number
	if refused != "" {
		c.event(core.EventThreadStatus, statusData{Status: statusRefused, Reason: refused})
	}
	id, upTo := c.t.id, in.Number
	c.extra = append(c.extra, func(tx core.Tx) error { return tx.DeleteInputs(id, upTo) })
	c.freed += int64(len(in.Message))
	c.complete()
	return nil
}

// requeue puts a message whose turn a login cut off back to the head of the queue. Its agent knows the old id.
func (c *change) requeue(in *core.QueuedInput) {
	again := *in
	again.ID = c.t.s.opts.IDs.New(core.PrefixInput)
	if c.rec.SentSeq == in.Number {
		c.freed -= int64(len(in.Message))
	}
	c.rec.SentSeq = in.Number - 1
	c.extra = append(c.extra, func(tx core.Tx) error { return tx.PutInput(&again) })
}
