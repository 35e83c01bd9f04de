package store

import (
	"sync/atomic"
	"time"
)

// Stats is what the store did since it was opened, and how large it is.
type Stats struct {
	Commits    int64         // synced batches
	Updates    int64         // closures that they held
	Keys       int64         // written by those closures
	Events     int64         // appended
	Failures   int64         // commits that failed
	CommitTime time.Duration // sum over Commits
	LastCommit time.Duration

	FreeBytes  uint64 // on the store's file system, as last measured
	LSMBytes   int64  // sorted tables
	ValueBytes int64  // value log
	Active     int    // executions that are not terminal
}

type counters struct {
	commits, updates, keys, events, failures atomic.Int64
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
	}
	s.space.mu.Lock()
	st.FreeBytes = s.space.free
	s.space.mu.Unlock()
	s.state.mu.RLock()
	st.Active = len(s.state.active)
	s.state.mu.RUnlock()
	s.dbMu.RLock()
	defer s.dbMu.RUnlock()
	if s.db != nil {
		_, st.ValueBytes = s.db.Size() // as of the last minute
		for _, level := range s.db.Levels() {
			st.LSMBytes += level.Size
		}
	}
	return st
}
