package agents

import "sync/atomic"

// counters count since the start of the process.
type counters struct {
	sessions    atomic.Int64
	framesRead  atomic.Int64
	framesSent  atomic.Int64
	badFrames   atomic.Int64
	rateLimited atomic.Int64
	overflows   atomic.Int64
	resumes     atomic.Int64
}

// Stats are counts for metrics; all but Sessions and Connected rise for ever.
type Stats struct {
	Sessions    int64 // open connections, registered or not
	FramesRead  int64
	FramesSent  int64
	BadFrames   int64
	RateLimited int64 // frames dropped for their rate
	Overflows   int64 // sessions closed for a full send queue
	Resumes     int64
	// Connected counts agents with status connected by region; the empty region is "".
	Connected map[string]int
}

// Stats returns the counts; it is meant for a scrape, not for a hot path.
func (s *Service) Stats() Stats {
	out := Stats{
		Sessions:    s.counters.sessions.Load(),
		FramesRead:  s.counters.framesRead.Load(),
		FramesSent:  s.counters.framesSent.Load(),
		BadFrames:   s.counters.badFrames.Load(),
		RateLimited: s.counters.rateLimited.Load(),
		Overflows:   s.counters.overflows.Load(),
		Resumes:     s.counters.resumes.Load(),
		Connected:   map[string]int{},
	}
	for _, a := range s.all() {
		a.mu.Lock()
		if a.presence != gone {
			out.Connected[a.region]++
		}
		a.mu.Unlock()
	}
	return out
}
