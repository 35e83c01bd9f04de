package runtimes

import (
	"slices"
	"sync"

	"github.com/wardroom/wardroom/sdk/terminal"
)

// audience knows who is at which terminal. Its zero value is ready; it is safe for concurrent use.
type audience struct {
	mu    sync.Mutex
	rooms map[string]*room // by agent; guarded by mu
}

// room is who is at one terminal, in the order in which they came; guarded by the audience's mu.
type room struct {
	viewers []*terminal.Viewer
	moved   chan struct{} // closed, and replaced, with each that comes or goes
}

func (r *room) move() {
	close(r.moved)
	r.moved = make(chan struct{})
}

// join adds somebody. The first function returns who else is there, and what is closed when that changes; the second takes
// them away.
func (a *audience) join(agent string, who terminal.Viewer) (others func() ([]terminal.Viewer, <-chan struct{}), leave func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.rooms[agent]
	if r == nil {
		if a.rooms == nil {
			a.rooms = map[string]*room{}
		}
		r = &room{moved: make(chan struct{})}
		a.rooms[agent] = r
	}
	me := &who
	r.viewers = append(r.viewers, me)
	r.move()
	others = func() ([]terminal.Viewer, <-chan struct{}) {
		a.mu.Lock()
		defer a.mu.Unlock()
		var list []terminal.Viewer
		for _, v := range r.viewers {
			if v != me {
				list = append(list, *v)
			}
		}
		return list, r.moved
	}
	leave = func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		r.viewers = slices.DeleteFunc(r.viewers, func(v *terminal.Viewer) bool { return v == me })
		if r.move(); len(r.viewers) == 0 {
			delete(a.rooms, agent)
		}
	}
	return others, leave
}
