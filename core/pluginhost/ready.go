package pluginhost

import "github.com/wardroom/wardroom/sdk/runtime"

// OnReady has fn called each time the plugin gets ready: at its start, and after each restart, which the plugin
// may have been through without its agents noticing. Calls for one plugin do not overlap, and Close waits for
// them; fn uses the runtime it is given, whose calls fail at once when the plugin goes away again. If the plugin
// is ready already, fn is called for that too.
func (h *Host) OnReady(name string, fn func(runtime.Runtime)) {
	hook := func() { fn(h.Runtime(name)) }
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hooks[name] = append(h.hooks[name], hook)
	c := h.children[name]
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil && c.announced == c.current {
		c.call(hook)
	}
}

// announce calls the functions that wait for the child to be ready. Those that are registered from now on see
// that the instance was announced, so that each is called once for it.
func (c *child) announce(i *instance) {
	c.host.mu.Lock()
	defer c.host.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.announced = i
	for _, hook := range c.host.hooks[c.spec.Name] {
		c.call(hook)
	}
}

// call runs a hook on a goroutine that the run loop joins.
func (c *child) call(hook func()) {
	c.hooks.Go(func() {
		c.oneHook.Lock()
		defer c.oneHook.Unlock()
		hook()
	})
}
