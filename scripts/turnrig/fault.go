package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/holder/proc"
	"github.com/wardroom/wardroom/sdk/wire"
)

// What is killed.
var victims = []string{"core", "plugin", "cli", "holder"}

// faults kills something now and then until ctx ends.
func (r *rig) faults(ctx context.Context, random *rand.Rand) error {
	if r.options.killEvery == 0 {
		<-ctx.Done()
		return nil
	}
	for {
		if testbed.Pause(ctx, time.Duration(float64(r.options.killEvery)*(0.5+random.Float64()))) != nil {
			return nil
		}
		if err := r.release(ctx); err != nil {
			return fmt.Errorf("restart the plugin: %w", err)
		}
		victim := victims[random.IntN(len(victims))]
		a := r.actors[random.IntN(len(r.actors))]
		r.say("kill %s (%s)", victim, a.name())
		shared := victim == "core" || victim == "plugin"
		if shared {
			r.jolt()
		}
		var err error
		switch victim {
		case "core":
			err = r.killCore(ctx)
		case "plugin":
			err = r.killPlugin()
		default:
			err = a.kill(victim)
		}
		if err != nil {
			return fmt.Errorf("kill the %s: %w", victim, err)
		}
		if shared {
			r.jolt() // turns that began while it was killed
		}
		r.kills[victim]++
	}
}

// killCore kills the server, and with it its plugins, and starts it again.
func (r *rig) killCore(ctx context.Context) error {
	r.server.Kill()
	if ctx.Err() != nil {
		return nil
	}
	return r.server.Start(ctx)
}

// killPlugin kills the runtime's plugin; the server starts it again.
func (r *rig) killPlugin() error {
	pids, err := testbed.Running(testbed.RuntimePlugin, testbed.Plugins(r.binary))
	for _, pid := range pids {
		if testbed.Parent(pid) == r.server.PID() { // others may use the same binaries
			_ = unix.Kill(pid, unix.SIGKILL) // it may have ended
		}
	}
	return err
}

// release restarts the plugin by hand, as an operator does, if it was killed so often that the server leaves it alone.
func (r *rig) release(ctx context.Context) error {
	p, err := r.server.Client.GetPlugin(ctx, testbed.RuntimePlugin)
	if err == nil && p.State == wire.PluginQuarantined {
		r.say("the plugin is restarted by hand")
		_, err = r.server.Client.RestartPlugin(ctx, testbed.RuntimePlugin)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// jolt notes that something was killed that all agents share.
func (r *rig) jolt() {
	for _, a := range r.actors {
		a.jolt()
	}
}

// jolt notes that something was killed that the turn which runs must outlive.
func (a *actor) jolt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.now != nil {
		a.now.jolted = true
	}
}

// kill kills the agent's command line, or what holds its terminal. The turn that runs may end by it.
func (a *actor) kill(victim string) error {
	marked, err := proc.Marked("WARDROOM_AGENT_ID")
	if err != nil {
		return err
	}
	list := marked[a.id]
	if len(list) == 0 {
		return nil // it is down already
	}
	main := list[0]
	for _, p := range list {
		if p.Start < main.Start {
			main = p
		}
	}
	id := main
	if victim == "holder" {
		info, err := proc.Stat(main.PID)
		if err != nil {
			return nil //nolint:nilerr // it ended meanwhile
		}
		parent, err := proc.Stat(info.Parent)
		if err != nil {
			return nil //nolint:nilerr // likewise
		}
		id = parent.ID
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kills++
	if a.now != nil {
		a.now.struck = true
	}
	_ = proc.Signal(id, unix.SIGKILL)
	return nil
}
