package access

import (
	"crypto/sha256"
	"encoding/hex"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// maxCached bounds the keys that are kept in memory, of which each takes about half a kilobyte. Beyond that any of them go.
const maxCached = 100_000

// entry is a key as it is checked. It is immutable.
type entry struct {
	rec       *core.APIKeyRecord
	principal core.Principal
}

func newEntry(rec *core.APIKeyRecord) *entry {
	p := core.Principal{
		Kind: core.PrincipalAPIKey, ID: rec.Owner, Name: rec.Name, KeyID: rec.ID, Roles: rec.Roles, Scopes: rec.Scopes,
	}
	if rec.ExpiresAt != nil {
		p.Expires = *rec.ExpiresAt
	}
	return &entry{rec: rec, principal: p}
}

// of returns whom the key speaks for where one of its secrets is shown.
func (e *entry) of(h core.KeyHash) core.Principal {
	p := e.principal
	p.KeySecret = secretName(h)
	if h.Until != nil && (p.Expires.IsZero() || h.Until.Before(p.Expires)) {
		p.Expires = *h.Until
	}
	return p
}

// by is of for the secret of a name, and reports whether it is good; "" is any of them.
func (e *entry) by(name string, now time.Time) (core.Principal, bool) {
	if name == "" {
		return e.principal, true
	}
	for _, h := range e.rec.Hashes {
		if secretName(h) == name {
			return e.of(h), h.GoodAt(now)
		}
	}
	return core.Principal{}, false
}

// secretName names a secret of a key, as core.Principal has it.
func secretName(h core.KeyHash) string {
	sum := sha256.Sum256(h.MAC)
	return hex.EncodeToString(sum[:8])
}

// cache holds keys by id. The zero value is ready.
type cache struct {
	mu      sync.RWMutex // guards all below
	entries map[string]*entry
	changes uint64 // counts forget, so that nothing is put in that was read before
}

// get returns a key, or nil and the mark under which one that is read now may be put in.
func (c *cache) get(id string) (*entry, uint64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.entries[id], c.changes
}

// put keeps a key unless any key changed since mark.
func (c *cache) put(id string, e *entry, mark uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != mark {
		return
	}
	if c.entries == nil {
		c.entries = map[string]*entry{}
	}
	for other := range c.entries {
		if len(c.entries) < maxCached {
			break
		}
		delete(c.entries, other)
	}
	c.entries[id] = e
}

// full reports whether there is no room for another key.
func (c *cache) full() bool {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.entries) >= maxCached
}

func (c *cache) forget(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.entries, id)
	c.changes++
}
