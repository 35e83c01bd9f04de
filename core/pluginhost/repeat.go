package pluginhost

import (
	"hash/fnv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Pauses between two prints of a warning that a plugin repeats, and how many different ones are known.
const (
	firstRepeat = time.Second
	longRepeat  = 5 * time.Minute
	maxRepeats  = 256
)

// repeats holds back warnings that a plugin says again and again: each comes at once, and then after pauses that grow.
type repeats struct {
	mu   sync.Mutex
	seen map[uint64]*repeat
}

// repeat is a warning that was said.
type repeat struct {
	next  time.Time // from when on it is passed on again
	pause time.Duration
	held  int // since it was passed on last
}

// pass reports whether a line is passed on now, and how many like it were held back before. Lines that differ in digits only
// are alike.
func (r *repeats) pass(level hclog.Level, text string, now time.Time) (ok bool, held int) {
	h := fnv.New64a()
	_, _ = h.Write([]byte{byte(level)}) // never fails
	digit := false
	for _, c := range []byte(text) {
		was := digit
		if digit = c >= '0' && c <= '9'; digit && was {
			continue
		} else if digit {
			c = '0'
		}
		_, _ = h.Write([]byte{c})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := h.Sum64()
	known := r.seen[key]
	if known == nil || now.After(known.next.Add(known.pause)) { // quiet for long: it is news again
		if known == nil {
			r.makeRoom()
		}
		held := 0
		if known != nil {
			held = known.held
		}
		r.seen[key] = &repeat{next: now.Add(firstRepeat), pause: firstRepeat}
		return true, held
	}
	if now.Before(known.next) {
		known.held++
		return false, 0
	}
	held = known.held
	known.pause = min(2*known.pause, longRepeat)
	known.next, known.held = now.Add(known.pause), 0
	return true, held
}

// makeRoom forgets the warning that would be passed on first. mu is held.
func (r *repeats) makeRoom() {
	if r.seen == nil {
		r.seen = make(map[uint64]*repeat)
	}
	if len(r.seen) < maxRepeats {
		return
	}
	var oldest uint64
	var at time.Time
	for key, known := range r.seen {
		if at.IsZero() || known.next.Before(at) {
			oldest, at = key, known.next
		}
	}
	delete(r.seen, oldest)
}
