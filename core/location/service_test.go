package location_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/location"
	"github.com/wardroom/wardroom/core/storetest"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Things are found among others of the same time, whether what they lie in is over or not, and what is not there is not.
func TestLocate(t *testing.T) {
	ctx := context.Background()
	clock := coretest.NewClock()
	ids := core.NewIDs(clock)
	s := storetest.NewMemory(t)
	update := func(fn func(tx core.Tx) error) {
		t.Helper()
		if err := s.Update(ctx, fn); err != nil {
			t.Fatal(err)
		}
	}
	event := func(subject string, kind core.EventType, id, data string) core.Event {
		return core.Event{ID: id, Type: kind, Time: clock.Now(), Subject: subject, Data: json.RawMessage(data)}
	}
	want := map[string]core.Location{}
	var executions []*core.Execution
	for n := range 12 { // each runs for ten steps of time, so that several do at any time
		clock.Advance(10 * time.Second)
		e := &core.Execution{ID: ids.New(core.PrefixExecution), Status: core.ExecutionRunning, Pattern: core.PatternRef{Name: "vote"}, CreatedAt: clock.Now()}
		executions = append(executions, e)
		task, message, started := ids.New(core.PrefixTask), ids.New(core.PrefixMessage), ids.New(core.PrefixEvent)
		want[task] = core.Location{ID: task, Kind: core.LocatedTask, ExecutionID: e.ID}
		want[message] = core.Location{ID: message, Kind: core.LocatedMessage, ExecutionID: e.ID}
		want[started] = core.Location{ID: started, Kind: core.LocatedEvent, Subject: e.ID}
		update(func(tx core.Tx) error {
			return errors.Join(tx.PutExecution(e), tx.Append(event(e.ID, core.EventExecutionStarted, started, "{}"),
				event(e.ID, core.EventMessageSent, "", fmt.Sprintf(`{"tasks":2,"messageId":%q}`, message))))
		})
		clock.Advance(time.Minute) // it waits for an agent
		update(func(tx core.Tx) error {
			return tx.Append(event(e.ID, core.EventTaskAssigned, "", fmt.Sprintf(`{"tasks":[{"taskId":%q}]}`, task)))
		})
		if n > 0 { // what quotes an id is not what it names
			quoting := executions[n-1].ID
			update(func(tx core.Tx) error {
				return tx.Append(event(quoting, core.EventTaskCompleted, "", fmt.Sprintf(`{"taskId":"task_other","result":{"taskId":%[1]q,"seen":[%[1]q,%[2]q]}}`, task, message)))
			})
		}
		if n >= 4 && n%3 != 0 {
			old, at := *executions[n-4], clock.Now()
			old.Status, old.CompletedAt = core.ExecutionCompleted, &at
			update(func(tx core.Tx) error { return tx.PutExecution(&old) })
		}
	}
	thread := &core.ThreadRecord{Thread: core.Thread{ID: ids.New(core.PrefixThread), ExecutionID: executions[0].ID, CreatedAt: clock.Now(), Status: core.ThreadReady}}
	input, decision, patternEvent := ids.New(core.PrefixInput), ids.New(core.PrefixDecision), ids.New(core.PrefixEvent)
	want[input] = core.Location{ID: input, Kind: core.LocatedInput, ThreadID: thread.ID}
	want[decision] = core.Location{ID: decision, Kind: core.LocatedDecision, ExecutionID: executions[0].ID, ThreadID: thread.ID}
	want[patternEvent] = core.Location{ID: patternEvent, Kind: core.LocatedEvent, Pattern: "vote"}
	update(func(tx core.Tx) error {
		return errors.Join(tx.PutThread(thread),
			tx.PutDecision(&core.Decision{Decision: wire.Decision{ID: decision, ExecutionID: executions[0].ID, ThreadID: thread.ID, Category: "decision"}}),
			tx.Append(event(thread.ID, core.EventThreadInput, "", fmt.Sprintf(`{"inputId":%q}`, input)), event(core.PatternSubject("vote"), core.EventPatternUpdated, patternEvent, "{}")))
	})
	svc := &location.Service{Store: s}
	for id, l := range want {
		if got, err := svc.Locate(ctx, id); err != nil || *got != l {
			t.Errorf("%s: %+v, %v, want %+v", id, got, err, l)
		}
	}
	for _, prefix := range []string{core.PrefixTask, core.PrefixMessage, core.PrefixInput, core.PrefixDecision, core.PrefixDelivery, core.PrefixEvent} {
		if l, err := svc.Locate(ctx, ids.New(prefix)); core.ErrorCode(err) != core.CodeNotFound {
			t.Errorf("%s: %+v, %v", prefix, l, err)
		}
	}
	for _, id := range []string{executions[0].ID, "task_", "x", ids.New(core.PrefixAPIKey)} {
		if l, err := svc.Locate(ctx, id); core.ErrorCode(err) != core.CodeValidation {
			t.Errorf("%s: %+v, %v", id, l, err)
		}
	}
}

// counting counts the events that are read.
type counting struct {
	location.Store
	events int
}

func (c *counting) Events(ctx context.Context, subject string, after uint64, limit int) ([]core.Event, bool, error) {
	page, more, err := c.Store.Events(ctx, subject, after, limit)
	c.events += len(page)
	return page, more, err
}

// A task is found among executions with long journals without reading them, and what is not there ends within the bound.
func TestLocateReadsLittle(t *testing.T) {
	ctx := context.Background()
	clock := coretest.NewClock()
	ids := core.NewIDs(clock)
	s := storetest.NewMemory(t)
	const executions, journal = 60, 1000
	var all []string
	var task string
	if err := s.Update(ctx, func(tx core.Tx) error {
		for range executions {
			e := &core.Execution{ID: ids.New(core.PrefixExecution), Status: core.ExecutionRunning, Pattern: core.PatternRef{Name: "vote"}, CreatedAt: clock.Now()}
			all = append(all, e.ID)
			if err := tx.PutExecution(e); err != nil {
				return err
			}
		}
		clock.Advance(time.Minute)
		task = ids.New(core.PrefixTask)
		event := core.Event{Type: core.EventTaskAssigned, Time: clock.Now(), Subject: all[0], Data: json.RawMessage(fmt.Sprintf(`{"tasks":[{"taskId":%q}]}`, task))}
		if err := tx.Append(event); err != nil {
			return err
		}
		for range journal {
			clock.Advance(time.Second)
			for _, id := range all {
				if err := tx.Append(core.Event{Type: core.EventStepStarted, Time: clock.Now(), Subject: id, Data: json.RawMessage("{}")}); err != nil {
					return err
				}
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	store := &counting{Store: s}
	svc := &location.Service{Store: store}
	if got, err := svc.Locate(ctx, task); err != nil || got.ExecutionID != all[0] {
		t.Errorf("got %+v, %v", got, err)
	}
	if limit := executions * 64; store.events > limit {
		t.Errorf("read %d events to find a task, want %d at most", store.events, limit)
	}
	store.events = 0
	missing := core.IDBound(core.PrefixTask, clock.Now().Add(-journal*time.Second))
	if l, err := svc.Locate(ctx, missing); core.ErrorCode(err) != core.CodeNotFound {
		t.Errorf("got %+v, %v", l, err)
	}
	if store.events > 50_000+64 {
		t.Errorf("read %d events to find nothing", store.events)
	}
}
