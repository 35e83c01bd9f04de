package fakemodel

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// maxGates bounds the names that are open at once.
const maxGates = 4096

// gate keeps answers back until their name is released. A released name stays open, so that a release never
// comes too early. The zero value is not usable.
type gate struct {
	mu      sync.Mutex
	open    map[string]bool
	held    map[string]int
	changed chan struct{} // closed and replaced at each change of open or held
}

func newGate() *gate {
	return &gate{open: map[string]bool{}, held: map[string]int{}, changed: make(chan struct{})}
}

// change wakes everybody who waits. The caller holds mu.
func (g *gate) change() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// pass waits until the name is open, and returns the error of ctx when that ends first.
func (g *gate) pass(ctx context.Context, name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open[name] {
		return nil
	}
	g.held[name]++
	g.change()
	defer func() {
		if g.held[name]--; g.held[name] == 0 {
			delete(g.held, name)
		}
		g.change()
	}()
	for !g.open[name] {
		if err := g.await(ctx); err != nil {
			return err
		}
	}
	return nil
}

// await waits for the next change. The caller holds mu, which is free meanwhile.
func (g *gate) await(ctx context.Context) error {
	changed := g.changed
	g.mu.Unlock()
	defer g.mu.Lock()
	select {
	case <-changed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release opens a name and returns how many answers it kept back.
func (g *gate) release(name string) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open[name] && len(g.open) >= maxGates {
		return 0, fmt.Errorf("%d names are released already; reset before releasing more", maxGates)
	}
	g.open[name] = true
	g.change()
	return g.held[name], nil
}

// reset closes every name. What is held stays held.
func (g *gate) reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.open)
}

// names lists the names that keep an answer back, sorted.
func (g *gate) names() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	names := make([]string, 0, len(g.held))
	for name := range g.held {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// awaitHeld waits until an answer is kept back at a name.
func (g *gate) awaitHeld(ctx context.Context, name string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.held[name] == 0 {
		if err := g.await(ctx); err != nil {
			return errors.Join(fmt.Errorf("nothing is held at %q", name), err)
		}
	}
	return nil
}
