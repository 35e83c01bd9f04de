package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
	api "github.com/wardroom/wardroom/sdk/client"
)

// threadType is the agent type that the hosts of this process offer.
const threadType = "bench"

// hostedConfig lets few connected agents tell as much as very many would.
const hostedConfig = `server:
  listen: "127.0.0.1:0"
  environment: development
store:
  path: %s
agents:
  messagesPerSecond: 1000000
threads:
  maxThreads: 1000
`

// hosting is a core whose threads run at connected agents of this process.
type hosting struct {
	*server
	api    *api.Client
	cancel context.CancelFunc
	wg     sync.WaitGroup
	arrive chan *agent.Thread

	mu   sync.Mutex // guards all below
	errs []error
}

// serveHosted starts a core and connects agents that host up to slots threads each.
func (b *bench) serveHosted(ctx context.Context, agents, slots int) (*hosting, error) {
	data, err := os.MkdirTemp(b.dir, "hosted-")
	if err != nil {
		return nil, err
	}
	config := filepath.Join(data, "wardroom.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, hostedConfig, storePath(data)), 0o600); err != nil {
		return nil, err
	}
	p, err := launch(ctx, filepath.Join(data, "server.log"), b.binary, "serve", "--config", config)
	if err != nil {
		return nil, err
	}
	h := &hosting{server: &server{process: p, host: strings.TrimPrefix(p.ready, "http://"), data: data}, arrive: make(chan *agent.Thread, agents*slots)}
	ctx, h.cancel = context.WithCancel(ctx)
	if h.api, err = api.New(p.ready, api.Options{}); err == nil {
		err = h.connect(ctx, agents, slots)
	}
	if err != nil {
		return nil, errors.Join(err, h.close())
	}
	return h, nil
}

// connect starts the agents and waits until all are registered.
func (h *hosting) connect(ctx context.Context, agents, slots int) error {
	registered, failed := make(chan struct{}, agents), make(chan error, agents)
	for i := range agents {
		a, err := agent.New(agent.Options{
			URL: h.ready, Name: fmt.Sprintf("host-%d", i), Capabilities: []string{"host"},
			Handler: func(context.Context, *agent.Task) (any, error) {
				return nil, errors.New("this agent hosts threads only")
			},
			Threads:       &agent.ThreadOptions{Max: slots, Types: []string{threadType}, Host: threadHost{h}},
			ShutdownGrace: 10 * time.Second,
			OnRegistered: func(protocol.Registered) {
				select {
				case registered <- struct{}{}:
				default: // it came back
				}
			},
		})
		if err != nil {
			return err
		}
		h.wg.Go(func() {
			if err := a.Run(ctx); err != nil {
				h.mu.Lock()
				h.errs = append(h.errs, err)
				h.mu.Unlock()
				failed <- err
			}
		})
	}
	for range agents {
		select {
		case <-registered:
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// close ends the core, and then the agents: what they would tell of their end is nobody's concern. It returns why any
// of them ended before.
func (h *hosting) close() error {
	err := h.stop()
	h.cancel()
	h.wg.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return errors.Join(append(h.errs, err)...)
}

// threads spawns n threads of one execution and waits until their agents are ready. They are not in order.
func (h *hosting) threads(ctx context.Context, n int) (execution string, all []*agent.Thread, err error) {
	execution = api.NewExecution
	for range n {
		t, err := h.api.SpawnThread(ctx, api.ThreadSpec{ExecutionID: execution, AgentType: threadType, Runtime: "connected"})
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
	return until(ctx, 3*time.Minute, fmt.Sprintf("%d threads are %s", n, status), func() (bool, error) {
		list, err := h.api.ListThreads(ctx, api.ThreadFilter{ExecutionID: execution, Status: status, Page: api.Page{Limit: 1}})
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
