package agents

import (
	"sync"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// noticeKind is the kind of a notice to the threads.
type noticeKind uint8

const (
	hostAway noticeKind = iota
	hostBack
	hostGone
	hostsChanged
	hostSaid
)

// notice is something that the threads are to hear of a host.
type notice struct {
	kind  noticeKind
	agent *agent
	event *core.RemoteThreadEvent // of hostSaid
}

// hostNotices tells the threads of hosts, in order, from a goroutine of its own: what there is to tell comes up while
// locks are held, some of them those of the threads. A nil hostNotices, and one that was not started, drop everything.
type hostNotices struct {
	sink core.ThreadHostSink
	done sync.WaitGroup

	mu     sync.Mutex // guards all below; a leaf
	queue  []notice
	signal chan struct{} // capacity 1; nil while it does not run
}

func (c *hostNotices) start(sink core.ThreadHostSink) {
	if sink == nil {
		return
	}
	c.sink = sink
	signal := make(chan struct{}, 1)
	c.mu.Lock()
	c.signal = signal
	c.mu.Unlock()
	c.done.Go(func() {
		for range signal {
			for _, n := range c.take() {
				c.tell(n)
			}
		}
	})
}

// post queues a notice.
func (c *hostNotices) post(n notice) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.signal == nil {
		return
	}
	if last := len(c.queue) - 1; n.kind == hostsChanged && last >= 0 && c.queue[last].kind == hostsChanged {
		return
	}
	c.queue = append(c.queue, n)
	pause.Wake(c.signal)
}

func (c *hostNotices) take() []notice {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := c.queue
	c.queue = nil
	return list
}

// tell tells one thing, without locks.
func (c *hostNotices) tell(n notice) {
	switch n.kind {
	case hostAway:
		c.sink.HostAway(n.agent.id)
	case hostBack:
		// What was spawned since the agent came back counts too: its host has it, or gets it.
		n.agent.mu.Lock()
		ids, there := n.agent.threads.ids(), n.agent.presence == live
		n.agent.mu.Unlock()
		if there { // else HostAway or HostGone follows
			c.sink.HostBack(n.agent.id, ids)
		}
	case hostGone:
		c.sink.HostGone(n.agent.id)
	case hostsChanged:
		c.sink.HostsChanged()
	case hostSaid:
		c.sink.RemoteThreadEvented(*n.event)
	}
}

// stop drops what waits and returns when no notice is given any more. It may be called twice.
func (c *hostNotices) stop() {
	c.mu.Lock()
	if c.signal != nil {
		close(c.signal)
		c.signal, c.queue = nil, nil
	}
	c.mu.Unlock()
	c.done.Wait()
}
