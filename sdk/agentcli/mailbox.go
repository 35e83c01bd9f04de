package agentcli

import "sync"

// mailbox carries work to the goroutine of a session, in order. It has no bound of its own: who posts for
// each piece of output posts at most one unread note, and everyone else waits for an answer.
type mailbox struct {
	wake chan struct{} // has an element when there is work; capacity 1

	mu     sync.Mutex // guards all below
	fns    []func()
	closed bool
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// post hands over fn; false if nobody will ever run it.
func (m *mailbox) post(fn func()) bool {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return false
	}
	m.fns = append(m.fns, fn)
	m.mu.Unlock()
	select {
	case m.wake <- struct{}{}:
	default:
	}
	return true
}

// take returns what waits.
func (m *mailbox) take() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	fns := m.fns
	m.fns = nil
	return fns
}

// close refuses further work and returns what waits.
func (m *mailbox) close() []func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	fns := m.fns
	m.fns = nil
	return fns
}

// size is how much waits.
func (m *mailbox) size() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.fns)
}
