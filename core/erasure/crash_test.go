package erasure_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/erasure"
	"github.com/wardroom/wardroom/core/storetest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// keeping has managed agents, whose records are in no store, but go by a write to it as those of core/runtimes do.
type keeping struct {
	nothing
	records map[string]bool
}

func (k keeping) ForgetManagedAgent(ctx context.Context, id string) error {
	err := k.store.Update(ctx, func(tx core.Tx) error { return tx.DeleteManagedAgent(id) })
	if err == nil {
		delete(k.records, id)
	}
	return err
}

// ForgetManagedAgent and StopManagedAgent of stuck are those of a runtime that is gone: its agents are never stopped.
type stuck struct {
	nothing
	stops *int
}

func (stuck) ForgetManagedAgent(_ context.Context, id string) error {
	return core.Conflict("managed agent", id, "unreachable", "agent %s is unreachable: stop it first", id)
}

func (s stuck) StopManagedAgent(_ context.Context, id string, opts core.ManagedAgentStop) error {
	if opts.Force {
		*s.stops++
	}
	return core.Unavailable("runtime", "the runtime of %s is not configured", id)
}

// An agent that cannot be stopped does not keep what it worked for: the erasure ends, and names what remains.
func TestEraseBesideStuckAgent(t *testing.T) {
	clock := coretest.NewClock()
	m, ids := storetest.NewMemory(t), core.NewIDs(clock)
	now := clock.Now()
	k := stuck{nothing{store: m}, new(int)}
	e := &core.Execution{
		ID: ids.New(core.PrefixExecution), Status: core.ExecutionCompleted, Pattern: core.PatternRef{Name: "p"}, CreatedBy: "ann", CreatedAt: now, CompletedAt: &now,
	}
	r := &core.ThreadRecord{Thread: core.Thread{
		ID: ids.New(core.PrefixThread), ExecutionID: e.ID, Status: core.ThreadCompleted, AgentType: "claude", CreatedBy: "ann", CreatedAt: now,
		UpdatedAt: now, ManagedAgentID: "magent_1",
	}}
	m.Put(func(tx core.Tx) error { return errors.Join(tx.PutExecution(e), tx.PutThread(r)) })
	s := erasure.New(erasure.Options{Store: m, Work: k, Memory: k, Managed: k, Workspaces: k, Trail: k, Clock: clock, IDs: ids})
	s.Open()
	defer s.Close()
	begun, err := s.Erase(t.Context(), core.ErasureRequest{Subject: "ann", Confirm: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	var done *core.Erasure
	coretest.WaitFor(t, "the erasure to end", func() bool {
		clock.Advance(time.Second)
		done, err = s.FindErasure(t.Context(), begun.ID)
		return err == nil && done.Status != wire.ErasureRunning
	})
	if _, err := m.FindExecution(t.Context(), e.ID); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("the execution: %v", err)
	}
	if *k.stops != 1 || !slices.ContainsFunc(done.Remaining, func(r core.DataRemainder) bool { return strings.Contains(r.Note, "magent_1") }) {
		t.Errorf("%d stops, and %+v remain", *k.stops, done.Remaining)
	}
}

// trouble befalls an erasure at one of its writes.
type trouble int

const (
	none     trouble = iota
	killed           // the service ends at the write, and another one goes on
	diskFull         // the write is refused, and the service lives on
	lost             // the write is stored, and answered as one that failed
)

// erasedWith has an erasure of ann end, with a trouble after so many writes. It returns how many writes there were.
func erasedWith(t *testing.T, what trouble, after int) int {
	t.Helper()
	clock := coretest.NewClock()
	m, ids := storetest.NewMemory(t), core.NewIDs(clock)
	now := clock.Now()
	k := keeping{nothing{store: m}, map[string]bool{}}
	var executions []string
	for i, by := range []string{"ann", "bob"} { // bob's is of ann's data
		e := &core.Execution{
			ID: ids.New(core.PrefixExecution), Status: core.ExecutionCompleted, Pattern: core.PatternRef{Name: "p"}, CreatedBy: by,
			Options: core.ExecuteOptions{Metadata: core.Metadata{core.SubjectKey: "ann"}}, CreatedAt: now, CompletedAt: &now,
		}
		r := &core.ThreadRecord{Thread: core.Thread{
			ID: ids.New(core.PrefixThread), ExecutionID: e.ID, Status: core.ThreadCompleted, AgentType: "claude", CreatedBy: by, CreatedAt: now,
			UpdatedAt: now, ManagedAgentID: fmt.Sprint("magent_", i),
		}}
		k.records[r.ManagedAgentID] = true
		executions = append(executions, e.ID)
		m.Put(func(tx core.Tx) error { return errors.Join(tx.PutExecution(e), tx.PutThread(r)) })
	}
	open := func() *erasure.Service {
		s := erasure.New(erasure.Options{Store: m, Work: k, Memory: k, Managed: k, Workspaces: k, Trail: k, Clock: clock, IDs: ids})
		s.Open()
		return s
	}
	s := open()
	begun, err := s.Erase(t.Context(), core.ErasureRequest{Subject: "ann", Confirm: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	switch what {
	case lost:
		m.Lose(after + 1)
	case killed, diskFull:
		m.Break(after, core.Unavailable("store_read_only", "no room"))
		failed, over := m.Failed(), false
		coretest.WaitFor(t, "the trouble", func() bool {
			select {
			case <-failed:
				return true
			default:
				e, err := s.FindErasure(t.Context(), begun.ID)
				over = err == nil && e.Status != wire.ErasureRunning
				return over
			}
		})
		if what == killed {
			s.Close()
		}
		m.Heal()
		if what == killed {
			s = open()
		}
	}
	var e *core.Erasure
	coretest.WaitFor(t, "the erasure to end", func() bool {
		clock.Advance(time.Second)
		e, err = s.FindErasure(t.Context(), begun.ID)
		return err == nil && e.Status != wire.ErasureRunning
	})
	s.Close()
	for _, id := range executions {
		if _, err := m.FindExecution(t.Context(), id); core.ErrorCode(err) != core.CodeNotFound {
			t.Errorf("after %d, trouble %d: the execution: %v", after, what, err)
		}
	}
	if len(k.records) != 0 {
		t.Errorf("after %d, trouble %d: the records of agents %v stay", after, what, k.records)
	}
	if done := e.Done; done[core.DataExecutions] != 2 || done[core.DataThreads] != 2 || done[core.DataManagedAgents] != 2 {
		t.Errorf("after %d, trouble %d: done %v", after, what, done)
	}
	coretest.WaitFor(t, "the store to take writes", func() bool { return core.TakesWrites(t.Context(), m) == nil })
	log, _, err := m.Events(t.Context(), begun.ID, 0, 10)
	if err != nil || len(log) != 1 {
		t.Errorf("after %d, trouble %d: events %v, %v", after, what, log, err)
	}
	return m.Stored()
}

// TestCrashes ends the service at each write of an erasure, has the write refused for want of room, or stored and answered as one that
// failed: all goes, and counts once.
func TestCrashes(t *testing.T) {
	writes := erasedWith(t, none, 0)
	for after := range writes {
		for _, what := range []trouble{killed, diskFull, lost} {
			t.Run(fmt.Sprint(what, "/", after), func(t *testing.T) {
				t.Parallel()
				erasedWith(t, what, after)
			})
		}
	}
}

// An erasure that begins by a commit whose answer is lost goes on.
func TestEraseInDoubt(t *testing.T) {
	storetest.EachDoubt(t, func(t *testing.T, d storetest.Doubt) {
		clock := coretest.NewClock()
		m := storetest.NewMemory(t)
		k := nothing{store: m}
		s := erasure.New(erasure.Options{
			Store: m, Work: k, Memory: k, Managed: k, Workspaces: k, Trail: k, Clock: clock, IDs: core.NewIDs(clock),
		})
		s.Open()
		defer s.Close()
		_ = d.Change(m, clock, func() error {
			_, err := s.Erase(t.Context(), core.ErasureRequest{Subject: "ann", Confirm: "ann"})
			return err
		})
		coretest.WaitFor(t, "the erasure to end", func() bool {
			clock.Advance(time.Second)
			list, err := m.AllErasures(t.Context())
			return err == nil && len(list) == 1 && list[0].Status == wire.ErasureCompleted
		})
	})
}
