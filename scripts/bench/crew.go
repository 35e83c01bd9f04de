package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/agent"
)

// taken is a task that came to an agent.
type taken struct {
	execution, role, step string // step is its path in the workflow
	at                    time.Time
}

// crew is agents of this process that serve the roles of org charts. It notes what comes to them, so the figures need
// not trust what the core says of itself.
type crew struct {
	*testbed.Agents

	mu   sync.Mutex // guards all below
	seen []taken    // in order
	held int        // tasks at agents that are not answered
	gate chan struct{}
}

// crewOptions say what agents there are. They all have the capability that is the crew's name.
type crewOptions struct {
	name   string
	agents int
	slots  int  // of each
	hold   bool // tasks are answered only once release is called, and otherwise at once
	answer any
}

// muster connects a crew and waits until all are registered.
func muster(ctx context.Context, server string, o crewOptions) (*crew, error) {
	c := &crew{gate: make(chan struct{})}
	var err error
	c.Agents, err = testbed.RunAgents(ctx, o.agents, func(i int) agent.Options {
		return agent.Options{
			URL: server, Name: fmt.Sprintf("%s-%d", o.name, i), Capabilities: []string{o.name},
			MaxConcurrentTasks: o.slots, Inline: !o.hold, ReconnectMax: crewReconnect,
			Handler: func(ctx context.Context, t *agent.Task) (any, error) {
				gate := c.arrive(t, o.hold)
				if o.hold {
					defer c.depart()
					select {
					case <-gate:
					case <-ctx.Done():
						return nil, ctx.Err()
					}
				}
				return o.answer, nil
			},
		}
	})
	return c, err
}

// crewReconnect is how often the agents look for a core that is gone, at most.
const crewReconnect = 100 * time.Millisecond

func (c *crew) arrive(t *agent.Task, hold bool) <-chan struct{} {
	at := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, taken{t.ExecutionID, t.Role, t.Step, at})
	if hold {
		c.held++
	}
	return c.gate
}

func (c *crew) depart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held--
}

// release answers the tasks that are held; those that come later are held anew.
func (c *crew) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.gate)
	c.gate = make(chan struct{})
}

// atAgents is how many tasks are held.
func (c *crew) atAgents() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held
}

// count is how many tasks came since the last take.
func (c *crew) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.seen)
}

// take returns what came since it was last called.
func (c *crew) take() []taken {
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := c.seen
	c.seen = nil
	return seen
}

// firstAfter returns when the first task of a step behind the one with a number came, of a workflow without nesting.
// Zero: none came yet.
func (c *crew) firstAfter(step int) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, a := range c.seen {
		if a.number() > step {
			return a.at
		}
	}
	return time.Time{}
}

// number is the number of a step among those around it, or -1.
func (a taken) number() int {
	n, err := strconv.Atoi(a.step[strings.LastIndexByte(a.step, '.')+1:])
	if err != nil {
		return -1
	}
	return n
}
