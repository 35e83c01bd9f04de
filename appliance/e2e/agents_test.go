package e2e_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/sdk/agent"
)

// fleet is a number of agents over the product's own library, with the record of what they did.
type fleet struct {
	agents  []*agent.Agent
	handled atomic.Int64 // handlers that began

	mu   sync.Mutex // guards all below
	runs map[string]int
}

// handler works on one task; n is the agent's number.
type handler func(ctx context.Context, n int, task *agent.Task) (any, error)

// join connects agents to the server for the rest of the test, and waits until they are in.
func (s *server) join(n int, capability string, handle handler) *fleet {
	s.t.Helper()
	f := &fleet{runs: map[string]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	s.t.Cleanup(func() { cancel(); running.Wait() })
	for i := range n {
		a, err := agent.New(agent.Options{
			URL: s.url, Name: fmt.Sprintf("%s-%d", capability, i), Capabilities: []string{capability},
			MaxConcurrentTasks: 64, ReconnectMax: 200 * time.Millisecond, ShutdownGrace: time.Second,
			Handler: func(ctx context.Context, task *agent.Task) (any, error) {
				f.mu.Lock()
				f.runs[task.TaskID]++
				f.mu.Unlock()
				f.handled.Add(1)
				return handle(ctx, i, task)
			},
		})
		if err != nil {
			s.t.Fatal(err)
		}
		f.agents = append(f.agents, a)
		running.Add(1)
		go func() {
			defer running.Done()
			if err := a.Run(ctx); err != nil {
				s.t.Errorf("agent %d: %v", i, err)
			}
		}()
	}
	f.wait(s.t)
	return f
}

// wait waits until all agents are connected.
func (f *fleet) wait(t testing.TB) {
	t.Helper()
	eventually(t, "the agents to connect", func() bool {
		for _, a := range f.agents {
			if !a.Connected() {
				return false
			}
		}
		return true
	})
}

// repeated returns the tasks that were worked on more than once.
func (f *fleet) repeated() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []string
	for id, n := range f.runs {
		if n > 1 {
			list = append(list, id)
		}
	}
	return list
}

// gate lets handlers wait for the test.
type gate struct {
	once sync.Once
	open chan struct{}
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) release() { g.once.Do(func() { close(g.open) }) }

// wait returns false when ctx ended first.
func (g *gate) wait(ctx context.Context) error {
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
