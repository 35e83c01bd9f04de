package pluginhost

import (
	"context"
	"path/filepath"

	"github.com/wardroom/wardroom/core"
)

// Added are plugins that Add started, until one of the two says what becomes of them. The zero value is of none.
type Added struct {
	host     *Host
	children []*child
	replaced []*child // of the same names; they do not run
}

// Names lists the plugins.
func (a *Added) Names() []string {
	names := make([]string, 0, len(a.children))
	for _, c := range a.children {
		names = append(names, c.spec.Name)
	}
	return names
}

// Keep leaves the plugins to the host: their health counts from now on.
func (a *Added) Keep() []Switched {
	var list []Switched
	for _, c := range a.children {
		a.host.mu.Lock()
		a.host.observe(c)
		a.host.mu.Unlock()
		p, _ := c.snapshot()
		list = append(list, Switched{Name: p.Name, Kind: p.Kind, Enabled: p.Enabled, Added: true, State: p.State})
	}
	return list
}

// Drop ends the plugins, and puts those back that they replaced.
func (a *Added) Drop() {
	for _, c := range a.children {
		a.host.end(c)
		c.ring.close()
		a.host.mu.Lock()
		delete(a.host.children, c.spec.Name)
		a.host.mu.Unlock()
		c.tell()
	}
	for _, c := range a.replaced {
		p, _ := c.snapshot()
		again := newChild(a.host, c.spec, c.declared)
		again.enabled, again.wanted = p.Enabled, c.wanted
		a.host.mu.Lock()
		a.host.children[c.spec.Name] = again
		a.host.supervise(again)
		a.host.mu.Unlock()
	}
}

// Add starts plugins that the configuration did not have so far, and waits until each is ready; what an operator said of one is
// stronger, and one that is not to run is only known. If one does not get ready all are dropped, and the error names it, the reason
// and what to do. A plugin of such a name that is only installed, or whose entry was gone, makes room. Calls do not overlap
// those of ApplyConfig.
func (h *Host) Add(ctx context.Context, specs []Spec) (*Added, error) {
	h.removing.Lock() // a file that is being removed must not be started
	defer h.removing.Unlock()
	added := &Added{host: h}
	for _, spec := range specs {
		if err := checkSpec(spec); err != nil {
			added.Drop()
			return nil, err
		}
		if old := h.child(spec.Name); old != nil {
			old.mu.Lock()
			used := old.declared && old.wanted
			old.mu.Unlock()
			if used {
				continue // it runs by another key
			}
			h.end(old)
			old.ring.close()
			added.replaced = append(added.replaced, old)
		}
		c := newChild(h, spec, true)
		h.mu.Lock()
		if !h.open || h.closed || h.ctx.Err() != nil {
			h.mu.Unlock()
			added.Drop()
			return nil, core.Unavailable("stopping", "the service is not running")
		}
		if said, ok := h.choices.Plugins[spec.Name]; ok {
			c.enabled = said.Enabled
		}
		h.children[spec.Name] = c
		h.begin(c)
		h.mu.Unlock()
		added.children = append(added.children, c)
	}
	for _, c := range added.children {
		p := c.await(ctx, func(p *core.Plugin, _ bool) bool { return settled(p.State) })
		if p.State == core.PluginReady || p.State == core.PluginDisabled {
			continue
		}
		reason, hint := p.Reason, p.Hint
		if !settled(p.State) {
			reason, hint = "it is still "+string(p.State)+" after the time that a reload has", "look at wardroom plugin logs "+p.Name
		}
		added.Drop()
		if ctx.Err() == nil || reason != "" {
			h.log.Warn("a plugin that is new in the configuration was not taken in", "plugin", p.Name, "reason", reason, "hint", hint)
		}
		return nil, core.Unavailable("plugins", "the plugin %s, which is new in the configuration, does not start: %s (%s); nothing was changed", p.Name, reason, hint)
	}
	return added, nil
}

// end ends a child for good.
func (h *Host) end(c *child) {
	h.mu.Lock()
	retire, over := c.retire, c.over
	h.mu.Unlock()
	if retire == nil {
		return
	}
	retire()
	<-over // its limits bound that
}

// checkSpec refuses what no plugin can be started by.
func checkSpec(spec Spec) error {
	switch {
	case !pluginName.MatchString(spec.Name):
		return core.Invalid("plugins."+shorten(spec.Name), "is not a name for a plugin")
	case spec.Path != "" && !filepath.IsAbs(spec.Path):
		return core.Invalid("plugins."+spec.Name+".path", "must be absolute")
	}
	return checkEnv(spec.Name, spec.Env)
}
