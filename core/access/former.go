package access

import (
	"slices"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// formers knows when the former secrets of keys end that were rotated since the start. What was begun by one before that has no end
// of its own to go by. The zero value is ready.
type formers struct {
	mu    sync.Mutex             // guards all below
	ends  map[string][]time.Time // by key, to come
	ended uint64
}

// set notes the secrets of a key as they are now.
func (f *formers) set(rec *core.APIKeyRecord) {
	var ends []time.Time
	for _, h := range rec.Hashes {
		if h.Until != nil {
			ends = append(ends, *h.Until)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case len(ends) == 0:
		delete(f.ends, rec.ID)
	case f.ends == nil:
		f.ends = map[string][]time.Time{}
		fallthrough
	default:
		f.ends[rec.ID] = ends
	}
}

// endedAt returns how many ended until a time.
func (f *formers) endedAt(now time.Time) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, ends := range f.ends {
		left := slices.DeleteFunc(ends, func(end time.Time) bool { return !now.Before(end) })
		f.ended += uint64(len(ends) - len(left))
		if f.ends[id] = left; len(left) == 0 {
			delete(f.ends, id)
		}
	}
	return f.ended
}

// EndedSecrets returns how many former secrets of keys ended by themselves since the start. When it grows, somebody whom Refresh
// let go on may not go on any more.
func (s *Service) EndedSecrets() uint64 { return s.formers.endedAt(s.opts.Clock.Now()) }
