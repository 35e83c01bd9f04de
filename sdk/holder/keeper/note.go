package keeper

import "sync"

// note is the checkpoint that a client left for a later one.
type note struct {
	mu     sync.Mutex
	offset uint64
	data   []byte // part of memory
	memory []byte
}

// take replaces the note by data, which is a part of memory and the note's own from now on, and returns the memory
// of the note before. Checkpoints come several times a second, so they leave no garbage.
func (n *note) take(offset uint64, data, memory []byte) (before []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before = n.memory
	n.offset, n.data, n.memory = offset, data, memory
	return before
}

// use calls fn with the note; fn does not keep it.
func (n *note) use(fn func(offset uint64, data []byte)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	fn(n.offset, n.data)
}
