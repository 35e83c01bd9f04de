package audit

import (
	"context"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/sdk/audit/trail"
	"github.com/wardroom/wardroom/sdk/wire"
)

// queue holds the entries that no transaction tells of until they are written.
type queue struct {
	wake chan struct{} // holds one
	turn chan struct{} // holds one: whoever writes

	mu       sync.Mutex // guards all below
	waiting  []core.AuditEntry
	lost     int       // since the record that reported them last
	lostFrom time.Time // of the first and the last of them
	lostTo   time.Time
	total    int64     // lost since the start
	alerted  time.Time // when people were alerted last; zero: never
	reported bool      // people were alerted of these
}

// lossAlerts is how long after an alert about records that are lost there is none about others.
const lossAlerts = 5 * time.Minute

// queueChunk is how many entries one transaction writes.
const queueChunk = 256

// Record implements core.AuditService.
func (s *Service) Record(ctx context.Context, entry core.AuditEntry) error {
	c := s.config.Load()
	if !c.wants(entry.Category) || entry.Outcome == wire.AuditFailure && c.Level < Standard {
		return nil
	}
	if entry.Outcome == wire.AuditDenied && s.folds.fold(&entry, s.opts.Clock.Now()) {
		return nil
	}
	if c.Blocking {
		return s.store.RecordAudit(context.WithoutCancel(ctx), func(tx core.AuditTx) error { return s.add(tx, c, []core.AuditEntry{entry}) })
	}
	s.push(c, entry)
	return nil
}

// push has an entry written soon, if there is room.
func (s *Service) push(c *Config, entry core.AuditEntry) {
	q := &s.queue
	q.mu.Lock()
	full := len(q.waiting) >= max(c.Queue, 1)
	if !full {
		q.waiting = append(q.waiting, entry)
	}
	q.mu.Unlock()
	if full {
		s.lose(1)
		return
	}
	pause.Wake(q.wake)
}

// lose counts records that could not be kept.
func (s *Service) lose(n int) {
	now := s.opts.Clock.Now()
	q := &s.queue
	q.mu.Lock()
	if q.lost == 0 {
		q.lostFrom, q.reported = now, false
	}
	q.lost += n
	q.total += int64(n)
	q.lostTo = now
	alert := !q.reported && isDue(q.alerted, lossAlerts, now)
	if alert {
		q.alerted, q.reported = now, true
	}
	q.mu.Unlock()
	s.opts.Metrics.Lost(n)
	if alert {
		s.opts.Alert("audit", "audit records are lost: there is no room for them", map[string]any{"mode": "buffered"})
	}
}

// Lost returns how many records could not be kept since the start.
func (s *Service) Lost() int64 {
	s.queue.mu.Lock()
	defer s.queue.mu.Unlock()
	return s.queue.total
}

// drain writes what waits until Close.
func (s *Service) drain() {
	backoff := pause.Backoff{First: 200 * time.Millisecond, Most: 5 * time.Second}
	for {
		select {
		case <-s.work.Done():
			return
		case <-s.queue.wake:
		}
		for !s.flush(s.work) {
			if !pause.For(s.work, s.opts.Clock, backoff.Next()) {
				return
			}
		}
		backoff.Reset()
	}
}

// flush writes all that waits, and reports whether it could. One at a time does it: drain, and the end of the service.
func (s *Service) flush(ctx context.Context) bool {
	select {
	case s.queue.turn <- struct{}{}:
		defer func() { <-s.queue.turn }()
	case <-ctx.Done():
		return false
	}
	q := &s.queue
	for {
		q.mu.Lock()
		over := len(q.waiting) == 0 && q.lost == 0
		q.mu.Unlock()
		if over {
			return true
		}
		n := 0
		err := s.store.RecordAudit(ctx, func(tx core.AuditTx) (err error) {
			n, err = s.write(tx)
			return err
		})
		if err != nil {
			return false
		}
		if n == 0 {
			return true
		}
	}
}

// write writes the next of what waits, and returns how many entries that were. They wait until it is known that they are stored: what
// waits is looked at once the store takes writes.
func (s *Service) write(tx core.AuditTx) (n int, err error) {
	q, c := &s.queue, s.config.Load()
	q.mu.Lock()
	n = min(len(q.waiting), queueChunk)
	chunk := q.waiting[:n:n]
	lost, from, to := q.lost, q.lostFrom, q.lostTo
	q.mu.Unlock()
	if lost > 0 && c.MaxBytes > 0 && tx.AuditHead().Bytes >= c.MaxBytes {
		lost = 0 // there is no room to note it
	}
	if lost > 0 {
		details := trail.AppendDetails(nil, map[string]any{
			"records": lost, "from": from.UTC().Format(time.RFC3339), "to": to.UTC().Format(time.RFC3339),
		})
		if err := tx.AppendAudit(s.own(trail.ActionLost, details)); err != nil {
			return n, err
		}
		tx.AfterCommit(s.wakeSinks)
	}
	tx.AfterCommit(func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.lost -= lost
		if q.waiting = q.waiting[n:]; len(q.waiting) == 0 {
			q.waiting = nil
		}
	})
	if n == 0 {
		return 0, nil
	}
	return n, s.add(tx, c, chunk)
}
