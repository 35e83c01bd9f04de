package kubernetes

import "sync"

// maxCommands is how many places of commands are kept; all are forgotten beyond that.
const maxCommands = 1024

// commandPlace is what says where a command is: an image by its digest, what is mounted over it, and the name.
type commandPlace struct{ digest, volumes, name string }

// commands are the commands that were found in images, so that a start need not ask a pod for what another one has said. Safe
// for concurrent use.
type commands struct {
	mu    sync.Mutex // guards found
	found map[commandPlace]string
}

func (c *commands) find(place commandPlace) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	path, ok := c.found[place]
	return path, ok
}

// keep notes where a command is. An image without a digest may be another one the next time.
func (c *commands) keep(place commandPlace, path string) {
	if place.digest == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.found == nil || len(c.found) >= maxCommands {
		c.found = map[commandPlace]string{}
	}
	c.found[place] = path
}
