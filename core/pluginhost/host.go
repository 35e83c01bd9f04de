package pluginhost

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// Host runs the plugins. Make it with New, then Open and Close it once each. All other methods are safe for
// concurrent use between the two.
type Host struct {
	opts    Options
	log     hclog.Logger
	sockets string // directory of the sockets, once open
	unsafe  unsafeSet

	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	wg     sync.WaitGroup // supervisors

	removing sync.Mutex // held while a plugin is removed

	mu       sync.Mutex // guards all below
	children map[string]*child
	choices  *choices
	hooks    map[string][]func()
	checked  map[string]bool // plugins whose health is asked for
	leaving  string          // the plugin that is removed; empty: none is
	open     bool
	closed   bool
}

var _ core.PluginService = (*Host)(nil)

// New makes a host. It refuses options that cannot work with a VALIDATION_ERROR, and starts nothing.
func New(o Options) (*Host, error) {
	if o.Clock == nil || o.Logger == nil || !filepath.IsAbs(o.Dir) || !filepath.IsAbs(o.RunDir) || !filepath.IsAbs(o.StateDir) {
		return nil, core.Errorf(core.CodeInternal, "the plugin host needs a clock, a logger, and absolute directories")
	}
	o.Metrics = cmp.Or[Metrics](o.Metrics, noMetrics{})
	if o.Changed == nil {
		o.Changed = func(core.Plugin) {}
	}
	if o.Lookup == nil {
		o.Lookup = os.LookupEnv
	}
	o.Policy = cmp.Or(o.Policy, DefaultPolicy())
	o.Limits = o.Limits.withDefaults()
	h := &Host{
		opts: o, log: o.Logger.Named("plugins"),
		children: map[string]*child{}, hooks: map[string][]func(){}, checked: map[string]bool{}, unsafe: unsafeSet{tell: o.Unsafe},
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	for _, spec := range o.Plugins {
		if err := checkSpec(spec); err != nil {
			return nil, err
		}
		if h.children[spec.Name] != nil {
			return nil, core.Invalid("plugins."+spec.Name, "is declared twice")
		}
		h.children[spec.Name] = newChild(h, spec, true)
	}
	return h, nil
}

// Open starts every enabled plugin and waits until each runs or has failed once, for Limits.Settle at most; it
// waits longer for those that are required. It fails when one of them does not get ready: the error names the
// plugin, the reason and what to do. A Host that failed to open is closed.
func (h *Host) Open(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			h.Close()
		}
	}()
	dir, err := socketDir(h.opts.RunDir)
	if err != nil {
		return err
	}
	if err := resumeRemovals(h.opts.Dir); err != nil {
		h.log.Warn("what is left of a plugin that was removed stays", "dir", h.opts.Dir, "error", err)
	}
	kept, err := readChoices(h.opts.StateDir)
	if err != nil {
		return err
	}
	h.mu.Lock()
	h.sockets, h.choices, h.open = dir, kept, true
	var children []*child
	for _, c := range h.children {
		if said, ok := kept.Plugins[c.spec.Name]; ok {
			c.enabled = said.Enabled
		}
		children = append(children, c)
	}
	for name, said := range kept.Plugins { // enabled by hand, and in no configuration
		if said.Enabled && h.children[name] == nil && pluginName.MatchString(name) {
			c := newChild(h, Spec{Name: name, Enabled: true}, false)
			h.children[name] = c
			children = append(children, c)
		}
	}
	for _, c := range children {
		h.supervise(c)
	}
	h.mu.Unlock()
	return h.awaitStart(ctx, children)
}

// supervise begins to run a child whose health is asked for. Called with mu held.
func (h *Host) supervise(c *child) {
	h.observe(c)
	h.begin(c)
}

// observe has the health of a child asked for. Called with mu held.
func (h *Host) observe(c *child) {
	if name := c.spec.Name; h.opts.Check != nil && !h.checked[name] {
		h.checked[name] = true
		h.opts.Check(HealthCheck{Name: "plugin:" + name, Required: c.spec.Required, Run: func() (status, message, hint string) {
			if c := h.child(name); c != nil {
				return c.health()
			}
			return "ok", "", "" // it was removed
		}})
	}
}

// begin begins to run a child. Called with mu held.
func (h *Host) begin(c *child) {
	c.mu.Lock()
	if c.enabled {
		c.status.State = core.PluginVerifying // whoever waits for an outcome must not take this for one
	}
	c.mu.Unlock()
	ctx, retire := context.WithCancel(h.ctx)
	c.retire, c.over = retire, make(chan struct{})
	h.wg.Go(func() {
		defer close(c.over)
		c.run(ctx)
	})
}

// awaitStart waits for the first outcome of each child.
func (h *Host) awaitStart(ctx context.Context, children []*child) error {
	settle, cancel := context.WithTimeout(ctx, h.opts.Limits.Settle)
	defer cancel()
	ready, done := context.WithTimeout(ctx, h.opts.Limits.Ready)
	defer done()
	var problems []string
	for _, c := range children {
		if !c.spec.Required {
			continue
		}
		// A plugin that is put right by waiting, such as one whose first process died, gets its time; one whose
		// file is wrong does not.
		p := c.await(ready, func(p *core.Plugin, definite bool) bool {
			return p.State == core.PluginReady || p.State == core.PluginDisabled || p.State == core.PluginQuarantined ||
				p.State == core.PluginFailed && definite
		})
		if p.State != core.PluginReady {
			reason := p.Reason
			if reason == "" {
				reason = "it is still " + string(p.State) + " after " + h.opts.Limits.Ready.String()
			}
			problems = append(problems, fmt.Sprintf("the required plugin %s is not ready: %s (%s)", c.spec.Name, reason, p.Hint))
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(problems) > 0 {
		return core.Unavailable("plugins", "%s", strings.Join(problems, "; "))
	}
	for _, c := range children {
		c.await(settle, func(p *core.Plugin, _ bool) bool { return settled(p.State) })
	}
	return ctx.Err()
}

// Close ends all plugins, each in its orderly way first, and joins everything. Safe to call twice.
func (h *Host) Close() {
	h.cancel()
	h.wg.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
	for _, c := range h.children {
		c.ring.close()
	}
}

// child returns a plugin that is supervised, or nil.
func (h *Host) child(name string) *child {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.children[name]
}

// RefreshLogLevels has the plugins that run log from the level on that their loggers, plugins.NAME below that of the options, have
// now. Those that start later ask theirs.
func (h *Host) RefreshLogLevels() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.children {
		if i := c.instance(); i != nil {
			h.wg.Go(func() {
				ctx, cancel := context.WithTimeout(h.ctx, h.opts.Limits.Answer)
				defer cancel()
				if err := i.conn.SetLogLevel(ctx, c.log.GetLevel()); err != nil {
					h.log.Debug("a plugin did not take its log level", "plugin", c.spec.Name, "error", err)
				}
			})
		}
	}
}

// Hangup passes SIGHUP on to the plugins that know what to do with it.
func (h *Host) Hangup() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.children {
		i := c.instance()
		if i == nil {
			continue
		}
		c.mu.Lock()
		takes := slices.Contains(c.status.Features, plugin.FeatureHangup)
		c.mu.Unlock()
		if takes {
			i.proc.hangup()
		}
	}
}

// after returns a channel that is closed once d has passed, and a function that gives up on it.
func after(clock core.Clock, d time.Duration) (<-chan struct{}, func()) {
	done := make(chan struct{})
	timer := clock.AfterFunc(d, func() { close(done) })
	return done, func() { timer.Stop() }
}
