package pattern

import (
	"container/list"
	"sync"

	"github.com/wardroom/wardroom/core"
)

// compiled is a stored version with everything that is derived from its source.
type compiled struct {
	pattern *core.Pattern // with Source and Definition; nil when only the source is known
	plan    *Plan
}

// cache keeps compiled definitions, the least recently used going first when their sources together
// exceed its bound. Definitions are few and small as a rule; the bound is for the day when they are not.
type cache struct {
	limit int // bytes, as Plan.weight counts them

	mu     sync.Mutex // guards all below
	size   int
	order  list.List // of *cached, the most recently used first
	byKey  map[string]*list.Element
	misses int // for tests
}

type cached struct {
	key   string
	value *compiled
	size  int
}

// overhead is the size that an entry counts beyond its source text, in bytes.
const overhead = 1024

func newCache(limit int) *cache {
	return &cache{limit: limit, byKey: make(map[string]*list.Element)}
}

func (c *cache) get(key string) *compiled {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		c.misses++
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached).value
}

// put keeps value, whose source text has the given size in bytes. The newest entry always stays.
func (c *cache) put(key string, value *compiled, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.drop(e)
	}
	entry := &cached{key, value, size + overhead}
	c.byKey[key] = c.order.PushFront(entry)
	c.size += entry.size
	for c.size > c.limit && c.order.Len() > 1 {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	entry := e.Value.(*cached)
	c.order.Remove(e)
	delete(c.byKey, entry.key)
	c.size -= entry.size
}
