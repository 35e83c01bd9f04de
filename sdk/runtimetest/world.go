package runtimetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// Type is the agent type that a world knows.
const Type = "shell"

const (
	ringBytes   = 256 << 10
	defaultCols = 120
	defaultRows = 40
	maxKept     = 10_000 // events
)

// World is what outlives the process of a runtime: agents and their history. It is safe for concurrent use.
type World struct {
	wg     sync.WaitGroup // workers of agents
	events events         // of this world alone: see runtime.Event.Log

	mu     sync.Mutex        // guards all below
	agents map[string]*agent // by id
	order  []*agent          // oldest first
	pid    int
}

// NewWorld returns an empty world.
func NewWorld() *World {
	return &World{agents: map[string]*agent{}, pid: 1000, events: events{id: rand.Text()}}
}

// Close ends all agents and waits for them.
func (w *World) Close() {
	for _, a := range w.all() {
		_ = a.stop(context.Background(), runtime.StopOptions{Force: true})
	}
	w.wg.Wait()
}

// Runtime returns a runtime over the world, as a new process of it would be.
func (w *World) Runtime() *Runtime {
	ctx, cancel := context.WithCancel(context.Background())
	return &Runtime{world: w, alive: ctx, kill: cancel}
}

func (w *World) all() []*agent {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.order)
}

func (w *World) find(id string) (*agent, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if a := w.agents[id]; a != nil {
		return a, nil
	}
	return nil, runtime.NotFound(id)
}

// spawn starts an agent, or returns the one that the same spec started before.
func (w *World) spawn(spec runtime.Spec) (runtime.Agent, error) {
	if err := check(spec); err != nil {
		return runtime.Agent{}, err
	}
	w.mu.Lock()
	a := w.agents[spec.ID]
	if a == nil {
		w.pid++
		a = newAgent(w, spec, w.pid)
		w.agents[spec.ID] = a
		w.order = append(w.order, a)
		a.begin() // under the lock: an agent without a life is never found
		w.mu.Unlock()
		return a.view(), nil
	}
	w.mu.Unlock()
	if !same(a.spec, spec) {
		return runtime.Agent{}, runtime.Errorf(runtime.CodeAlreadyExists, "agent %q exists with another spec", spec.ID)
	}
	if a.running() {
		return a.view(), nil
	}
	return runtime.Agent{}, runtime.Errorf(runtime.CodeAlreadyExists, "agent %q exists and has stopped; restart or prune it", spec.ID)
}

func (w *World) remove(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.agents, id)
	w.order = slices.DeleteFunc(w.order, func(a *agent) bool { return a.spec.ID == id })
}

func (w *World) recover(handles []runtime.Handle) []runtime.Recovered {
	results := make([]runtime.Recovered, 0, len(handles))
	for _, handle := range handles {
		result := runtime.Recovered{Handle: handle}
		if string(handle.Data) != handleData(handle.ID) {
			result.Error = runtime.Errorf(runtime.CodeInvalidHandle, "the handle of agent %q is not of this runtime", handle.ID)
		} else if a, err := w.find(handle.ID); err != nil {
			result.Error = runtime.AsError(err)
		} else {
			view := a.view()
			result.Agent = &view
		}
		results = append(results, result)
	}
	return results
}

func (w *World) prune(ctx context.Context, opts runtime.PruneOptions) (runtime.PruneReport, error) {
	var report runtime.PruneReport
	for _, a := range w.all() {
		id := a.spec.ID
		if a.spec.Installation != opts.Installation || slices.Contains(opts.Keep, id) {
			continue
		}
		if a.running() {
			if time.Since(a.view().CreatedAt) < opts.Grace {
				report.Left = append(report.Left, id)
				continue
			}
			report.Stopped = append(report.Stopped, id)
			if !opts.DryRun {
				if err := a.stop(ctx, runtime.StopOptions{Force: true}); err != nil {
					return report, err
				}
			}
		}
		report.Removed = append(report.Removed, id)
		if !opts.DryRun {
			w.remove(id)
			w.events.remove(id)
		}
	}
	return report, nil
}

func handleData(id string) string { return fmt.Sprintf(`{"v":1,"id":%q}`, id) }
