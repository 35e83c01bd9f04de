package store

import (
	"fmt"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// monitorEvery is how often free space is looked at while nobody writes.
const monitorEvery = time.Second

// space decides whether there is room to write. All methods are safe for concurrent use.
type space struct {
	min, again uint64 // bytes free below which writes stop, and from which they go on

	mu     sync.Mutex // guards all below
	free   uint64
	low    bool
	failed error // the commit error that waits for a reopen
	asked  bool  // the reopen is due
}

func newSpace(minFree, total uint64) *space {
	// A fifth above the budget keeps writes from flapping; on a small disk half of what there is above it.
	again := minFree + minFree/4
	if half := minFree + (total-minFree)/2; half < again {
		again = half
	}
	return &space{min: minFree, again: again}
}

// observe takes a measurement and tells whether the store just became writable or read-only.
func (s *space) observe(free uint64) (turned bool, low bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free = free
	was := s.low
	if s.low {
		s.low = free < s.again
	} else {
		s.low = free < s.min
	}
	return s.low != was, s.low
}

func (s *space) fail(cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = cause
}

func (s *space) reopened() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = nil
}

// askReopen has the writer try again if a commit failed and there is room. Only the monitor asks, so that
// a broken device is tried once a second and not with every request.
func (s *space) askReopen() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = s.failed != nil && !s.low
	return s.asked
}

// reopenDue tells whether the monitor asked, once per asking.
func (s *space) reopenDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := s.asked
	s.asked = false
	return due
}

// admit returns the error for a batch that must not be written now, or nil. Maintenance may use half of
// the budget, because it is what makes room.
func (s *space) admit(maintenance bool) error {
	s.mu.Lock()
	ok := !s.low || maintenance && s.free >= s.min/2
	s.mu.Unlock()
	if ok {
		return nil
	}
	return s.refusal()
}

func (s *space) refusal() error {
	_, reason := s.state()
	return core.Unavailable("store_read_only", "the store is read-only: %s", reason)
}

func (s *space) state() (readOnly bool, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failed != nil:
		return true, "a write failed and is being recovered from"
	case s.low:
		return true, fmt.Sprintf("%d MiB free on disk, %d MiB needed", s.free>>20, s.again>>20)
	}
	return false, ""
}

// State tells whether writes are refused now, and why, in words for an operator.
func (s *Store) State() (readOnly bool, reason string) {
	s.dbMu.RLock()
	closed := s.closed
	s.dbMu.RUnlock()
	if closed {
		return true, "the store is closed"
	}
	return s.space.state()
}

// measure looks at the free space. A file system that cannot be asked counts as full.
func (s *Store) measure() {
	free, err := s.opts.DiskFree(s.opts.Path)
	if err != nil {
		free = 0
		s.log.Error("free space of the store", "path", s.opts.Path, "error", err)
	}
	turned, low := s.space.observe(free)
	switch {
	case turned && low:
		s.log.Error("store is read-only: disk space low", "free", free, "needed", s.space.again)
	case turned:
		s.log.Info("disk space is back", "free", free)
	}
}

// openFree is the space below which the store is not opened at all: replaying the write-ahead log writes
// tables through memory maps, and a full disk would kill the process there without a word.
const openFree = 64 << 20

func checkRoom(opts Options) error {
	free, err := opts.DiskFree(opts.Path)
	if err != nil {
		return fmt.Errorf("store: space of %s: %w", opts.Path, err)
	}
	if need := min(openFree, opts.MinFreeBytes); free < need {
		return fmt.Errorf("store: open %s: %d MiB free on disk, %d MiB needed even to read: free some space and start again",
			opts.Path, free>>20, need>>20)
	}
	return nil
}

// tryReserve is called at open and then only by the monitor. Without reserved blocks the budget of free
// space still protects writes, so a failure is no reason to stop.
func (s *Store) tryReserve() {
	if s.reserved == nil {
		s.reserved = map[string]bool{}
	}
	if err := reserveLogs(s.opts.Path, s.reserved); err != nil {
		s.log.Warn("reserve space for the write-ahead log", "error", err)
	}
}

// monitor looks at the disk every second: it turns the store read-only and back while nobody writes, and
// has the writer reopen the database after a failure.
func (s *Store) monitor() {
	defer s.wg.Done()
	tick := make(chan struct{}, 1)
	for {
		timer := s.opts.Clock.AfterFunc(monitorEvery, func() {
			select {
			case tick <- struct{}{}:
			default:
			}
		})
		select {
		case <-s.closing.Done():
			timer.Stop()
			return
		case <-tick:
		}
		s.measure()
		s.tryReserve()
		s.keepNotes(s.closing)
		if s.space.askReopen() {
			s.queue.signal()
		}
	}
}
