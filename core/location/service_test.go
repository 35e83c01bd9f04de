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
