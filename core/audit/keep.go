package audit

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/sdk/audit/trail"
)

const (
	keepEvery   = 5 * time.Second // looks at what is due
	retainEvery = time.Hour
	retainFull  = time.Minute // while the trail is nearly full, and sinks take nothing
)

// keep signs, retires and looks after sinks until Close.
func (s *Service) keep() {
	signed, retained := s.opts.Clock.Now(), s.opts.Clock.Now()
	for s.pauseToKeep() {
		now := s.opts.Clock.Now()
		s.unfold(false)
		s.queue.signal() // what was lost is reported as soon as there is room
		if now.Sub(signed) >= checkpointAfter || now.Before(signed) {
			signed = now
			s.checkpoint(s.work)
		}
		since := now.Sub(retained)
		if since >= retainEvery || since < 0 || since >= retainFull && s.crowded() {
			retained = now
			s.retain(s.work)
		}
		for _, k := range s.all() {
			k.look(now)
		}
	}
}

// pauseToKeep waits for the next look, and meanwhile makes room for new records whenever sinks took enough. It returns false at Close.
func (s *Service) pauseToKeep() bool {
	due, stop := pause.After(s.opts.Clock, keepEvery)
	defer stop()
	for {
		select {
		case <-s.work.Done():
			return false
		case <-due:
			return true
		case <-s.taken:
			if s.crowded() && s.roomToGain() {
				s.retain(s.work)
			}
		}
	}
}

// sinkTook has room made for new records if there is little, once a sink took some.
func (s *Service) sinkTook() {
	if !s.crowded() {
		return
	}
	pause.Wake(s.taken)
}

// minTrim is how many records of a full trail go at once, or as many as stay where those are fewer.
const minTrim = 16

// roomToGain reports whether enough of a crowded trail can go to be worth the record of that: a twentieth of it, or a few records
// once nothing more finds room.
func (s *Service) roomToGain() bool {
	head := s.store.AuditHead()
	through := s.deliveredBy(head)
	if through < head.First {
		return false
	}
	removed, left := through-head.First+1, head.Sequence-through
	return (head.Bytes >= s.config.Load().MaxBytes && removed >= min(minTrim, left)) || removed*20 >= removed+left
}

// deliveredBy returns the last record that every sink has, and that is not the newest.
func (s *Service) deliveredBy(head core.AuditHead) uint64 {
	through := head.Sequence - 1
	for _, k := range s.all() {
		through = min(through, k.delivered())
	}
	return through
}

// signal wakes the queue if something is to be reported.
func (q *queue) signal() {
	q.mu.Lock()
	due := len(q.waiting) > 0 || q.lost > 0
	q.mu.Unlock()
	if due {
		pause.Wake(q.wake)
	}
}

// crowded reports whether the trail takes nine tenths of what it may.
func (s *Service) crowded() bool {
	c := s.config.Load()
	return c.MaxBytes > 0 && s.store.AuditHead().Bytes >= c.MaxBytes/10*9
}

// slack is how much longer than retention says records may be kept, so that each look does not remove a few of them and
// write a record of that.
func slack(retention time.Duration) time.Duration { return min(retention/20, 24*time.Hour) }

// retain removes the oldest records: those that are too old, and, where the trail is crowded, those that every sink has.
// Nothing goes that a sink lacks, and not the newest record, which the next one is chained to.
func (s *Service) retain(ctx context.Context) {
	c := s.config.Load()
	head := s.store.AuditHead()
	if head.Sequence <= head.First {
		return
	}
	delivered := s.deliveredBy(head)
	tell := func(through uint64, removed int) core.AuditSeal {
		return s.own(trail.ActionTrim, trail.AppendDetails(nil, map[string]any{"through": through, "removed": removed}))
	}
	removed := 0
	trim := func(old func(at time.Time) bool) bool {
		n, err := s.store.TrimAudit(ctx, delivered, old, tell)
		removed += n
		if err != nil && ctx.Err() == nil {
			s.log.Error("retention of the audit trail failed", "error", err)
		}
		return err == nil
	}
	// When a record of the future happened follows from those behind it alone.
	oldest := s.timeOf(head.First)
	if c.Retention > 0 && (oldest.After(s.opts.Clock.Now()) || s.opts.Older(oldest, c.Retention+slack(c.Retention))) {
		if !trim(func(at time.Time) bool { return s.opts.Older(at, c.Retention) }) {
			return
		}
	}
	if len(s.all()) > 0 && s.crowded() {
		now := s.store.AuditHead()
		room, each := now.Bytes-c.MaxBytes/10*8, now.Bytes/int64(now.Sequence-now.First+1)
		trim(func(time.Time) bool {
			room -= each // about what a record takes; the next look sees to the rest
			return room > 0
		})
	}
	if removed > 0 {
		s.log.Info("retention of the audit trail", "removed", removed)
	}
}
