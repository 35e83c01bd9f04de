package pluginhost

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// run is the child's life: rounds of starting, watching, stopping and waiting, until ctx ends. A round ends
// early when somebody pokes the child.
func (c *child) run(ctx context.Context) {
	for ctx.Err() == nil {
		attempt, cancel := context.WithCancel(ctx)
		c.begin(cancel)
		c.round(attempt)
		cancel()
	}
	c.mu.Lock()
	c.ended = true
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
	c.hooks.Wait()
	c.set(core.PluginDisabled, func(p *core.Plugin) {
		if p.Reason = "the service is stopping"; c.host.ctx.Err() == nil {
			p.Reason = "it was removed"
		}
	})
}

// begin opens a round.
func (c *child) begin(interrupt func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interrupt = interrupt
	c.rounds++
	c.definite = false
	if c.reset {
		c.reset = false
		c.breaker.reset()
		c.status.Failures = 0
	}
	if settled(c.status.State) && c.enabled {
		// Whoever waits for the outcome of this round must not take that of the last one for it.
		c.status.State, c.status.Since = core.PluginVerifying, c.host.opts.Clock.Now()
		c.status.Reason, c.status.Hint, c.status.NextAttempt = "", "", time.Time{}
	}
}

// round brings the plugin up once and stays with it until it fails or the round is interrupted.
func (c *child) round(ctx context.Context) {
	if p, _ := c.snapshot(); !p.Enabled {
		c.set(core.PluginDisabled, func(p *core.Plugin) {
			p.Reason, p.Hint = "it is not enabled", "start it with wardroom plugin enable "+p.Name
			if !c.declared {
				p.Reason = "it is installed, and nothing in the configuration uses it"
			}
		})
		<-ctx.Done()
		return
	}
	i, failed := c.start(ctx)
	if failed == nil {
		failed = c.serve(ctx, i)
		c.stop(i, failed == nil)
	}
	if failed == nil || ctx.Err() != nil {
		return
	}
	c.rest(ctx, failed)
}

// serve watches a ready instance. It returns nil when the round is interrupted.
func (c *child) serve(ctx context.Context, i *instance) *failure {
	limits, clock := c.host.opts.Limits, c.host.opts.Clock
	well, stopWell := after(clock, c.host.opts.Policy.Healthy)
	defer func() { stopWell() }()
	missed, unsaid, silent := 0, 0, false
	now := make(chan struct{}) // a tick without a wait
	close(now)
	for {
		// One ping waits on a silent plugin, so that it counts as back once it goes on.
		tick, stopTick := after(clock, limits.Ping)
		limit := limits.Answer
		if silent {
			stopTick()
			tick, limit = now, limits.Ping+limits.Answer
		}
		select {
		case <-i.proc.done:
			stopTick()
			return crashed("its process ended: %s%s", exitText(i.proc.err), i.words.text())
		case <-ctx.Done():
			stopTick()
			return nil
		case <-well:
			stopTick()
			well = nil
			c.breaker.reset()
			c.mu.Lock()
			c.status.Failures = 0
			c.mu.Unlock()
			continue
		case <-tick:
		}
		answered, late := i.ping(ctx, limit)
		if silent = late; answered {
			missed = 0
			c.setSilent(false, limit)
			if c.examine(ctx, i) {
				unsaid = 0
			} else if unsaid++; unsaid == mutes && ctx.Err() == nil {
				c.mute(limits.Answer)
			}
			continue
		}
		if missed++; missed >= limits.Pings && ctx.Err() == nil {
			select {
			case <-i.proc.done:
			default:
				return crashed("it hangs: %d pings in a row got no answer within %s each", missed, limits.Answer)
			}
		}
		if ctx.Err() == nil { // else the ping was cut off
			c.setSilent(true, limit)
		}
	}
}

// setSilent notes whether the plugin left the last ping open. One that did cannot be reached, until it answers one or is
// given up.
func (c *child) setSilent(silent bool, limit time.Duration) {
	if c.noteSilent(silent, limit) {
		c.tell()
	}
}

// noteSilent is setSilent without the notice, and reports whether one is due.
func (c *child) noteSilent(silent bool, limit time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent == silent {
		return false
	}
	c.silent, c.checks = silent, nil
	if !silent {
		c.status.Health, c.status.HealthReason = "", ""
		c.log.Logger.Info("plugin answers again")
		return true
	}
	c.status.Health, c.status.HealthReason = plugin.StatusFailed, fmt.Sprintf("it does not answer: a ping got no answer within %s", limit)
	c.log.Logger.Warn("plugin changed its health", "health", c.status.Health, "reason", c.status.HealthReason)
	return true
}

// mutes is how many questions for its health a plugin that answers pings may leave open.
const mutes = 2

// mute says of a plugin that lives that it does not tell how it is.
func (c *child) mute(limit time.Duration) {
	c.mu.Lock()
	c.status.Health, c.checks = "degraded", nil
	c.status.HealthReason = fmt.Sprintf("it does not say how it is: %d questions in a row got no answer within %s each", mutes, limit)
	c.log.Logger.Warn("plugin changed its health", "health", c.status.Health, "reason", c.status.HealthReason)
	c.mu.Unlock()
	c.tell()
}

// examine asks a live plugin how it is, and reports whether it said so.
func (c *child) examine(ctx context.Context, i *instance) bool {
	ctx, cancel := context.WithTimeout(ctx, c.host.opts.Limits.Answer)
	defer cancel()
	said, err := i.conn.Health(ctx)
	if err != nil {
		return plugin.AsError(err).Code == plugin.CodeUnimplemented
	}
	checks := []core.PluginCheck{}
	for _, check := range beginning(said.Checks) {
		checks = append(checks, core.PluginCheck{
			Name: shorten(check.Name), Status: healthWord(check.Status), Text: shortenTo(c.redact(check.Text), 1000),
		})
	}
	c.mu.Lock()
	was, why := c.status.Health, c.status.HealthReason
	c.status.Health, c.status.HealthReason, c.checks = healthWord(said.Status), shortenTo(c.redact(said.Reason), 1000), checks
	if was != c.status.Health && (was != "" || c.status.Health != "ok") {
		c.log.Logger.Info("plugin changed its health", "health", c.status.Health, "reason", c.status.HealthReason)
	}
	changed := was != c.status.Health || why != c.status.HealthReason
	c.mu.Unlock()
	if changed {
		c.tell()
	}
	return true
}

// healthWord keeps what a plugin says within the words that there are.
func healthWord(word string) string {
	switch word {
	case "degraded", "failed":
		return word
	}
	return "ok"
}

// mendWait is the longest pause before a file or a setting is looked at again that was wrong.
const mendWait = 10 * time.Second

// rest waits after a failure: for the backoff, or in quarantine for an operator.
func (c *child) rest(ctx context.Context, failed *failure) {
	now := c.host.opts.Clock.Now()
	wait, quarantine := c.breaker.fail(now, failed.crash)
	if !failed.crash {
		wait = min(wait, mendWait) // somebody is about to put it right, and then does not want to wait
	}
	hint := strings.ReplaceAll(failed.hint, "NAME", c.spec.Name)
	if failed.cause != nil {
		c.log.Logger.Debug("cause of the failure", "error", c.redact(failed.cause.Error()))
	}
	c.mu.Lock()
	c.definite = !failed.crash
	c.mu.Unlock()
	if quarantine {
		c.set(core.PluginQuarantined, func(p *core.Plugin) {
			p.Failures = c.breaker.failures()
			p.Reason = failed.reason
			p.Hint = "it failed too often and is left alone; " + hint + ", then run wardroom plugin restart " + c.spec.Name
		})
		<-ctx.Done()
		return
	}
	due, stop := after(c.host.opts.Clock, wait) // before anybody can see the state and move the clock
	defer stop()
	c.set(core.PluginFailed, func(p *core.Plugin) {
		p.Failures = c.breaker.failures()
		p.Reason, p.Hint, p.NextAttempt = failed.reason, hint, now.Add(wait)
	})
	select {
	case <-due:
	case <-ctx.Done():
	}
}
