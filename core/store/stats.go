package store

import (
	"sync"
	"sync/atomic"
	"time"
)

// Stats counts what the store did since it was opened, and says how large it is.
type Stats struct {
	Commits    int64         // synced batches
	Updates    int64         // closures that they held
	Keys       int64         // written by those closures
	Events     int64         // appended
	Failures   int64         // commits that failed
	CommitTime time.Duration // sum over Commits
	LastCommit time.Duration

	Maintained int64 // looks of RunMaintenance at the clock and at what is due

	FreeBytes  uint64 // on the store's file system, as last measured
	LSMBytes   int64  // sorted tables
	ValueBytes int64  // value log
	Active     int    // executions that are not terminal
}

type counters struct {
	commits, updates, keys, events, failures atomic.Int64
	maintained                               atomic.Int64
	commitTime, lastCommit                   atomic.Int64 // nanoseconds
}

func (c *counters) committed(updates, keys, events int, took time.Duration) {
	c.commits.Add(1)
	c.updates.Add(int64(updates))
	c.keys.Add(int64(keys))
	c.events.Add(int64(events))
	c.commitTime.Add(int64(took))
	c.lastCommit.Store(int64(took))
}

// Stats returns the store's figures. It reads memory only.
func (s *Store) Stats() Stats {
	c := &s.stats
	st := Stats{
		Commits:    c.commits.Load(),
		Updates:    c.updates.Load(),
		Keys:       c.keys.Load(),
		Events:     c.events.Load(),
		Failures:   c.failures.Load(),
		CommitTime: time.Duration(c.commitTime.Load()),
		LastCommit: time.Duration(c.lastCommit.Load()),
		Maintained: c.maintained.Load(),
	}
	s.space.mu.Lock()
	st.FreeBytes = s.space.free
	s.space.mu.Unlock()
	s.state.mu.RLock()
	st.Active = len(s.state.active)
	s.state.mu.RUnlock()
	s.dbMu.RLock()
	defer s.dbMu.RUnlock()
	if db := badgerOf(s.db); db != nil {
		_, st.ValueBytes = db.Size() // as of the last minute
		for _, level := range db.Levels() {
			st.LSMBytes += level.Size
		}
	}
	return st
}

// RetentionFailure is a kind of records that retention could not go through.
type RetentionFailure struct {
	Kind   string
	Count  int64     // of runs that failed, since the store was opened
	Since  time.Time // of the first of those that failed in a row; zero if the last run went through
	Reason string    // of the last that failed
}

// retentionState is how retention went, by kind. The zero value is ready.
type retentionState struct {
	mu    sync.Mutex // guards all below
	kinds map[string]RetentionFailure
}

// note notes how a run went through a kind.
func (r *retentionState) note(kind string, err error, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f, known := r.kinds[kind]
	switch {
	case err != nil:
		f.Kind, f.Count, f.Reason = kind, f.Count+1, oneLine(err.Error())
		if f.Since.IsZero() {
			f.Since = now
		}
	case !known:
		return
	default:
		f.Since = time.Time{}
	}
	if r.kinds == nil {
		r.kinds = map[string]RetentionFailure{}
	}
	r.kinds[kind] = f
}

// RetentionFailures returns the kinds that retention could not go through since the store was opened, in the order of
// RetentionKinds.
func (s *Store) RetentionFailures() []RetentionFailure {
	s.retention.mu.Lock()
	defer s.retention.mu.Unlock()
	var list []RetentionFailure
	for _, kind := range RetentionKinds {
		if f, ok := s.retention.kinds[kind]; ok {
			list = append(list, f)
		}
	}
	return list
}
