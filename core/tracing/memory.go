package tracing

import (
	"sync"

	"github.com/wardroom/wardroom/core"
)

// remembered bounds memory.
const remembered = 8192

// memory keeps the places of the newest resources. The zero value is ready.
type memory struct {
	mu    sync.Mutex // guards all below
	known map[string]core.TraceContext
	order []string // of known, a ring once it is full
	next  int      // the oldest, in a full ring
}

func (m *memory) put(id string, t core.TraceContext) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[string]core.TraceContext{}
	}
	if _, has := m.known[id]; !has {
		if len(m.order) < remembered {
			m.order = append(m.order, id)
		} else {
			delete(m.known, m.order[m.next])
			m.order[m.next] = id
			m.next = (m.next + 1) % remembered
		}
	}
	m.known[id] = t
}

func (m *memory) get(id string) core.TraceContext {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.known[id]
}
