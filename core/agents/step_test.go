package agents_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/agents"
	"github.com/wardroom/wardroom/core/coretest"
)

// However the wall clock is set, healthy agents stay, and one that falls silent is found out in its time.
func TestClockSteps(t *testing.T) {
	for name, step := range map[string]time.Duration{"ahead": 6 * time.Minute, "far ahead": 24 * 31 * time.Hour, "back": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			clock := coretest.NewStepClock()
			r := openRig(t, agents.Config{WriteTimeout: 24 * time.Hour}, newMemory(t), clock)
			p, reg := r.register("one", 1, "echo")
			gone, lost := r.register("two", 1, "echo")
			gone.cut()
			r.waitLost(lost.AgentID)
			advance(clock, 5*time.Second)
			clock.Step(step)
			advance(clock, 5*time.Second)
			if a := r.agent(reg.AgentID); !a.Healthy {
				t.Fatal("the agent is not healthy after a step")
			}
			if _, over := r.sink.lostTasks(lost.AgentID); over {
				t.Fatal("the grace of a lost agent ended by the step")
			}
			p.quiet() // and it shows when it was heard, by the wall clock
			if a := r.agent(reg.AgentID); a.LastHeartbeat.Sub(clock.Now().Round(0)).Abs() > time.Second {
				t.Errorf("heard at %v, the clock shows %v", a.LastHeartbeat, clock.Now())
			}
			advance(clock, 22*time.Second)
			if r.agent(reg.AgentID).Healthy {
				t.Error("a silent agent counts as healthy")
			}
			if got := r.svc.Reserve(need("echo"), 1); len(got) != 0 {
				t.Error("a silent agent gets tasks")
			}
			advance(clock, 10*time.Second)
			p.expectClose(4408)
			if _, over := r.sink.lostTasks(lost.AgentID); !over {
				t.Error("the grace of a lost agent did not end")
			}
		})
	}
}

// A connection that never registers is closed in time though the clock went back.
func TestClockStepBeforeRegister(t *testing.T) {
	clock := coretest.NewStepClock()
	r := openRig(t, agents.Config{}, newMemory(t), clock)
	p := r.dial()
	coretest.WaitFor(t, "the session", func() bool { return r.svc.Stats().Sessions == 1 })
	clock.Step(-time.Hour)
	advance(clock, 11*time.Second)
	p.expectClose(4408)
}
