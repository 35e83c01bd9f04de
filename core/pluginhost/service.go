package pluginhost

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/wardroom/wardroom/core"
)

// FindPlugins implements core.PluginService.
func (h *Host) FindPlugins(context.Context) ([]*core.Plugin, error) {
	known := map[string]*core.Plugin{}
	h.mu.Lock()
	for name, c := range h.children {
		known[name], _ = c.snapshot()
	}
	h.mu.Unlock()
	manifests := map[string]*Manifest{}
	for _, p := range known {
		h.compare(p, manifests)
	}
	for _, p := range h.installed() {
		if known[p.Name] == nil {
			known[p.Name] = p
		}
	}
	list := slices.AppendSeq(make([]*core.Plugin, 0, len(known)), maps.Values(known))
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list, nil
}

// installed returns the plugins that the manifests of the directory name. A manifest that cannot be read keeps
// none of the configured plugins from being seen, and is reported with theirs.
func (h *Host) installed() []*core.Plugin {
	m, err := ReadManifest(h.opts.Dir)
	if err != nil {
		h.log.Warn("the manifest of the plugins cannot be used", "dir", h.opts.Dir, "error", err)
		return nil
	}
	list := make([]*core.Plugin, 0, len(m.Plugins))
	for _, e := range m.Plugins {
		list = append(list, &core.Plugin{
			Name: e.Name, Kind: e.Kind, Version: e.Version, SHA256: e.SHA256, Path: h.path(Spec{Name: e.Name}),
			State: core.PluginDisabled, Reason: "it is installed, and nothing in the configuration uses it",
			Hint: "start it with wardroom plugin enable " + e.Name,
		})
	}
	return list
}

// find returns a plugin under supervision, or one that is only installed.
func (h *Host) find(name string) (*child, *core.Plugin, error) {
	if c := h.child(name); c != nil {
		return c, nil, nil
	}
	for _, p := range h.installed() {
		if p.Name == name {
			return nil, p, nil
		}
	}
	return nil, nil, core.NotFound("plugin", shorten(name))
}

// FindPlugin implements core.PluginService.
func (h *Host) FindPlugin(_ context.Context, name string) (*core.PluginDetail, error) {
	c, installed, err := h.find(name)
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		return &core.PluginDetail{Plugin: *installed}, nil
	}
	detail := c.detail()
	h.compare(&detail.Plugin, map[string]*Manifest{})
	return detail, nil
}

// Reachable reports whether a plugin is ready and answers, and if not why and what to do.
func (h *Host) Reachable(name string) (ok bool, reason string) {
	c, p, err := h.find(name)
	if err != nil {
		return false, core.AsError(err).Message
	}
	if c != nil {
		p, _ = c.snapshot()
		if c.isSilent() {
			return false, p.HealthReason
		}
	}
	if reason = p.Reason; reason != "" && p.Hint != "" {
		reason += "; " + p.Hint
	}
	return p.State == core.PluginReady, reason
}

// compare notes in the status of a running plugin that another build of it was installed since. manifests are those that
// were read, by directory.
func (h *Host) compare(p *core.Plugin, manifests map[string]*Manifest) {
	if p.PID == 0 {
		return
	}
	dir := filepath.Dir(p.Path)
	m, read := manifests[dir]
	if !read {
		m, _ = ReadManifest(dir) // what is wrong with it is reported when it is started, or listed
		manifests[dir] = m
	}
	if m == nil {
		return
	}
	e, known := m.Lookup(filepath.Base(p.Path))
	if c := h.child(p.Name); known && p.SHA256 != "" && e.SHA256 != p.SHA256 && c != nil && c.spec.SHA256 == "" {
		p.Installed = e.Version
	}
}

// EnablePlugin implements core.PluginService.
func (h *Host) EnablePlugin(ctx context.Context, name string) (*core.Plugin, error) {
	if _, _, err := h.find(name); err != nil {
		return nil, err
	}
	c, err := h.choose(name, true)
	if err != nil {
		return nil, err
	}
	want := true
	return c.poke(ctx, &want), nil
}

// DisablePlugin implements core.PluginService.
func (h *Host) DisablePlugin(ctx context.Context, name string) (*core.Plugin, error) {
	c, installed, err := h.find(name)
	switch {
	case err != nil:
		return nil, err
	case c == nil:
		return installed, nil
	case c.spec.Required:
		return nil, core.Conflict("plugin", name, "", "the plugin %s is required by the configuration; set required to false first", name)
	}
	if c, err = h.choose(name, false); err != nil {
		return nil, err
	}
	want := false
	return c.poke(ctx, &want), nil
}

// RemovePlugin implements core.PluginService.
func (h *Host) RemovePlugin(_ context.Context, name string) (*core.PluginRemoval, error) {
	h.removing.Lock()
	defer h.removing.Unlock()
	if h.opts.UsedBy != nil {
		if key := h.opts.UsedBy(name); key != "" {
			return nil, InUse(name, key)
		}
	}
	if err := removable(h.opts.Dir, name); err != nil {
		return nil, err
	}
	if err := h.forget(name); err != nil {
		return nil, err
	}
	defer h.left()
	if c := h.child(name); c != nil {
		c.retire()
		<-c.over // its limits bound that
		c.ring.close()
		h.mu.Lock()
		delete(h.children, name)
		h.mu.Unlock()
	}
	removed, err := Remove(h.opts.Dir, name)
	if err != nil {
		return nil, err
	}
	if kept := filepath.Join(h.opts.StateDir, "data", name); Exists(kept) {
		removed.State = kept
	}
	h.opts.Changed(core.Plugin{Name: name, Kind: removed.Kind, State: core.PluginDisabled, Reason: "it was removed"})
	h.log.Info("plugin was removed", "plugin", name, "version", removed.Version, "former", removed.Former)
	return &removed, nil
}

// Switched is a plugin that Add or ApplyConfig started, or ApplyConfig stopped.
type Switched struct {
	Name, Kind string
	Enabled    bool
	Removed    bool // the configuration does not have it any more
	Added      bool // the configuration did not have it before
	Chosen     bool // an operator said otherwise of it, which is stronger: nothing was done
	State      core.PluginState
}

// ApplyConfig starts and stops the plugins of the configuration that the host was made of as specs have them now, and
// returns once each has come to something that lasts, or ctx ended. What else specs say of them counts at the next start
// of the host. What an operator said of a plugin is stronger.
func (h *Host) ApplyConfig(ctx context.Context, specs []Spec) []Switched {
	wanted := map[string]bool{}
	known := map[string]bool{}
	for _, s := range specs {
		wanted[s.Name], known[s.Name] = s.Enabled, true
	}
	var done []Switched
	var waits []*child
	h.mu.Lock()
	for _, name := range slices.Sorted(maps.Keys(h.children)) {
		c := h.children[name]
		c.mu.Lock()
		declared, want, kind := c.declared, wanted[name], c.status.Kind
		was := c.wanted
		c.mu.Unlock()
		if !declared || want == was {
			continue
		}
		c.mu.Lock()
		c.wanted = want
		c.mu.Unlock()
		_, chosen := h.choices.Plugins[name]
		done = append(done, Switched{Name: name, Kind: kind, Enabled: want, Removed: !known[name], Chosen: chosen})
		waits = append(waits, c)
	}
	h.mu.Unlock()
	for i, c := range waits {
		if s := &done[i]; s.Chosen {
			p, _ := c.snapshot()
			s.State = p.State
		} else {
			s.State = c.poke(ctx, &s.Enabled).State
		}
	}
	return done
}

// InUse is the refusal to remove a plugin that a key of the configuration has run.
func InUse(name, key string) error {
	return core.Conflict("plugin", name, "", "the plugin %s is used by %s of the configuration in effect; take it out there, or set enabled of its "+
		"entry in plugins to false, and reload or, where the log says that the key waits for it, restart the service first", name, key)
}

// Exists reports whether something is at path.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// left ends what forget has begun.
func (h *Host) left() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leaving = ""
}

// forget drops what an operator chose for a plugin that is removed; until left is called, choose takes nothing for it.
func (h *Host) forget(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.open || h.closed || h.ctx.Err() != nil {
		return core.Unavailable("stopping", "the service is not running")
	}
	if next, changed := h.choices.without(name); changed {
		if err := next.write(h.opts.StateDir); err != nil {
			return core.Errorf(core.CodeInternal, "what was said of the plugin cannot be forgotten, so nothing was changed").WithCause(err)
		}
		h.choices = next
	}
	h.leaving = name
	return nil
}

// choose records what an operator said, and returns the child, which is made for a plugin that was only
// installed.
func (h *Host) choose(name string, enabled bool) (*child, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.open || h.closed || h.ctx.Err() != nil {
		return nil, core.Unavailable("stopping", "the service is not running")
	}
	if h.leaving == name {
		return nil, core.NotFound("plugin", name)
	}
	next := &choices{Format: h.choices.Format, Plugins: map[string]choice{}}
	maps.Copy(next.Plugins, h.choices.Plugins)
	next.Plugins[name] = choice{Enabled: enabled, At: h.opts.Clock.Now().UTC().Truncate(time.Second)}
	if err := next.write(h.opts.StateDir); err != nil {
		return nil, core.Errorf(core.CodeInternal, "the choice cannot be recorded, so nothing was changed").WithCause(err)
	}
	h.choices = next
	c := h.children[name]
	if c == nil {
		c = newChild(h, Spec{Name: name}, false)
		h.children[name] = c
		h.supervise(c)
	}
	return c, nil
}

// RestartPlugin implements core.PluginService.
func (h *Host) RestartPlugin(ctx context.Context, name string) (*core.Plugin, error) {
	c, _, err := h.find(name)
	if err != nil {
		return nil, err
	}
	if c != nil {
		if p, _ := c.snapshot(); p.Enabled {
			return c.poke(ctx, nil), nil
		}
	}
	return nil, core.Conflict("plugin", name, string(core.PluginDisabled), "the plugin %s is disabled; enable it instead", name)
}

// PluginLogs implements core.PluginService.
func (h *Host) PluginLogs(_ context.Context, name string, tail int) ([]core.PluginLogLine, error) {
	c, _, err := h.find(name)
	if err != nil || c == nil {
		return nil, err
	}
	lines, _ := c.ring.tail(tail)
	return lines, nil
}

// FollowPluginLogs implements core.PluginService.
func (h *Host) FollowPluginLogs(ctx context.Context, name string, tail int, visit func(core.PluginLogLine, int) error) error {
	c, _, err := h.find(name)
	if err != nil {
		return err
	}
	if c == nil {
		return core.Conflict("plugin", name, string(core.PluginDisabled), "the plugin %s does not run and has no log; enable it first", name)
	}
	return c.ring.follow(ctx, tail, visit)
}
