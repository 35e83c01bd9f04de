package engine_test

import (
	"encoding/json"
	"sync"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// A batch's start and end are events, one each, however many items it has; how far it is is noticed meanwhile, and the last notice has
// the end.
func TestBatchEvents(t *testing.T) {
	for name, test := range map[string]struct {
		inputs []json.RawMessage
		stop   bool
		cancel bool
		want   core.EventType
		notice core.BatchNotice
	}{
		"completed": {inputs: []json.RawMessage{[]byte(`{"text":"a"}`), []byte(`{"text":"b"}`), []byte(`{"text":"bad"}`)}, want: core.EventBatchCompleted,
			notice: core.BatchNotice{Status: core.BatchCompleted, Total: 3, Completed: 2, Failed: 1}},
		"failed": {inputs: []json.RawMessage{[]byte(`{"text":"bad"}`), []byte(`{"text":"b"}`)}, stop: true, want: core.EventBatchFailed,
			notice: core.BatchNotice{Status: core.BatchFailed, Total: 2, Failed: 1, Cancelled: 1}},
		"cancelled": {inputs: []json.RawMessage{[]byte(`{"text":"a"}`), []byte(`{"text":"b"}`)}, cancel: true, want: core.EventBatchCancelled,
			notice: core.BatchNotice{Status: core.BatchCancelled, Total: 2, Cancelled: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			var mu sync.Mutex
			var noticed []core.BatchNotice
			r.notice = func(e core.Event) {
				var d core.BatchNotice
				if err := json.Unmarshal(e.Data, &d); err != nil || e.Type != core.EventBatchProgress || e.Seq != 0 || e.Subject != d.BatchID {
					t.Errorf("%+v: %v", e, err)
				}
				mu.Lock()
				defer mu.Unlock()
				noticed = append(noticed, d)
			}
			r.agents.add("a", 1)
			if !test.cancel {
				r.agents.echo()
			}
			r.open()
			r.pattern("p", core.Step{})
			ctx := core.WithPrincipal(t.Context(), core.Principal{ID: "ann"})
			b, err := r.StartBatch(ctx, core.BatchRequest{Pattern: "p", Inputs: test.inputs, StopOnError: test.stop, Concurrency: 1})
			if err != nil {
				t.Fatal(err)
			}
			if test.cancel {
				r.agents.await(t, 1)
				if _, err := r.CancelBatch(ctx, b.ID); err != nil {
					t.Fatal(err)
				}
			}
			last := func() core.BatchNotice {
				mu.Lock()
				defer mu.Unlock()
				if len(noticed) == 0 {
					return core.BatchNotice{Status: core.BatchRunning}
				}
				return noticed[len(noticed)-1]
			}
			coretest.WaitFor(t, "the notice of the end", func() bool { return last().Status.Terminal() })
			test.notice.BatchID, test.notice.Pattern = b.ID, b.Pattern
			if got := last(); got != test.notice {
				t.Errorf("noticed %+v, want %+v", got, test.notice)
			}
			events, _, err := r.store.Events(t.Context(), b.ID, 0, 10)
			if err != nil || len(events) != 2 || events[0].Type != core.EventBatchStarted || events[1].Type != test.want {
				t.Fatalf("events %+v, %v", events, err)
			}
			var end core.BatchNotice
			if err := json.Unmarshal(events[1].Data, &end); err != nil || end != test.notice {
				t.Errorf("the end is %s, %v", events[1].Data, err)
			}
			by := core.System.ID
			if test.cancel {
				by = "ann"
			}
			if events[1].By != by || events[0].Public() || events[1].Public() {
				t.Errorf("the end is put down to %q, want %q", events[1].By, by)
			}
		})
	}
}
