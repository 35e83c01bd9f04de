package jwt

import (
	"crypto/sha256"
	"sync"
	"time"
)

// Bounds of what is remembered of verified tokens: a key that the issuer withdraws is out of use after seenFor more.
const (
	seenFor = time.Minute
	seenMax = 4096 // in each half
)

// seen remembers tokens that were verified a moment ago, by their hash. It has two halves: what stands in the old one
// and is not asked for goes when the new one is full. The zero value is ready; it is safe for concurrent use.
type seen struct {
	mu       sync.Mutex
	now, old map[[sha256.Size]byte]verified
}

type verified struct {
	who   *Identity
	until time.Time
}

// find returns whom a token speaks for, nil if that is not remembered.
func (s *seen) find(sum [sha256.Size]byte, now time.Time) *Identity {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.now[sum]
	if !ok {
		if v, ok = s.old[sum]; !ok {
			return nil
		}
		delete(s.old, sum)
		s.put(sum, v)
	}
	if !now.Before(v.until) {
		delete(s.now, sum)
		return nil
	}
	return v.who
}

// keep remembers a token until it expires, or for seenFor.
func (s *seen) keep(sum [sha256.Size]byte, who *Identity, now time.Time) {
	until := now.Add(seenFor) // with a monotonic reading, if the clock has one
	if e := who.Expires.Add(Leeway); e.Before(until) {
		until = e
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(sum, verified{who, until})
}

func (s *seen) put(sum [sha256.Size]byte, v verified) {
	if len(s.now) >= seenMax || s.now == nil {
		s.now, s.old = make(map[[sha256.Size]byte]verified), s.now
	}
	s.now[sum] = v
}
