package pluginhost

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/plugin"
)

// target is a plugin as its callers hold it: the name, whichever process is behind it at the moment.
type target struct {
	host *Host
	name string
}

// unavailable is why a call did not get an answer: the plugin is not there, or ended during the call.
type unavailable struct {
	reason string
	during bool // the call may have had its effect
}

// live returns the instance to call, or why there is none.
func (t target) live() (*instance, *unavailable) {
	c := t.host.child(t.name)
	if c == nil {
		return nil, &unavailable{reason: "there is no plugin " + t.name}
	}
	i, silent := c.instance(), c.isSilent()
	if i != nil && !silent && !i.gone() {
		return i, nil
	}
	p, _ := c.snapshot()
	reason := "the plugin " + t.name + " is " + string(p.State)
	switch {
	case silent:
		reason = "the plugin " + t.name + " is silent: " + p.HealthReason
	case p.State == core.PluginReady:
		reason = "the plugin " + t.name + " has just ended"
	case p.Reason != "":
		reason += ": " + p.Reason
	}
	return nil, &unavailable{reason: reason}
}

// lost reports whether an error of a call means that the plugin ended during it. What gRPC says then depends on
// the moment: unavailable, or cancelled though the caller did not cancel.
func lost(ctx context.Context, i *instance, code string) bool {
	switch code {
	case string(plugin.CodeUnavailable), string(plugin.CodeCanceled), string(plugin.CodeInternal):
	default:
		return false
	}
	if ctx.Err() != nil {
		return false
	}
	if i.gone() {
		return true
	}
	if code == string(plugin.CodeInternal) {
		return false
	}
	select {
	case <-i.proc.done:
		return true
	case <-ctx.Done():
	case <-time.After(exitGrace): // the connection may report it before the process is seen to end
	}
	return false
}

// again waits, shortly, for a new instance after i, for a call that may be repeated.
func (t target) again(ctx context.Context, i *instance) *instance {
	c := t.host.child(t.name)
	if c == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, t.host.opts.Limits.Again)
	defer cancel()
	c.await(ctx, func(*core.Plugin, bool) bool {
		now := c.instance()
		return now != nil && now != i
	})
	if next := c.instance(); next != i {
		return next
	}
	return nil
}

// kindOf is what differs between the kinds of plugins in a call.
type kindOf struct {
	code func(error) string       // of an error of the kind
	down func(*unavailable) error // makes an error of the kind
}

// call makes one call of a plugin and counts it. read says that it may be repeated when the plugin ended
// during it.
func call[T any](ctx context.Context, t target, k kindOf, method string, read bool, fn func(*plugin.Conn) (T, error)) (T, error) {
	began := t.host.opts.Clock.Now()
	i, down := t.live()
	var out T
	var err error
	for down == nil {
		if out, err = fn(i.conn); err == nil || !lost(ctx, i, k.code(err)) {
			break
		}
		down = &unavailable{reason: "the plugin " + t.name + " ended during the call", during: true}
		if !read {
			break
		}
		read = false
		if next := t.again(ctx, i); next != nil {
			i, down = next, nil
		}
	}
	if down != nil {
		var none T
		out, err = none, k.down(down)
	}
	code := "ok"
	if err != nil {
		code = k.code(err)
	}
	t.host.opts.Metrics.Called(t.name, method, code, t.host.opts.Clock.Now().Sub(began))
	return out, err
}
