package pluginhost

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// child is one plugin under supervision. Its run loop alone starts and stops processes; everybody else reads
// its status, says whether it is wanted, and calls the instance that is ready.
type child struct {
	host     *Host
	spec     Spec
	declared bool
	ring     *ring
	log      *pluginLogger
	redact   func(string) string
	hidden   *hidden  // what redact replaces
	breaker  *breaker // of the run loop

	retire context.CancelFunc // ends the run loop; set by supervise, as is over
	over   chan struct{}      // closed when the run loop has ended

	hooks   sync.WaitGroup // Ready functions under way
	oneHook sync.Mutex     // held while they run, as they never overlap

	mu        sync.Mutex // guards all below
	status    core.Plugin
	schema    json.RawMessage
	examples  []json.RawMessage
	checks    []core.PluginCheck
	silent    bool // it runs, and left the last ping open
	enabled   bool
	wanted    bool          // enabled by the configuration
	definite  bool          // the failure will not pass by itself within seconds
	reset     bool          // forget failures before the next attempt
	interrupt func()        // ends what the run loop is about; nil: it has not begun
	ended     bool          // the run loop has
	rounds    uint64        // attempts begun
	current   *instance     // ready, or nil
	announced *instance     // the one that the Ready functions were called for last
	changed   chan struct{} // closed, and replaced, with each change of status
}

func newChild(h *Host, s Spec, declared bool) *child {
	hidden := newHidden(s.secrets())
	c := &child{
		host: h, spec: s, declared: declared, enabled: s.Enabled, wanted: s.Enabled, ring: newRing(),
		redact: hidden.redact, hidden: hidden, breaker: newBreaker(h.opts.Policy), changed: make(chan struct{}),
	}
	c.log = &pluginLogger{
		repeats: &repeats{}, flood: &flood{},
		Logger: h.log.Named(s.Name), clock: h.opts.Clock, ring: c.ring, redact: c.redact,
		binary: filepath.Base(h.path(s)),
	}
	c.status = core.Plugin{
		Name: s.Name, Kind: s.Kind, Path: h.path(s), SHA256: s.SHA256, Required: s.Required, Declared: declared,
		State: core.PluginDisabled, Since: h.opts.Clock.Now(),
	}
	return c
}

// secrets are the texts that may not appear in anything the plugin says.
func (s Spec) secrets() []string {
	return slices.AppendSeq(slices.Clone(s.Secrets), maps.Values(s.Env))
}

// settled reports whether a state lasts until something happens.
func settled(s core.PluginState) bool {
	return s == core.PluginDisabled || s == core.PluginReady || s == core.PluginFailed || s == core.PluginQuarantined
}

// set moves the child to another state; change, which may be nil, adjusts the rest of the status.
func (c *child) set(state core.PluginState, change func(*core.Plugin)) {
	c.mu.Lock()
	was := c.status
	c.status.State, c.status.Reason, c.status.Hint, c.status.NextAttempt = state, "", "", time.Time{}
	if was.State != state {
		c.status.Since = c.host.opts.Clock.Now()
	}
	if change != nil {
		change(&c.status)
	}
	now := c.status
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()

	c.tell()
	c.host.opts.Metrics.State(now.Name, now.Kind, string(state))
	args := []any{"state", string(state), "before", string(was.State)}
	level := "info"
	if now.Reason != "" {
		args = append(args, "reason", now.Reason)
	}
	if !now.NextAttempt.IsZero() {
		args = append(args, "next", now.NextAttempt.Sub(now.Since).Round(time.Millisecond))
	}
	switch {
	case state == core.PluginQuarantined:
		level = "error"
		c.log.Logger.Error("plugin is in quarantine", append(args, "hint", now.Hint)...)
	case state == core.PluginFailed:
		level = "warn"
		c.log.Logger.Warn("plugin failed", append(args, "hint", now.Hint)...)
	case state == core.PluginReady:
		c.log.Logger.Info("plugin is ready", append(args, "version", now.Version, "pid", now.PID)...)
	case was.State == state:
		return // it was disabled before
	default:
		c.log.Logger.Debug("plugin changed its state", args...)
	}
	c.ring.add(core.PluginLogLine{Timestamp: c.host.opts.Clock.Now(), Level: level, Message: "wardroom: plugin is " + string(state) + pairs(args[4:])})
}

// tell gives notice of the status as it is now.
func (c *child) tell() {
	p, _ := c.snapshot()
	c.host.opts.Changed(*p)
}

// snapshot returns the status, and whether a failure is definite.
func (c *child) snapshot() (*core.Plugin, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.status
	p.Enabled = c.enabled
	return &p, c.definite
}

// isSilent reports whether the plugin runs and does not answer.
func (c *child) isSilent() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.silent
}

// detail returns the status with what the plugin says about itself.
func (c *child) detail() *core.PluginDetail {
	p, _ := c.snapshot()
	c.mu.Lock()
	defer c.mu.Unlock()
	return &core.PluginDetail{Plugin: *p, Schema: c.schema, Examples: c.examples, Checks: c.checks}
}

// await waits until cond holds or ctx ends, and returns the status of that moment.
func (c *child) await(ctx context.Context, cond func(p *core.Plugin, definite bool) bool) *core.Plugin {
	for {
		c.mu.Lock()
		changed := c.changed
		c.mu.Unlock()
		p, definite := c.snapshot()
		if cond(p, definite) {
			return p
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return p
		}
	}
}

// instance returns the process that is ready, or nil.
func (c *child) instance() *instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current
}

// poke makes the run loop begin a new round, with failures forgotten, and returns when that has come to
// something that lasts, or ctx ended. want says whether the plugin is to run from now on; nil leaves that.
func (c *child) poke(ctx context.Context, want *bool) *core.Plugin {
	c.mu.Lock()
	if want != nil {
		c.enabled = *want
	}
	c.reset = true
	round := c.rounds
	if c.interrupt != nil {
		c.interrupt()
	}
	c.mu.Unlock()
	return c.await(ctx, func(p *core.Plugin, _ bool) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.rounds > round && c.status.State == p.State && settled(p.State) || c.ended
	})
}

// health is the child's HealthCheck.
func (c *child) health() (status, message, hint string) {
	p, _ := c.snapshot()
	switch p.State {
	case core.PluginDisabled:
		return "ok", "", ""
	case core.PluginReady:
		switch p.Health {
		case "degraded", "failed":
			if c.isSilent() {
				return p.Health, p.HealthReason, "it is started anew if it stays so; see wardroom plugin logs " + p.Name
			}
			return p.Health, "the plugin says: " + p.HealthReason, "see wardroom plugin info " + p.Name
		}
		return "ok", "", ""
	case core.PluginFailed, core.PluginQuarantined:
		return "failed", string(p.State) + ": " + p.Reason, p.Hint
	}
	return "failed", "it is " + string(p.State), "it should be ready in a moment"
}
