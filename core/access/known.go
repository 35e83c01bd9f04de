package access

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// ids knows the ids of all keys, so that who guesses costs no look at the store while a good key is found. It is read from
// the store when it is needed first. The zero value is ready.
type ids struct {
	loading sync.Mutex // one load at a time

	mu     sync.RWMutex // guards all below
	loaded bool
	set    map[string]struct{}
}

func (i *ids) add(id string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.set == nil {
		i.set = map[string]struct{}{}
	}
	i.set[id] = struct{}{}
}

func (i *ids) drop(gone []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, id := range gone {
		delete(i.set, id)
	}
}

// has reports whether there may be a key of an id. While the ids cannot be read, there may be one of each.
func (i *ids) has(ctx context.Context, store Store, id string) bool {
	if found, loaded := i.look(id); loaded || found {
		return found
	}
	i.loading.Lock()
	defer i.loading.Unlock()
	if found, loaded := i.look(id); loaded || found {
		return found
	}
	for page := (core.Page{Limit: core.MaxPageLimit}); ; {
		list, info, err := store.FindAPIKeys(ctx, core.APIKeyFilter{Page: page})
		if err != nil {
			return true
		}
		for _, rec := range list {
			i.add(rec.ID)
		}
		if page.Cursor = info.NextCursor; page.Cursor == "" {
			break
		}
	}
	i.mu.Lock()
	i.loaded = true
	i.mu.Unlock()
	found, _ := i.look(id)
	return found
}

func (i *ids) look(id string) (found, loaded bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	_, found = i.set[id]
	return found, i.loaded
}

// maxAccepted bounds the tokens that are remembered as good. Beyond that any of them go.
const maxAccepted = 10_000

// accepted remembers tokens that were good, by their hashes, until they end. The zero value is ready.
type accepted struct {
	mu     sync.Mutex // guards tokens
	tokens map[[sha256.Size]byte]time.Time
}

func (a *accepted) add(token string, until, now time.Time) {
	if until.IsZero() {
		until = now.Add(failureWindow)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tokens == nil {
		a.tokens = map[[sha256.Size]byte]time.Time{}
	}
	for other := range a.tokens {
		if len(a.tokens) < maxAccepted {
			break
		}
		delete(a.tokens, other)
	}
	a.tokens[sha256.Sum256([]byte(token))] = until
}

func (a *accepted) has(token string, now time.Time) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	hash := sha256.Sum256([]byte(token))
	until, ok := a.tokens[hash]
	if ok && !now.Before(until) {
		delete(a.tokens, hash)
		return false
	}
	return ok
}
