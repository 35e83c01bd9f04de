package joined

import "sync"

// Group is goroutines of one service. The zero Group is ready; it is not copied. Safe for concurrent use.
type Group struct {
	mu    sync.Mutex
	ended bool
	wg    sync.WaitGroup
}

// Go runs fn on a goroutine that Wait waits for; not at all once End was called.
func (g *Group) Go(fn func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		g.wg.Go(fn)
	}
}

// End has Go start nothing from now on. Safe to call twice.
func (g *Group) End() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
}

// Ended reports whether End was called.
func (g *Group) Ended() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ended
}

// Wait waits until all goroutines are over. The caller has called End.
func (g *Group) Wait() { g.wg.Wait() }
