package erasure_test

import (
	"context"
	"errors"
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

// running is a store that holds erasures and nothing else.
type running struct {
	erasure.Store
	list []*core.ErasureRecord
}

func (r *running) AllErasures(context.Context) ([]*core.ErasureRecord, error) { return r.list, nil }

func TestEraseRefuses(t *testing.T) {
	clock := coretest.NewClock()
	s := erasure.New(erasure.Options{Store: &running{}, Clock: clock, IDs: core.NewIDs(clock)})
	s.Open()
	defer s.Close()
	for name, req := range map[string]core.ErasureRequest{
		"NoSubject":    {},
		"Blank":        {Subject: " ", Confirm: " "},
		"Long":         {Subject: strings.Repeat("a", core.MaxIndexedBytes+1)},
		"Everybody":    {Subject: core.Anonymous.ID, Confirm: core.Anonymous.ID},
		"Ourselves":    {Subject: core.System.ID, Confirm: core.System.ID},
		"NoConfirm":    {Subject: "ann"},
		"OtherConfirm": {Subject: "ann", Confirm: "bob"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := s.Erase(t.Context(), req); core.ErrorCode(err) != core.CodeValidation {
				t.Errorf("%v", err)
			}
		})
	}
	if err := s.Export(t.Context(), "", func(core.DataItem) error { return nil }); core.ErrorCode(err) != core.CodeValidation {
		t.Errorf("an export of nobody: %v", err)
	}
}

// Asking again while an erasure runs answers the same one.
func TestEraseTwice(t *testing.T) {
	clock := coretest.NewClock()
	have := &core.ErasureRecord{Erasure: core.Erasure{ID: "ers_1", Status: wire.ErasureRunning}, Subject: "ann"}
	s := erasure.New(erasure.Options{Store: &running{list: []*core.ErasureRecord{have}}, Clock: clock, IDs: core.NewIDs(clock)})
	if e, err := s.Erase(t.Context(), core.ErasureRequest{Subject: "ann", Confirm: "ann"}); err != nil || e.ID != "ers_1" {
		t.Errorf("%+v, %v", e, err)
	}
}

// nothing is all that an erasure needs beside the store, where there is nothing of it.
type nothing struct {
	erasure.Work
	erasure.ManagedAgents
	erasure.Workspaces
	store  *storetest.Memory
	broken string // id of an execution that cannot be read
}

func (n nothing) Delete(ctx context.Context, id string) error {
	if id == n.broken {
		return core.Errorf(core.CodeInternal, "the stored execution cannot be read").WithCause(core.ErrUnreadable)
	}
	return n.store.DeleteExecution(ctx, id, core.Event{Type: core.EventExecutionDeleted, Subject: id})
}

func (nothing) ForgetExecution(context.Context, string) ([]string, error) { return nil, nil }
func (nothing) FindManagedAgents(context.Context, core.ManagedAgentFilter) ([]*core.ManagedAgent, core.PageInfo, error) {
	return nil, core.PageInfo{}, nil
}

func (nothing) Redact(core.AuditRow, *core.ErasureRecord, func(string) bool) ([]byte, error) {
	return nil, nil
}

func (nothing) FindAudit(context.Context, core.AuditFilter) (*core.AuditPage, error) {
	return &core.AuditPage{}, nil
}

// An execution that cannot be read keeps nothing else of its subject from being erased, is counted, and named in exports.
func TestEraseBesideBroken(t *testing.T) {
	clock := coretest.NewClock()
	m := storetest.NewMemory(t)
	var ids []string
	for i := range 3 {
		made := clock.Now().Add(time.Duration(i-10) * time.Second)
		e := &core.Execution{
			ID: core.IDBound(core.PrefixExecution, made), Status: core.ExecutionCompleted, Pattern: core.PatternRef{Name: "p"}, CreatedBy: "ann",
			CreatedAt: made, CompletedAt: &made,
		}
		ids = append(ids, e.ID)
		m.Put(func(tx core.Tx) error {
			return errors.Join(tx.PutExecution(e), tx.Append(core.Event{Type: core.EventTaskAssigned, Subject: e.ID, Time: made}))
		})
	}
	e := erased(t, m, nothing{store: m, broken: ids[1]}, clock, core.NewIDs(clock), core.ErasureRequest{Subject: "ann", Confirm: "ann"})
	if e.Done[core.DataExecutions] != 2 || e.Unreadable[core.DataExecutions] != 1 {
		t.Errorf("done %v, unreadable %v", e.Done, e.Unreadable)
	}
	for i, id := range ids {
		_, err := m.FindExecution(t.Context(), id)
		events, _, eventsErr := m.Events(t.Context(), id, 0, 10)
		if gone := core.ErrorCode(err) == core.CodeNotFound; gone != (i != 1) || eventsErr != nil || len(events) > 0 && i == 1 && events[0].Type == core.EventTaskAssigned {
			t.Errorf("%d: %v, events %v, %v", i, err, events, eventsErr)
		}
	}
}

// An export has all sessions of its subject, however many pages they take.
func TestExportSessions(t *testing.T) {
	clock := coretest.NewClock()
	m, ids := storetest.NewMemory(t), core.NewIDs(clock)
	const count = core.MaxPageLimit + 5
	m.Put(func(tx core.Tx) error {
		for range count {
			r := new(core.SessionRecord)
			r.ID, r.User, r.CreatedAt, r.MAC = ids.New(core.PrefixSession), "ann", clock.Now(), []byte("mac")
			if err := tx.PutSession(r); err != nil {
				return err
			}
		}
		return nil
	})
	n := nothing{store: m}
	svc := erasure.New(erasure.Options{Store: m, Work: n, Managed: n, Workspaces: n, Memory: n, Trail: n, Clock: clock, IDs: ids})
	got := map[string]bool{}
	err := svc.Export(t.Context(), "ann", func(item core.DataItem) error {
		if item.Kind == core.DataSessions {
			got[item.ID] = true
		}
		return nil
	})
	if err != nil || len(got) != count {
		t.Errorf("%d sessions of %d, %v", len(got), count, err)
	}
}

// erased runs an erasure of ann, whose executions are stored before, to its end.
func erased(t *testing.T, m *storetest.Memory, n nothing, clock *coretest.Clock, ids core.IDs, req core.ErasureRequest) *core.Erasure {
	t.Helper()
	s := erasure.New(erasure.Options{Store: m, Work: n, Memory: n, Managed: n, Workspaces: n, Trail: n, Clock: clock, IDs: ids})
	s.Open()
	defer s.Close()
	begun, err := s.Erase(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	var e *core.Erasure
	coretest.WaitFor(t, "the erasure to end", func() bool {
		e, err = s.FindErasure(t.Context(), begun.ID)
		return err == nil && e.Status != wire.ErasureRunning
	})
	return e
}

// What was made before a clock was set back is erased: neither its time nor that in its id lies before the request.
func TestEraseAfterClockWentBack(t *testing.T) {
	for name, restart := range map[string]bool{"WhileItRuns": false, "OverARestart": true} {
		t.Run(name, func(t *testing.T) {
			clock := coretest.NewStepClock()
			ids := core.NewIDs(clock)
			if restart {
				clock.Step(365 * 24 * time.Hour) // a machine that starts in another year
			}
			m := storetest.NewMemory(t)
			made := clock.Now().UTC()
			execution := ids.New(core.PrefixExecution)
			batch := ids.New(core.PrefixBatch)
			m.Put(func(tx core.Tx) error {
				return errors.Join(tx.PutExecution(&core.Execution{
					ID: execution, Status: core.ExecutionCompleted, Pattern: core.PatternRef{Name: "p"}, CreatedBy: "ann", CreatedAt: made, CompletedAt: &made,
				}), tx.PutBatch(&core.Batch{ID: batch, Status: core.BatchCompleted, CreatedBy: "ann", CreatedAt: made, CompletedAt: &made}))
			})
			if restart {
				clock.Step(-365 * 24 * time.Hour)
				ids = core.NewIDs(clock)
			} else {
				clock.Step(-2 * time.Hour)
			}
			e := erased(t, m, nothing{store: m}, clock, ids, core.ErasureRequest{Subject: "ann", Confirm: "ann"})
			if e.Done[core.DataExecutions] != 1 || e.Done[core.DataBatches] != 1 {
				t.Errorf("planned %v, done %v", e.Planned, e.Done)
			}
			_, err := m.FindExecution(t.Context(), execution)
			_, batchErr := m.FindBatch(t.Context(), batch)
			if core.ErrorCode(err) != core.CodeNotFound || core.ErrorCode(batchErr) != core.CodeNotFound {
				t.Errorf("the execution: %v; the batch: %v", err, batchErr)
			}
		})
	}
}

// cancelling is a nothing whose batches go on for a moment until they are cancelled.
type cancelling struct {
	nothing
	cancel func(id string)
}

func (c cancelling) CancelBatch(_ context.Context, id string) (*core.Batch, error) {
	c.cancel(id)
	return nil, nil
}

// An item of a batch that began after the request, before the batch was cancelled, goes with its batch. What the subject starts
// by itself then stays.
func TestEraseItemsOfBatch(t *testing.T) {
	clock := coretest.NewClock()
	ids := core.NewIDs(clock)
	m := storetest.NewMemory(t)
	batch := &core.Batch{ID: ids.New(core.PrefixBatch), Status: core.BatchRunning, CreatedBy: "ann", CreatedAt: clock.Now()}
	m.Put(func(tx core.Tx) error { return tx.PutBatch(batch) })
	var item, own string
	c := cancelling{nothing{store: m}, func(string) {
		if item != "" {
			return
		}
		clock.Advance(time.Second)
		now := clock.Now()
		item, own = ids.New(core.PrefixExecution), ids.New(core.PrefixExecution)
		over := *batch
		over.Status, over.CompletedAt = core.BatchCancelled, &now
		e := &core.Execution{
			ID: item, BatchID: batch.ID, Status: core.ExecutionCompleted, Pattern: core.PatternRef{Name: "p"}, CreatedBy: "ann", CreatedAt: now, CompletedAt: &now,
		}
		other := *e
		other.ID, other.BatchID = own, ""
		m.Put(func(tx core.Tx) error {
			return errors.Join(tx.PutExecution(e), tx.PutExecution(&other), tx.PutBatch(&over))
		})
		clock.Advance(time.Minute) // what the erasure waits for
	}}
	s := erasure.New(erasure.Options{Store: m, Work: c, Memory: c, Managed: c, Workspaces: c, Trail: c, Clock: clock, IDs: ids})
	s.Open()
	defer s.Close()
	begun, err := s.Erase(t.Context(), core.ErasureRequest{Subject: "ann", Confirm: "ann", Cancel: true})
	if err != nil {
		t.Fatal(err)
	}
	coretest.WaitFor(t, "the erasure to end", func() bool {
		clock.Advance(time.Second)
		e, err := s.FindErasure(t.Context(), begun.ID)
		return err == nil && e.Status != wire.ErasureRunning
	})
	if _, err := m.FindExecution(t.Context(), item); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("the item of the batch: %v", err)
	}
	if _, err := m.FindExecution(t.Context(), own); err != nil {
		t.Errorf("what the subject started after the request: %v", err)
	}
}

// aging are the managed agents of a runtime that forgets one of its own once the first page of them was read.
type aging struct {
	nothing
	left      []string // ids, the newest first
	forgotten map[string]bool
}

func (a *aging) FindManagedAgents(_ context.Context, filter core.ManagedAgentFilter) ([]*core.ManagedAgent, core.PageInfo, error) {
	from := min(filter.Offset, len(a.left))
	if filter.Cursor != "" {
		for from = 0; from < len(a.left) && a.left[from] >= filter.Cursor; from++ {
		}
	}
	var list []*core.ManagedAgent
	for _, id := range a.left[from:min(from+filter.Limit, len(a.left))] {
		one := new(core.ManagedAgent)
		one.ID, one.CreatedBy, one.Status, one.StoppedAt = id, "ann", wire.ManagedStopped, new(time.Time)
		list = append(list, one)
	}
	info := core.PageInfo{Total: len(a.left), HasMore: from+len(list) < len(a.left)}
	if info.HasMore {
		info.NextCursor = list[len(list)-1].ID
		a.left = a.left[1:]
	}
	return list, info, nil
}

func (a *aging) ForgetManagedAgent(_ context.Context, id string) error {
	a.forgotten[id] = true
	return nil
}

// What a runtime forgets by itself while its agents are listed takes none of the others out of an erasure.
func TestEraseWhileAgentsAge(t *testing.T) {
	clock := coretest.NewClock()
	m, ids := storetest.NewMemory(t), core.NewIDs(clock)
	a := &aging{nothing: nothing{store: m}, forgotten: map[string]bool{}}
	for range core.MaxPageLimit + 50 {
		a.left = append(a.left, ids.New(core.PrefixManaged))
	}
	slices.Reverse(a.left)
	s := erasure.New(erasure.Options{Store: m, Work: a, Memory: a, Managed: a, Workspaces: a, Trail: a, Clock: clock, IDs: ids})
	begun, err := s.Erase(t.Context(), core.ErasureRequest{Subject: "ann", Confirm: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	s.Open()
	coretest.WaitFor(t, "the erasure to end", func() bool {
		e, err := s.FindErasure(t.Context(), begun.ID)
		return err == nil && e.Status != wire.ErasureRunning
	})
	s.Close()
	for _, id := range a.left {
		if !a.forgotten[id] {
			t.Errorf("the record of %s stays", id)
		}
	}
}

// What an erasure that was asked for without cancel waits for is cancelled once it is asked for with it.
func TestEraseCancelsLater(t *testing.T) {
	clock := coretest.NewClock()
	ids := core.NewIDs(clock)
	m := storetest.NewMemory(t)
	batch := &core.Batch{ID: ids.New(core.PrefixBatch), Status: core.BatchRunning, CreatedBy: "ann", CreatedAt: clock.Now()}
	clock.Advance(time.Second)
	begun := &core.ErasureRecord{Subject: "ann", Through: ids.New(core.PrefixExecution)}
	begun.ID, begun.Status, begun.Step, begun.CreatedAt = ids.New(core.PrefixErasure), wire.ErasureRunning, "stop", clock.Now()
	m.Put(func(tx core.Tx) error { return errors.Join(tx.PutBatch(batch), tx.PutErasure(begun)) })
	c := cancelling{nothing{store: m}, func(string) {
		now := clock.Now()
		over := *batch
		over.Status, over.CompletedAt = core.BatchCancelled, &now
		m.Put(func(tx core.Tx) error { return tx.PutBatch(&over) })
	}}
	s := erasure.New(erasure.Options{Store: m, Work: c, Memory: c, Managed: c, Workspaces: c, Trail: c, Clock: clock, IDs: ids})
	s.Open()
	defer s.Close()
	coretest.WaitFor(t, "the erasure to wait", func() bool {
		e, err := s.FindErasure(t.Context(), begun.ID)
		return err == nil && e.Waiting != ""
	})
	if e, err := s.Erase(t.Context(), core.ErasureRequest{Subject: "ann", Confirm: "ann", Cancel: true}); err != nil || e.ID != begun.ID {
		t.Fatalf("%+v, %v", e, err)
	}
	coretest.WaitFor(t, "the erasure to end", func() bool {
		clock.Advance(time.Minute)
		e, err := s.FindErasure(t.Context(), begun.ID)
		return err == nil && e.Status != wire.ErasureRunning
	})
}
