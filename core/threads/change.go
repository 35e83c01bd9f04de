package threads

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/clip"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/sdk/wire"
)

// change is a transaction in the making: what a thread becomes, and what follows from that.
type change struct {
	t   *thread
	now time.Time
	by  string // principal whom its events are put down to
	old *core.ThreadRecord
	rec *core.ThreadRecord // a copy that may be changed; what it points to is replaced, never changed

	said       []string // this and the next become the thread's
	starts     int
	freed      int64 // bytes of messages that left the queue, less those that came
	events     []core.Event
	decisions  []*core.Decision
	experience *core.Experience
	extra      []func(tx core.Tx) error
	last       func(tx core.Tx) error // behind everything else, or nil
	after      []func()               // called once the change is stored, in order, without locks
}

// errUnchanged is that there is nothing to store.
var errUnchanged = errors.New("nothing changed")

// event adds an event of the thread.
func (c *change) event(kind core.EventType, data any) {
	raw, err := json.Marshal(data)
	if err != nil { // an agent's tool input with a value that JSON does not have
		raw = json.RawMessage("{}")
	}
	c.events = append(c.events, core.Event{
		Type: kind, Time: c.now, Subject: c.t.id, Group: core.ThreadGroup(c.t.execution), Data: raw, By: c.by,
	})
	if slices.Contains(core.PersistedThreadEvents, kind) {
		c.rec.EventCount++
	}
}

// change stores what fn makes of the record. An error of fn is returned as it is, and nothing is stored.
func (t *thread) change(ctx context.Context, fn func(c *change) error) error {
	c, err := func() (*change, error) {
		t.writing.Lock()
		defer t.writing.Unlock()
		return t.store(ctx, fn)
	}()
	if err != nil || c == nil {
		return err
	}
	for _, f := range c.after {
		f()
	}
	t.touch()
	return nil
}

// store is change for a caller that holds writing, and that calls what is to follow.
func (t *thread) store(ctx context.Context, fn func(c *change) error) (*change, error) {
	old := t.record()
	next := *old
	c := &change{t: t, now: t.s.clock.Now(), by: core.PrincipalFrom(ctx).ID, old: old, rec: &next, said: t.said, starts: t.starts}
	if err := fn(c); err != nil {
		if errors.Is(err, errUnchanged) {
			return nil, nil
		}
		return nil, err
	}
	c.forgetAnswer()
	next.UpdatedAt = c.now
	next.QueuedInputs = waits(&next)
	// Once begun, the transaction is awaited: what is stored and what is known never differ.
	err := t.s.opts.Store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		for _, f := range c.extra {
			if err := f(tx); err != nil {
				return err
			}
		}
		if err := tx.PutThread(c.rec); err != nil {
			return err
		}
		for _, d := range c.decisions {
			if err := t.s.opts.Memory.KeepDecision(tx, d); err != nil {
				return err
			}
		}
		if c.experience != nil {
			if err := t.s.opts.Memory.KeepExperience(tx, c.experience); err != nil {
				return err
			}
		}
		// Who asks at an event finds the thread that it tells of.
		tx.AfterCommit(func() { t.rec.Store(c.rec) })
		if len(c.events) > 0 {
			if err := tx.Append(c.events...); err != nil {
				return err
			}
		}
		if c.last != nil {
			return c.last(tx)
		}
		return nil
	})
	if err = t.s.outcome(err, c.landed); err != nil {
		return nil, err
	}
	t.rec.Store(c.rec) // it is already, unless the outcome was in doubt
	t.said, t.starts = c.said, c.starts
	t.waiting -= c.freed
	if c.experience != nil {
		t.s.opts.Memory.Kept(c.experience)
	}
	if old.Ending == nil && next.Ending != nil {
		t.workDone()
	}
	return c, nil
}

// must is change that tries until it can be stored, or ctx ends: then it returns false.
func (t *thread) must(ctx context.Context, fn func(c *change) error) bool {
	var retry pause.Backoff
	for {
		if ctx.Err() != nil {
			return false
		}
		err := t.change(ctx, fn)
		if err == nil {
			return true
		}
		if retry.Fresh() {
			t.log.Warn("a thread cannot be stored yet", "error", err)
		}
		if !t.s.pause(ctx, retry.Next()) {
			return false
		}
	}
}

// note adds a decision that the system writes.
func (c *change) note(category, summary string, details any) {
	if summary == "" {
		return
	}
	var raw json.RawMessage
	if details != nil {
		if data, err := json.Marshal(details); err == nil {
			raw = data
		}
	}
	c.decisions = append(c.decisions, &core.Decision{
		Decision: wire.Decision{
			ExecutionID: c.t.execution, ThreadID: c.t.id, Category: category, Summary: clip.Text(summary, maxSummary), Details: raw,
			CreatedBy: core.System.ID, CreatedAt: c.now, Count: 1,
		},
	})
}

// end decides how the thread is to end. The first decision counts.
func (c *change) end(e core.ThreadEnding) {
	r := c.rec
	if r.Ending != nil || r.Status.Terminal() {
		return
	}
	e.By = c.by
	r.Ending = &e
	r.Prompt, r.LoginURL, r.IdleSince, r.RetryAt = nil, "", nil, nil
	r.StatusReason = e.Reason
	if e.Status == core.ThreadCompleted {
		r.Status, r.StatusReason = core.ThreadRunning, core.ThreadReasonFinishing
		c.event(core.EventThreadStatus, statusData{Status: core.ThreadReasonFinishing})
	}
}

// fail decides that the thread failed.
func (c *change) fail(reason string, err *core.ThreadError) {
	c.end(core.ThreadEnding{Status: core.ThreadFailed, State: core.CompletionFailed, Reason: reason, Error: err})
}
