package agents

import (
	"sync"

	"github.com/wardroom/wardroom/core/internal/pause"
)

// notifier tells the sink of new capacity from a goroutine of its own: capacity appears inside calls of the
// sink's owner (Release), which may hold its locks then. Signals that come while it works are one.
type notifier struct {
	signal chan struct{}
	end    chan struct{}
	done   sync.WaitGroup
}

func (n *notifier) start(tell func()) {
	n.signal = make(chan struct{}, 1)
	n.end = make(chan struct{})
	n.done.Go(func() {
		for {
			select {
			case <-n.signal:
				tell()
			case <-n.end:
				return
			}
		}
	})
}

func (n *notifier) changed() { pause.Wake(n.signal) }

func (n *notifier) stop() {
	close(n.end)
	n.done.Wait()
}
