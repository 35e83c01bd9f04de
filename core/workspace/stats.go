package workspace

import "sync/atomic"

// Stats are numbers since the start, for metrics.
type Stats struct {
	Fetches int64 // of repositories into their mirrors
	Failed  int64 // of Fetches
}

// fetches counts them.
type fetches struct{ all, failed atomic.Int64 }

func (f *fetches) count(err error) {
	f.all.Add(1)
	if err != nil {
		f.failed.Add(1)
	}
}

// Stats returns how often repositories were fetched.
func (s *Service) Stats() Stats {
	failed := s.fetches.failed.Load() // first: there are never more of them
	return Stats{Fetches: s.fetches.all.Load(), Failed: failed}
}

// GitState returns why git could not be used when it was looked for last: it is missing, or too old. It is known once Open
// returned; nil: all is well.
func (s *Service) GitState() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.gitErr
}
