package engine_test

import (
	"context"
	"sync"
	"testing"
	stdtime "time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/engine"
)

// awayShelf is a shelf whose store is reopened at times.
type awayShelf struct {
	shelf

	mu    sync.Mutex // guards all below
	away  bool
	asked int // while it was away
}

func (a *awayShelf) Plan(ctx context.Context, hash string) (core.Plan, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away {
		a.asked++
		return nil, core.Unavailable("store_closed", "the store is being reopened")
	}
	return a.shelf.Plan(ctx, hash)
}

func (a *awayShelf) set(away bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away = away
}

func (a *awayShelf) misses() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

// An execution whose pattern cannot be read at the start for a moment is not ended for that.
func TestOpenWhileStoreIsReopened(t *testing.T) {
	r := newRig(t)
	r.agents.add("a", 1)
	away := &awayShelf{shelf: r.shelf}
	r.patterns = away
	r.pattern("p", core.Step{})
	id := r.open().start("p").ID
	r.Close()
	away.set(true)
	e := engine.New(engine.Options{Store: r.store, Patterns: away, Agents: r.agents, Streams: noStreams{}, Clock: r.clock, IDs: r.ids,
		Logger: hclog.NewNullLogger(), Config: r.config})
	if err := e.Open(t.Context()); !core.AsError(err).Unavailable {
		t.Errorf("opened with %v", err)
	}
	e.Close()
	away.set(false)
	r.restart()
	if got, err := r.FindExecution(t.Context(), id); err != nil || got.Status != core.ExecutionRunning {
		t.Errorf("%+v, %v", got, err)
	}
}

// A step that runs a pattern waits for a store that is reopened, through a restart as well.
func TestComposeWhileStoreIsReopened(t *testing.T) {
	for _, restart := range []bool{false, true} {
		r := newRig(t)
		r.agents.add("a", 1)
		away := &awayShelf{shelf: r.shelf}
		r.patterns = away
		r.pattern("inner", core.Step{})
		r.pattern("outer", core.Step{ID: "one"}, core.Step{ID: "two", Compose: &core.Composition{Name: "inner"}})
		id := r.open().start("outer").ID
		one := r.agents.await(t, 1)[0]
		away.set(true)
		r.agents.report(one.agent, one.task, `{}`, nil)
		coretest.WaitFor(t, "the pattern to be looked for", func() bool { return away.misses() > 0 })
		if restart {
			r.Close()
		}
		away.set(false)
		if restart {
			r.restart()
		}
		coretest.WaitFor(t, "the step", func() bool {
			r.clock.Advance(200 * stdtime.Millisecond)
			held := r.agents.held()
			return len(held) == 1 && held[0].task.ID != one.task.ID
		})
		two := r.agents.await(t, 1)[0]
		r.agents.report(two.agent, two.task, `{}`, nil)
		if e := r.wait(id); e.Status != core.ExecutionCompleted {
			t.Errorf("restart %v: %s, %+v", restart, e.Status, e.Error)
		}
	}
}
