package e2e_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/wardroom/wardroom/sdk/client"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// killRuntime ends the runtime as a crash does, and returns when it is back: a plugin comes by itself.
func (c *crew) killRuntime() {
	c.t.Helper()
	if c.runtime != nil {
		c.runtime.kill()
		c.runtime.start()
		return
	}
	before := c.pluginPID()
	killed(c.t, before)
	eventually(c.t, "the next process of the plugin", func() bool {
		p, err := c.api.GetPlugin(c.t.Context(), "runtime-local")
		return err == nil && p.State == "ready" && p.PID != before
	})
}

// TestFrozenRuntime freezes the runtime's plugin: its agents are out of reach, calls about them say so, and both pass when it
// goes on, or is started anew because it does not.
func TestFrozenRuntime(t *testing.T) {
	t.Parallel()
	c := managed(t)
	a := c.shell()
	pid := c.pluginPID()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }()
	c.awaitAgent(a.ID, "unreachable", func(a *client.ManagedAgent) bool {
		return a.Status == client.ManagedUnreachable && a.StatusReason == "runtime_away"
	})
	if e := c.refused(c.agentPost(a.ID, "send", `{"message": "echo away"}`), 503, "INTERNAL_ERROR", "UNAVAILABLE"); e.Error.Message == "" {
		t.Error("the refusal says nothing")
	}
	_ = syscall.Kill(pid, syscall.SIGCONT)
	c.await(a.ID, client.ManagedReady)
	c.told(a.ID, "echo back", "back")
	c.retire(a.ID)
}

// startRuntime brings a runtime back that is a server.
func (c *crew) startRuntime() {
	c.t.Helper()
	if c.runtime != nil {
		c.runtime.start()
	}
}

// faults are what an agent outlives.
var faults = []struct {
	name   string
	strike func(*crew)
}{
	{"core", func(c *crew) { c.kill(); c.start() }},
	{"runtime", (*crew).killRuntime},
	{"both", func(c *crew) {
		if c.runtime != nil {
			c.runtime.kill()
			c.kill()
		} else {
			pid := c.pluginPID()
			c.kill()
			if !zombie(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended with the core
			}
		}
		c.startRuntime()
		c.start()
	}},
	{"restart", func(c *crew) {
		c.stop()
		if c.runtime != nil {
			c.runtime.stop()
		}
		c.startRuntime()
		c.start()
	}},
	{"twice", func(c *crew) { c.kill(); c.start(); c.kill(); c.start() }},
}

// ticking makes the agent print lines for two seconds. A person types it, so it is a turn of its own.
const ticking = "for i in $(seq 1 100); do echo tick %d-$i.; sleep 0.02; done\r"

// Whatever dies around an agent, the agent lives on: same id, same process, its history is there, what it
// printed meanwhile is not lost, and it answers.
func TestRecovery(t *testing.T) {
	t.Parallel()
	for place, start := range map[string]func(*testing.T, ...string) *crew{"Plugin": managed, "URL": managedByURL} {
		t.Run(place, func(t *testing.T) {
			c := start(t)
			one, two := c.shell(), c.shell()
			gone := c.shell()
			c.retire(gone.ID)
			history := "started ready"
			for i, fault := range faults {
				t.Run(fault.name, func(t *testing.T) {
					c.server.t, c.t = t, t
					history = outlives(t, c, one, i, fault.strike, history)
				})
				c.server.t = t
				if t.Failed() {
					return
				}
			}
			c.told(two.ID, "echo never asked before", "never asked before")
			if a := c.agent(gone.ID); a.Status != client.ManagedStopped || a.ExitCode == nil {
				t.Errorf("an agent that was stopped is now %+v", a)
			}
			list, err := c.api.ListManagedAgents(t.Context(), client.ManagedAgentFilter{})
			if err != nil || list.Total != 3 {
				t.Errorf("agents %+v, %v", list, err)
			}
			for _, a := range []*client.ManagedAgent{one, two} {
				c.retire(a.ID)
			}
		})
	}
}

// outlives strikes once, and returns the events that the agent has by then.
func outlives(t *testing.T, c *crew, a *client.ManagedAgent, round int, strike func(*crew), history string) string {
	before := fmt.Sprintf("before %d", round)
	c.told(a.ID, "echo "+before, before)
	turn := " busy turn_complete ready"
	history += turn
	v := c.view(a.ID, runtime.AttachOptions{})
	v.sees(before)
	tick := func(i int) string { return fmt.Sprintf("tick %d-%d.", round, i) }
	v.types(fmt.Sprintf(ticking, round))
	v.sees(tick(25))
	v.close()
	seen, from := v.text(), v.at()

	strike(c)
	c.runtimeReady()
	now := c.await(a.ID, client.ManagedReady)
	if now.PID != a.PID || zombie(a.PID) || !now.CreatedAt.Equal(a.CreatedAt) {
		t.Fatalf("the agent is now %+v, was %+v", now, a)
	}
	v = c.view(a.ID, runtime.AttachOptions{From: from})
	v.sees(tick(100))
	if v.lost != 0 || v.screens != 0 {
		t.Errorf("the terminal went on with %d bytes lost and %d screens", v.lost, v.screens)
	}
	ticks(t, tick, seen+v.text())
	after := fmt.Sprintf("after %d", round)
	c.told(a.ID, "echo "+after, after)
	v.sees(after)
	v.close()
	history += turn + turn // that of the person, and that of the message
	c.awaitEvents(a.ID, history)
	for stream, want := range map[string]string{"input": "echo ", "output": ""} {
		if lines := strings.Join(c.logs(a.ID, stream), "\n"); !strings.Contains(lines, want+before) || !strings.Contains(lines, want+after) {
			t.Errorf("the log has as %s %q", stream, lines)
		}
	}
	screen := c.view(a.ID, runtime.AttachOptions{Tail: 500})
	screen.sees(after)
	if !strings.Contains(screen.text(), tick(100)) {
		t.Errorf("a new viewer sees %q", screen.text())
	}
	screen.close()
	return history
}

// ticks wants every line of the agent once, in order.
func ticks(t *testing.T, tick func(int) string, output string) {
	t.Helper()
	at := 0
	for i := 1; i <= 100; i++ {
		line := tick(i) + "\r\n"
		if n := strings.Count(output, line); n != 1 {
			t.Errorf("%q came %d times", line, n)
			return
		}
		next := strings.Index(output, line)
		if next < at {
			t.Errorf("%q came too early", line)
			return
		}
		at = next
	}
}

// An agent whose holder is killed is lost, says so, and leaves no process behind; it can be started again.
func TestHolderKilled(t *testing.T) {
	t.Parallel()
	for place, start := range map[string]func(*testing.T, ...string) *crew{"Plugin": managed, "URL": managedByURL} {
		t.Run(place, func(t *testing.T) {
			c := start(t)
			a := c.shell()
			c.told(a.ID, "(setsid sleep 1000 & nohup sleep 1000 >/dev/null 2>&1 &); echo begun", "begun")
			v := c.view(a.ID, runtime.AttachOptions{})
			v.sees("begun")
			killed(t, parent(t, a.PID))
			lost(t, c, a)
			if exit := v.ends(); exit == nil || exit.Reason != runtime.ReasonLost {
				t.Errorf("the viewer was told of the exit %+v", exit)
			}
			if _, err := c.api.RestartManagedAgent(t.Context(), a.ID, client.ManagedAgentRestart{}); err != nil {
				t.Fatal(err)
			}
			a = c.await(a.ID, client.ManagedReady)
			c.told(a.ID, "echo back", "back")

			// And once more while nobody looks.
			if c.runtime != nil {
				c.runtime.kill()
			}
			c.kill()
			killed(t, parent(t, a.PID))
			c.startRuntime()
			c.start()
			c.runtimeReady()
			lost(t, c, a)
		})
	}
}

func lost(t *testing.T, c *crew, a *client.ManagedAgent) {
	t.Helper()
	now := c.await(a.ID, client.ManagedError)
	if now.StatusReason != runtime.ReasonLost || now.StoppedAt == nil {
		t.Errorf("an agent without its holder is %+v", now)
	}
	c.nobodyLeft(a.ID)
	c.refused(c.agentPost(a.ID, "send", `{"message":"x"}`), 409, "CONFLICT", "NOT_RUNNING")
	if lines := c.logs(a.ID, "input"); len(lines) == 0 {
		t.Error("the log of a lost agent is gone")
	}
}

// An agent that is killed by somebody else has crashed, and its children end with it.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	c := managed(t)
	a := c.shell()
	c.told(a.ID, "(setsid sleep 1000 &); echo begun", "begun")
	killed(t, a.PID)
	now := c.await(a.ID, client.ManagedError)
	if now.StatusReason != runtime.ReasonExited || now.ExitCode == nil || *now.ExitCode != 137 {
		t.Errorf("an agent that was killed is %+v", now)
	}
	c.nobodyLeft(a.ID)
}

// A stop that the core dies over is carried out after its return.
func TestStopOverAKill(t *testing.T) {
	t.Parallel()
	c := managed(t)
	a := c.shell()
	c.told(a.ID, "trap '' TERM HUP INT; echo stubborn", "stubborn")
	asked := make(chan error, 1)
	go func() { asked <- c.api.StopManagedAgent(t.Context(), a.ID, false, patience) }()
	eventually(t, "the stop to begin", func() bool {
		return strings.Contains(strings.Join(c.logs(a.ID, "terminal"), "\n"), "exit") || c.stopping(a.ID)
	})
	c.kill()
	<-asked
	c.start()
	c.runtimeReady()
	c.await(a.ID, client.ManagedStopped)
	c.nobodyLeft(a.ID)
}

// stopping reports whether the polite line was typed already.
func (c *crew) stopping(id string) bool {
	v := c.view(id, runtime.AttachOptions{})
	defer v.close()
	v.sees("ready>")
	return strings.Contains(v.text(), "ready> exit")
}
