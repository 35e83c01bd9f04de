package store

import (
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// monitorEvery is how often free space is looked at while there are no writes.
const monitorEvery = time.Second

// errFull stands for the failed commit of a store that was opened for reading only, as the disk is full.
var errFull = errors.New("the disk is full")

// minFiles is how many files must be possible on the file system for writes to be taken: what is written becomes tables, and
// a merge of the largest level that one box has makes a few hundred. Badger cannot be told of one that it could not make:
// it tries again for ever with those of memtables, and goes on without those of a merge.
const minFiles = 1000

// space decides whether there is room to write. All methods are safe for concurrent use.
type space struct {
	min, again uint64 // bytes free below which writes stop, and from which they go on

	mu     sync.Mutex // guards all below
	free   uint64
	files  uint64    // that can still be made
	at     time.Time // of the measurement
	low    bool
	taken  uint64 // what was let in since free was measured for a batch
	failed error  // the commit error that waits for a reopen
	asked  bool   // the reopen is due
}

func newSpace(minFree, total uint64) *space {
	// A fifth above the budget keeps writes from flapping; on a small disk half of what there is above it.
	again := minFree + minFree/4
	if half := minFree + (total-minFree)/2; half < again {
		again = half
	}
	return &space{min: minFree, again: again, files: math.MaxUint64}
}

// observe takes a measurement of free bytes and of files that can be made, and reports whether the store just became
// writable or read-only.
func (s *space) observe(free, files uint64) (turned bool, low bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free, s.files, s.at = free, files, time.Now()
	was := s.low
	if s.low {
		s.low = free < s.again || files < minFiles+minFiles/4
	} else {
		s.low = free < s.min || files < minFiles
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

// reopenDue reports whether the monitor asked, once per asking.
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
	ok := !s.low || maintenance && s.free >= s.min/2 && s.files >= minFiles/2
	s.mu.Unlock()
	if ok {
		return nil
	}
	return s.refusal()
}

// roomFor reports whether the store takes writes, and still would with so many bytes less.
func (s *space) roomFor(bytes uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.low && s.failed == nil && s.free >= s.again+s.taken+bytes
}

// isLow reports whether there is no space for writes.
func (s *space) isLow() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.low
}

// A measurement is good for ampleFor where there is ample room: so much above the budget is not filled by anybody within
// that time.
const (
	ample    = 1 << 30
	ampleFor = 20 * time.Millisecond
)

// isAmple reports whether the last measurement is still good for another batch.
func (s *space) isAmple() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.low && s.failed == nil && s.free >= s.again+s.taken+ample && s.files >= 100*minFiles && time.Since(s.at) < ampleFor
}

// settle says that what was let in until now is part of the measurement.
func (s *space) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = 0
}

// take lets in a closure that writes that many bytes, or returns the error for it: what was let in since the last
// measurement and this must leave the budget alone. Maintenance may use half of it.
func (s *space) take(bytes int64, maintenance bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	floor := s.min
	if maintenance {
		floor /= 2
	}
	need := s.taken + uint64(max(bytes, 0))
	if s.files < minFiles/2 || s.files < minFiles && !maintenance {
		return core.Unavailable("store_read_only", "the store has no room for this: %s", s.lack())
	}
	if s.free < floor || s.free-floor < need {
		return core.Unavailable("store_read_only",
			"the store has no room for this: %d MiB free on disk, of which %d MiB are kept, and %d MiB to write", s.free>>20, floor>>20, need>>20)
	}
	s.taken = need
	return nil
}

func (s *space) refusal() error {
	_, reason := s.state()
	return core.Unavailable("store_read_only", "the store is read-only: %s", reason)
}

func (s *space) state() (readOnly bool, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failed != nil && s.low, errors.Is(s.failed, errFull), s.failed == nil && s.low:
		return true, s.lack()
	case s.failed != nil:
		return true, "a write failed and is being recovered from"
	}
	return false, ""
}

// lack says what there is too little of. The caller holds mu.
func (s *space) lack() string {
	if s.files < minFiles+minFiles/4 {
		return fmt.Sprintf("%d files can still be made on the file system (df -i), %d needed", s.files, minFiles+minFiles/4)
	}
	return fmt.Sprintf("%d MiB free on disk, %d MiB needed", s.free>>20, s.again>>20)
}

// State reports whether writes are refused now, and why, in words for an operator.
func (s *Store) State() (readOnly bool, reason string) {
	s.dbMu.RLock()
	closed := s.closed
	s.dbMu.RUnlock()
	if closed {
		return true, "the store is closed"
	}
	return s.space.state()
}

// measure looks at the free space and the files that can be made. A file system that cannot be asked counts as full.
func (s *Store) measure() {
	free, files, err := s.opts.room(s.opts.Path)
	if err != nil {
		free, files = 0, math.MaxUint64
		s.log.Error("free space of the store", "path", s.opts.Path, "error", err)
	}
	turned, low := s.space.observe(free, files)
	switch {
	case turned && low:
		s.log.Error("store is read-only: disk space low", "free", free, "needed", s.space.again, "files", files)
	case turned:
		s.log.Info("disk space is back", "free", free)
	}
}

// tryReserve is called at open and then only by the monitor. Without reserved blocks the budget of free
// space still protects writes, so a failure is no reason to stop.
func (s *Store) tryReserve() {
	if s.opts.Path == "" {
		return
	}
	if s.reserved == nil {
		s.reserved = map[string]bool{}
	}
	if err := reserveLogs(s.opts.Path, s.reserved); err != nil {
		s.log.Warn("reserve space for the write-ahead log", "error", err)
	}
}

// monitor looks at the disk every second: it turns the store read-only and back while there are no writes, and
// has the writer reopen the database after a failure.
func (s *Store) monitor() {
	defer s.wg.Done()
	s.layBallast() // a disk may be full, and the process gone, before the first look
	for pause.For(s.closing, s.opts.Clock, monitorEvery) {
		s.measure()
		s.tryReserve()
		s.layBallast()
		s.keepNotes(s.closing)
		if s.space.askReopen() {
			s.queue.signal()
		}
	}
}
