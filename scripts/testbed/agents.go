package testbed

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/wardroom/wardroom/sdk/agent"
	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// Agents are agents of this process.
type Agents struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu   sync.Mutex // guards errs
	errs []error
}

// RunAgents connects n agents and waits until all are registered. They end with ctx, or with End.
func RunAgents(ctx context.Context, n int, options func(i int) agent.Options) (*Agents, error) {
	running, cancel := context.WithCancel(ctx)
	a := &Agents{cancel: cancel}
	registered, failed := make(chan struct{}, n), make(chan struct{}, n)
	for i := range n {
		o := options(i)
		o.OnRegistered = func(protocol.Registered) {
			select {
			case registered <- struct{}{}:
			default: // it came back
			}
		}
		one, err := agent.New(o)
		if err != nil {
			return nil, errors.Join(err, a.End())
		}
		a.wg.Go(func() {
			if err := one.Run(running); err != nil {
				a.mu.Lock()
				a.errs = append(a.errs, err)
				a.mu.Unlock()
				failed <- struct{}{}
			}
		})
	}
	for range n {
		select {
		case <-registered:
		case <-failed:
			return nil, a.End()
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), a.End())
		}
	}
	return a, nil
}

// PlayAgents is a child's part: it runs agents, says that it is ready once all are registered, and returns when they have
// ended, which ctx makes them.
func PlayAgents(ctx context.Context, part string, n int, options func(i int) agent.Options) error {
	a, err := RunAgents(ctx, n, options)
	if err != nil {
		return err
	}
	fmt.Println(readyPrefix + part)
	return a.wait()
}

// End ends the agents and waits for them. It returns why any of them ended before.
func (a *Agents) End() error {
	a.cancel()
	return a.wait()
}

func (a *Agents) wait() error {
	a.wg.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return errors.Join(a.errs...)
}
