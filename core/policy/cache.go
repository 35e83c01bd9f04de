package policy

import (
	"hash/maphash"
	"sync"

	"github.com/wardroom/wardroom/core"
)

// Bounds of the cache: its parts are emptied when they are full, which costs each question one decision more.
const (
	cacheParts = 16
	partSize   = 1024
	maxKept    = 4 << 10 // bytes of a question and its answer; longer ones are decided each time
)

// decisions keeps answers. The zero value is ready; it goes with its policy.
type decisions struct {
	seed  maphash.Seed
	once  sync.Once
	parts [cacheParts]struct {
		mu      sync.RWMutex // guards answers
		answers map[string]core.Ruling
	}
}

func (d *decisions) part(key string) int {
	d.once.Do(func() { d.seed = maphash.MakeSeed() })
	return int(maphash.String(d.seed, key) % cacheParts)
}

func (d *decisions) get(key string) (core.Ruling, bool) {
	part := &d.parts[d.part(key)]
	part.mu.RLock()
	defer part.mu.RUnlock()
	r, ok := part.answers[key]
	return r, ok
}

func (d *decisions) put(key string, r core.Ruling) {
	if len(key)+len(r.Reason)+len(r.Scope) > maxKept {
		return
	}
	part := &d.parts[d.part(key)]
	part.mu.Lock()
	defer part.mu.Unlock()
	if part.answers == nil || len(part.answers) >= partSize {
		part.answers = make(map[string]core.Ruling, partSize/8)
	}
	part.answers[key] = r
}
