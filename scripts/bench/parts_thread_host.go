package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/wardroom/wardroom/scripts/testbed"
	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	api "github.com/wardroom/wardroom/sdk/client"
)

// threadType is the agent type that the hosts of this process offer.
const threadType = "bench"

// hostedConfig lets few connected agents tell as much as very many would.
const hostedConfig = `server: {listen: $LISTEN, environment: development}
store: {path: $DIR/store}
agents: {messagesPerSecond: 1000000}
threads: {maxThreads: 1000}
`

// hosting is a core whose threads run at connected agents of this process.
type hosting struct {
	*server
	agents *testbed.Agents
	arrive chan *agent.Thread
}

// serveHosted starts a core and connects agents that host up to slots threads each.
func (b *bench) serveHosted(ctx context.Context, agents, slots int) (*hosting, error) {
	dir, err := os.MkdirTemp(b.dir, "hosted-")
	if err != nil {
		return nil, err
	}
	s, err := started(ctx, func() (*testbed.Server, error) { return testbed.NewServer(b.binary, dir, hostedConfig) })
	if err != nil {
		return nil, err
	}
	h := &hosting{server: s, arrive: make(chan *agent.Thread, agents*slots)}
	h.agents, err = testbed.RunAgents(ctx, agents, func(i int) agent.Options {
		return agent.Options{
			URL: h.URL, Name: fmt.Sprintf("host-%d", i), Capabilities: []string{"host"},
			Handler: func(context.Context, *agent.Task) (any, error) {
				return nil, errors.New("this agent hosts threads only")
			},
			Threads:       &agent.ThreadOptions{Max: slots, Types: []string{threadType}, Host: threadHost{h}},
			ShutdownGrace: 10 * time.Second,
		}
	})
	if err != nil {
		s.stop()
		return nil, err
	}
	return h, nil
}

// close ends the core, and then the agents: what they would tell of their end is nobody's concern, nor why any of them
// ended before: what a part needs of them it misses.
func (h *hosting) close() {
	h.stop()
	_ = h.agents.End()
}

// threads spawns n threads of one execution and waits until their agents are ready. They are not in order.
func (h *hosting) threads(ctx context.Context, n int) (execution string, all []*agent.Thread, err error) {
	execution = api.NewExecution
	for range n {
		t, err := h.Client.SpawnThread(ctx, api.ThreadSpec{ExecutionID: execution, AgentType: threadType, Runtime: "connected"})
		if err != nil {
			return "", nil, err
		}
		execution = t.ExecutionID
	}
	if err := h.count(ctx, execution, api.ThreadReady, n); err != nil {
		return "", nil, err
	}
	for range n {
		all = append(all, <-h.arrive)
	}
	return execution, all, nil
}

// count waits until as many threads of an execution have a status.
func (h *hosting) count(ctx context.Context, execution, status string, n int) error {
	return testbed.Until(ctx, 3*time.Minute, fmt.Sprintf("%d threads are %s", n, status), func(ctx context.Context) (bool, error) {
		list, err := h.Client.ListThreads(ctx, api.ThreadFilter{ExecutionID: execution, Status: status, Page: api.Page{Limit: 1}})
		return err == nil && list.Total == n, err
	})
}

// threadHost is an agent.ThreadHost whose threads do what the bench tells them.
type threadHost struct{ h *hosting }

// Spawn implements agent.ThreadHost.
func (h threadHost) Spawn(ctx context.Context, t *agent.Thread) error {
	if err := t.Tell(ctx, agent.ThreadEvent{Type: protocol.ThreadStarted}); err != nil {
		return err
	}
	if err := t.Ready(ctx); err != nil {
		return err
	}
	h.h.arrive <- t
	return nil
}

// Message implements agent.ThreadHost. No part sends one.
func (threadHost) Message(context.Context, *agent.Thread, agent.ThreadMessage) error { return nil }

// Answer implements agent.ThreadHost.
func (threadHost) Answer(context.Context, *agent.Thread, protocol.ThreadAnswer) error { return nil }

// Stop implements agent.ThreadHost.
func (threadHost) Stop(context.Context, *agent.Thread, protocol.ThreadStop) error { return nil }
