package store

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// What retention removes is decided by the wall clock, and a clock may be wrong: a machine without a battery starts in
// another year, one that is restored from a snapshot in another month. So the store keeps the time that it saw last
// (keyClock), and a step forward of more than clockLeap is a time in which nothing is known to have passed: what was
// there before it ages by that much less. A step found at the start may be nothing but the time in which the machine
// was off: it counts as passed once the clock went on for clockGrace without being set back. One while the process
// runs never does: either clock was wrong. What passed by the monotonic clock meanwhile, however long ago the last look
// was, is no part of a step. A step back takes back the steps forward.

const (
	// clockLeap is how far the clock may go forward from one look to the next, or over a restart, and be believed.
	clockLeap = 36 * time.Hour
	// clockBack is how far it may go back without that being a step.
	clockBack = time.Hour
	// clockGrace is how long a step over a restart is doubted.
	clockGrace = 24 * time.Hour
	// clockKeep is how old what is on disk of the clock may be.
	clockKeep = 10 * time.Minute
	// maxClockSteps bounds the steps that are kept.
	maxClockSteps = 64
)

// clockStep is a step of the clock forward by which no time is known to have passed.
type clockStep struct {
	From  time.Time     `json:"from"` // what the clock said before
	By    time.Duration `json:"by"`
	Start bool          `json:"start,omitempty"` // it was found at a start
	Seen  time.Duration `json:"seen,omitempty"`  // how long the clock went on since; of a step found at a start
}

// clockBook is what is known of the clock. The zero value knows nothing.
type clockBook struct {
	mu    sync.Mutex // guards all below
	last  time.Time  // seen last, in UTC
	seen  time.Time  // the same with its monotonic reading
	steps []clockStep
	kept  time.Time // last, as it is on disk
	dirty bool      // steps are not
}

// clockRecord is the record under keyClock.
type clockRecord struct {
	Last  time.Time   `json:"last"`
	Steps []clockStep `json:"steps,omitempty"`
}

// begin takes over what the process before knew, and looks at the clock. newest is the time of the newest record, for a
// store that knows nothing of the clock; zero if there is none.
func (b *clockBook) begin(r clockRecord, newest, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last, b.steps = r.Last, r.Steps
	if b.last.IsZero() {
		b.last = newest
	}
	if b.last.IsZero() {
		b.last = now.UTC()
	}
	b.look(now, true)
}

// observe looks at the clock; now has a monotonic reading.
func (b *clockBook) observe(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.look(now, false)
}

// look takes in what the clock says. mu is held.
func (b *clockBook) look(now time.Time, starting bool) {
	wall, passed := now.UTC(), time.Duration(0)
	if !starting && monotonic(now) && monotonic(b.seen) {
		passed = max(now.Sub(b.seen), 0)
	}
	went := wall.Sub(b.last)
	switch stepped := went - passed; {
	case stepped > clockLeap:
		b.steps = append(b.steps, clockStep{From: b.last, By: stepped, Start: starting})
		if len(b.steps) > maxClockSteps {
			b.steps[1].By += b.steps[0].By
			b.steps = slices.Delete(b.steps, 0, 1)
		}
		b.dirty = true
	case stepped < -clockBack:
		for back := -stepped; back > 0 && len(b.steps) > 0; {
			newest := &b.steps[len(b.steps)-1]
			taken := min(newest.By, back)
			newest.By, back = newest.By-taken, back-taken
			if newest.By < clockLeap {
				b.steps = b.steps[:len(b.steps)-1]
			}
		}
		b.dirty = true
	case went < 0:
		return
	case !starting:
		b.steps = slices.DeleteFunc(b.steps, func(s clockStep) bool { return s.Start && s.Seen+went >= clockGrace })
		for i := range b.steps {
			if b.steps[i].Start {
				b.steps[i].Seen += went
			}
		}
	}
	b.last, b.seen = wall, now
}

// monotonic reports whether a time has a monotonic reading.
func monotonic(t time.Time) bool { return t != t.Round(0) }

// all returns the steps.
func (b *clockBook) all() []clockStep {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.steps)
}

// ClockStep is a step forward of the wall clock that retention does not take for time that passed.
type ClockStep struct {
	From time.Time
	By   time.Duration
	// Until is how much longer the clock must go on to be believed; 0 for a step while the process ran, which never is.
	Until time.Duration
}

// ClockSteps returns the steps that retention leaves out, oldest first. RunMaintenance looks at the clock.
func (s *Store) ClockSteps() []ClockStep {
	var list []ClockStep
	for _, step := range s.clock.all() {
		c := ClockStep{From: step.From, By: step.By}
		if step.Start {
			c.Until = max(clockGrace-step.Seen, time.Second)
		}
		list = append(list, c)
	}
	return list
}

// Older implements core.OlderFunc: what was there before a step of the clock that is in doubt is younger by it.
func (s *Store) Older(since time.Time, age time.Duration) bool {
	now := s.opts.Clock.Now()
	s.clock.observe(now)
	return cutoff{before: now.Add(1 - age), now: now, steps: s.clock.all()}.passed(since)
}

// beginClock reads what earlier processes knew of the clock.
func (s *Store) beginClock(ctx context.Context) error {
	return s.view(ctx, func(txn kv.Snapshot) error {
		value, err := get(txn, []byte(keyClock))
		if err != nil {
			return err
		}
		var r clockRecord
		if value != nil {
			if err := decodeJSON("clock", keyClock, value, &r); err != nil {
				s.note([]byte(keyClock), asDamage(err)) // as if it had not been there
				r = clockRecord{}
			}
		}
		now := s.opts.Clock.Now()
		newest := time.Time{}
		if r.Last.IsZero() {
			if newest, err = newestTime(txn, now.Add(100*365*24*time.Hour)); err != nil {
				return err
			}
		}
		s.clock.begin(r, newest, now)
		return nil
	})
}

// keepClock writes what is known of the clock, if it is not on disk as it is. Failures are made good by a later call.
func (s *Store) keepClock(ctx context.Context) {
	b := &s.clock
	b.mu.Lock()
	record := clockRecord{b.last, slices.Clone(b.steps)}
	due := b.dirty || b.last.Sub(b.kept).Abs() >= clockKeep
	b.mu.Unlock()
	if !due {
		return
	}
	value, err := json.Marshal(record)
	if err == nil {
		err = s.update(ctx, true, func(t *tx) error { return t.set([]byte(keyClock), value) })
	}
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = record.Last
	b.dirty = !slices.Equal(b.steps, record.Steps)
}

// newestTime returns the time of the newest id or public event that is before a bound; zero if there is none.
func newestTime(txn kv.Snapshot, bound time.Time) (newest time.Time, err error) {
	for _, table := range tables {
		if table.noun == nil {
			continue
		}
		_, prefix := table.noun.names()
		if prefix == "" {
			continue
		}
		end := appendKey(nil, table.prefix, core.IDBound(prefix, bound))
		err := scanBack(txn, appendKey(nil, table.prefix, prefix), end, func(key []byte) (bool, error) {
			at, ok := core.IDTime(string(key[len(table.prefix):]))
			if ok && at.After(newest) {
				newest = at
			}
			return !ok, nil
		})
		if err != nil {
			return newest, err
		}
	}
	looked := 0
	err = scanBack(txn, []byte(prefixLog), nil, func(key []byte) (bool, error) {
		subject, err := get(txn, key)
		if err != nil {
			return false, err
		}
		stored, err := get(txn, appendJournalKey(nil, string(subject), lastUint64(key)))
		if err != nil {
			return false, err
		}
		e, err := decodeEvent("", 0, stored)
		if err == nil && e.Time.Before(bound) {
			if e.Time.After(newest) {
				newest = e.Time
			}
			return false, nil
		}
		looked++
		return looked < retainKeys, nil
	})
	return newest, err
}

// NewestTime returns the time of the newest record, so that ids of new ones can be made to sort after it while the clock
// is behind; zero if there is none. What was stamped while the clock was far ahead is left out.
func (s *Store) NewestTime(ctx context.Context) (newest time.Time, err error) {
	s.clock.mu.Lock()
	bound := s.clock.last
	for _, step := range s.clock.steps {
		if step.Start && step.From.Before(bound) {
			bound = step.From
		}
	}
	s.clock.mu.Unlock()
	if now := s.opts.Clock.Now(); now.After(bound) {
		bound = now
	}
	err = s.view(ctx, func(txn kv.Snapshot) (err error) {
		newest, err = newestTime(txn, bound.Add(clockLeap))
		return err
	})
	return newest, err
}
