package threads

import (
	"context"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// attend follows the agent of a thread, gives it its inputs and keeps the time, until the end was decided on, the
// agent is to be started again, or the service closes.
func (t *thread) attend() {
	ctx, cancel := context.WithCancel(t.work)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	r := t.record()
	role := r.Kind == core.ThreadKindRole
	pages := make(chan []core.Event)
	helpers := []func(){func() { t.read(ctx, r.ManagedAgentID, r.AgentSeq, pages) }}
	if !role {
		helpers = append(helpers, func() { t.feed(ctx) }, func() { t.answerPrompts(ctx) })
	}
	for _, help := range helpers {
		wg.Go(func() {
			if !t.s.guard("a part of the supervision of a thread", t.id, help) {
				t.s.pause(ctx, maxRetry)
				cancel() // all parts begin anew
			}
		})
	}
	look := looker{t: t}
	for {
		due, stop := t.s.after(min(t.nextTimer(), lookInterval))
		select {
		case <-ctx.Done():
			stop()
			return
		case page := <-pages:
			if !t.applyAll(ctx, page) {
				stop()
				return
			}
			look.again()
		case <-t.wake:
		case <-due:
			look.look(ctx)
		}
		stop()
		t.checkTimers(ctx)
		if now := t.record(); now.Ending != nil || startsAgain(now) || now.ManagedAgentID == "" {
			return
		}
	}
}

// read hands over the events of the agent, as many at once as are there.
func (t *thread) read(ctx context.Context, agent string, after uint64, pages chan<- []core.Event) {
	events := make(chan core.Event, eventBatch)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() {
		t.stream(ctx, agent, after, events)
	})
	for {
		var page []core.Event
		select {
		case <-ctx.Done():
			return
		case e := <-events:
			page = append(page, e)
		}
		for more := true; more && len(page) < eventBatch; {
			select {
			case e := <-events:
				page = append(page, e)
			default:
				more = false
			}
		}
		select {
		case <-ctx.Done():
			return
		case pages <- page:
		}
	}
}

// stream follows the events of the agent until ctx ends.
func (t *thread) stream(ctx context.Context, agent string, after uint64, events chan<- core.Event) {
	var retry pause.Backoff
	for ctx.Err() == nil {
		stream, err := t.s.opts.ManagedAgents.ManagedAgentEvents(ctx, agent, after)
		for err == nil {
			var e core.Event
			if e, err = stream.Next(ctx); err != nil {
				break
			}
			if e.Seq == 0 || e.Seq <= after {
				continue // live only, or told before
			}
			select {
			case events <- e:
				after = e.Seq
				retry.Reset()
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		if stream != nil {
			stream.Close()
		}
		if ctx.Err() != nil || !t.s.pause(ctx, retry.Next()) {
			return
		}
	}
}

// applyAll applies events in one transaction. It returns false once ctx ended, or nothing more is to be applied.
func (t *thread) applyAll(ctx context.Context, page []core.Event) bool {
	session := t.session(ctx)
	return t.must(ctx, func(c *change) error { return c.applyPage(page, session) })
}

// session is the session of the agent, or "". Some tools tell it only once their first turn runs.
func (t *thread) session(ctx context.Context) string {
	a, err := t.s.opts.ManagedAgents.FindManagedAgent(ctx, t.record().ManagedAgentID)
	if err != nil {
		return ""
	}
	return a.SessionID
}

// applyPage makes of the record what events of the agent say that were not applied yet.
func (c *change) applyPage(page []core.Event, session string) error {
	if c.rec.Ending != nil {
		return errUnchanged
	}
	if session != "" {
		c.rec.SessionID = session
	}
	for i := range page {
		if c.rec.Ending != nil || startsAgain(c.rec) || c.rec.ManagedAgentID == "" {
			break // what follows is read again, or is of no matter
		}
		if page[i].Seq <= c.rec.AgentSeq {
			continue
		}
		c.rec.AgentSeq = page[i].Seq
		c.apply(page[i].Type, readSignal(page[i].Data))
	}
	if c.rec.AgentSeq == c.old.AgentSeq {
		return errUnchanged
	}
	return nil
}

// catchUp applies what is stored of the agent's events, before somebody decides on the end: the record is to tell of
// what was done until then. It tries until that is stored, or ctx ends.
func (t *thread) catchUp(ctx context.Context) {
	var retry pause.Backoff
	for t.catchUpOnce(ctx) != nil && t.s.pause(ctx, retry.Next()) {
		continue
	}
}

// catchUpOnce is catchUp for a caller who waits for an answer: it fails when the store does.
func (t *thread) catchUpOnce(ctx context.Context) error {
	for ctx.Err() == nil {
		r := t.record()
		if r.ManagedAgentID == "" || r.Ending != nil {
			return nil
		}
		page, _, err := t.s.opts.Store.Events(ctx, r.ManagedAgentID, r.AgentSeq, eventBatch)
		if err != nil || len(page) == 0 {
			return err
		}
		session := t.session(ctx)
		if err := t.change(ctx, func(c *change) error { return c.applyPage(page, session) }); err != nil {
			return err
		}
		if t.record().AgentSeq == r.AgentSeq {
			return nil
		}
	}
	return nil
}

// looker finds agents whose end no event told.
type looker struct {
	t    *thread
	gone bool // at the last look
}

// again forgets what was seen: there was a sign of life.
func (l *looker) again() { l.gone = false }

func (l *looker) look(ctx context.Context) {
	t := l.t
	a, err := t.s.opts.ManagedAgents.FindManagedAgent(ctx, t.record().ManagedAgentID)
	gone := core.ErrorCode(err) == core.CodeNotFound || err == nil && a.Gone()
	if !gone || !l.gone { // the last events of an agent have their time to come
		l.gone = gone
		return
	}
	l.gone = false
	if t.record().Kind == core.ThreadKindRole && err == nil && stoppedByHand(a.StatusReason) {
		t.endRole() // a crash kept us from being told
		return
	}
	t.must(ctx, func(c *change) error {
		if c.rec.Ending != nil {
			return errUnchanged
		}
		if err != nil {
			c.lost("")
			return nil
		}
		c.ended(a.StatusReason, a.ExitCode, true)
		return nil
	})
}

// untilAt is how long it is until a time.
func (t *thread) untilAt(at time.Time) time.Duration { return max(0, at.Sub(t.s.clock.Now())) }
