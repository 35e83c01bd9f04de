package audit

import (
	"context"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// What somebody is refused again and again is recorded once, and how often it came again is recorded some time later: a
// flood of requests with a wrong key must not fill the trail.

const (
	foldFor = 10 * time.Second // how long the same refusal is only counted
	maxFold = 4096             // different refusals that are kept apart at a time
)

type foldKey struct{ action, actor, ip string }

// fold is one refusal that may come again.
type foldEntry struct {
	entry core.AuditEntry
	until time.Time
	n     int // times that it came again
}

// folds are the refusals of the last seconds. The zero value is ready.
type folds struct {
	mu      sync.Mutex // guards entries
	entries map[foldKey]*foldEntry
}

// fold reports whether an entry is the same as one a moment ago, and is counted with it.
func (f *folds) fold(e *core.AuditEntry, now time.Time) bool {
	key := foldKey{e.Action, e.Actor.ID, e.Actor.IP}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.entries == nil {
		f.entries = map[foldKey]*foldEntry{}
	}
	if f.entries[key] == nil && len(f.entries) >= maxFold {
		key = foldKey{action: e.Action} // whoever it is
	}
	have := f.entries[key]
	if have != nil && now.Before(have.until) {
		have.n++
		return true
	}
	if have != nil && have.n > 0 {
		return f.carry(have, e, now)
	}
	f.entries[key] = &foldEntry{entry: *e, until: now.Add(foldFor)}
	return false
}

// carry goes on with a refusal whose time is over, and which was counted in between: the entry tells of those.
func (f *folds) carry(have *foldEntry, e *core.AuditEntry, now time.Time) bool {
	e.Details = withRepeats(e.Details, have.n)
	have.entry, have.until, have.n = *e, now.Add(foldFor), 0
	return false
}

func withRepeats(details map[string]any, n int) map[string]any {
	all := map[string]any{"repeated": n}
	for name, value := range details {
		if name != "repeated" {
			all[name] = value
		}
	}
	return all
}

// over returns the records of refusals that came again, and whose time is over; with whatever of all of them.
func (f *folds) over(now time.Time, whatever bool) []core.AuditEntry {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []core.AuditEntry
	for key, have := range f.entries {
		if !whatever && now.Before(have.until) && now.After(have.until.Add(-2*foldFor)) { // not if the clock was set back
			continue
		}
		if have.n > 0 {
			entry := have.entry
			entry.Details = withRepeats(entry.Details, have.n)
			list = append(list, entry)
		}
		delete(f.entries, key)
	}
	return list
}

// unfold has the records of refusals written that came again, and whose time is over; with whatever of all of them.
func (s *Service) unfold(whatever bool) {
	for _, entry := range s.folds.over(s.opts.Clock.Now(), whatever) {
		s.push(s.config.Load(), entry)
	}
}

// seen are the credentials that were used in the last hour. The zero value is ready.
type seen struct {
	mu sync.Mutex // guards at
	at map[seenKey]time.Time
}

type seenKey struct{ actor, key, ip string }

const (
	seenFor = time.Hour
	maxSeen = 20_000
)

// fresh reports whether a use is the first one of an hour.
func (s *seen) fresh(key seenKey, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.at[key]; ok && now.Sub(at) < seenFor && now.Sub(at) >= 0 {
		return false
	}
	if s.at == nil || len(s.at) >= maxSeen {
		s.at = map[seenKey]time.Time{}
	}
	s.at[key] = now
	return true
}

// SignedIn implements core.AuditService.
func (s *Service) SignedIn(ctx context.Context, entry core.AuditEntry, keyID string) error {
	c := s.config.Load()
	key := seenKey{entry.Actor.ID, keyID, entry.Actor.IP}
	if !c.wants(wire.AuditAuthentication) || !s.seen.fresh(key, s.opts.Clock.Now()) {
		return nil
	}
	entry.Category, entry.Outcome = wire.AuditAuthentication, wire.AuditSuccess
	if keyID != "" {
		entry.Details = map[string]any{"keyId": keyID}
	}
	err := s.Record(ctx, entry)
	if err != nil {
		s.seen.forget(key)
	}
	return err
}

// forget makes the next use the first one again.
func (s *seen) forget(key seenKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.at, key)
}
