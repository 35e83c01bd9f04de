package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
)

// Beyond a size the oldest finished executions go, and the oldest entries of the log; a usage says it before.
func TestRetainBySize(t *testing.T) {
	t.Parallel()
	clock := coretest.NewClock()
	dir := t.TempDir()
	s, err := store.Open(ctx, store.Options{Path: dir, MinFreeBytes: 1 << 20, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	input := json.RawMessage(`"` + strings.Repeat("x", 20_000) + `"`)
	const n = 400
	for i := range n {
		e := execution(idAt(start.Add(time.Duration(i)*time.Second), i+1), "vote", core.ExecutionCompleted)
		if i == 0 {
			e.Status, e.CompletedAt = core.ExecutionRunning, nil // what is active never goes
		}
		e.Input = input
		mustUpdate(t, s, func(tx core.Tx) error {
			if err := tx.PutExecution(e); err != nil {
				return err
			}
			return tx.Append(core.Event{Type: core.EventPatternUpdated, ID: fmt.Sprint("evt_", i), Subject: "vote", Time: start, Data: input})
		})
	}
	policy := store.Policy{Executions: 1000 * time.Hour, Events: 1000 * time.Hour, ExecutionBytes: n * 20_000 / 2, EventBytes: n * 20_000 / 4}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	usage, err := store.MeasureUsage(ctx, dir, nil, policy, clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	x, o := usage[store.KindExecutions], usage[store.KindEvents]
	if x.Records != n || x.Bytes < n*20_000 || x.Old < n/2 || x.Old > n*6/10 || o.Records != n || o.Old < n*3/4 || o.Old > n*8/10 {
		t.Fatalf("executions %+v, events %+v", *x, *o)
	}
	s = mustOpen(t, store.Options{Path: dir, Clock: clock})
	done, err := s.Retain(ctx, policy)
	if err != nil || int64(done.Executions) < x.Old-1 || int64(done.Executions) > x.Old || int64(done.Events) != o.Old {
		t.Fatalf("%+v, %v; want %d executions and %d events", done, err, x.Old, o.Old)
	}
	list, _, err := s.FindExecutions(ctx, core.ExecutionFilter{Page: core.Page{Limit: 100}})
	if err != nil || list[0].ID != idAt(start.Add((n-1)*time.Second), n) {
		t.Fatalf("the newest one went: %v", err)
	}
	if _, err := s.FindExecution(ctx, idAt(start, 1)); err != nil {
		t.Fatalf("the running one: %v", err)
	}
	if again, err := s.Retain(ctx, policy); err != nil || again != (store.Retired{}) {
		t.Fatalf("the second run: %+v, %v", again, err)
	}
}

// What deliveries still need of the log does not count as removed: the rest goes all the same.
func TestRetainBySizePassesOverNeeded(t *testing.T) {
	t.Parallel()
	clock := coretest.NewClock()
	s := mustOpen(t, store.Options{Clock: clock})
	w := webhook(webhookAt(start, 1))
	putWebhook(t, s, w)
	const n = 100
	data := json.RawMessage(`"` + strings.Repeat("x", 10_000) + `"`)
	for i := range n {
		events := []core.Event{{Type: core.EventExecutionStarted, ID: fmt.Sprint("evt_", i), Subject: "gone", Time: start, Data: data}}
		mustUpdate(t, s, func(tx core.Tx) error { return tx.Append(events...) })
		if i < n/2 {
			d := delivery(i, w.ID)
			d.Event, d.Seq, d.Status, d.NextAt, d.Body = events[0].Type, events[0].Seq, core.DeliveryFailed, nil, nil
			putDeliveries(t, s, d)
		}
	}
	done, err := s.Retain(ctx, store.Policy{EventBytes: n * 10_000 * 7 / 10})
	if err != nil || done.Events < n/4 {
		t.Fatalf("%+v, %v", done, err)
	}
	for seq := uint64(1); seq <= n/2; seq++ {
		if _, err := s.FindEvent(ctx, seq); err != nil {
			t.Fatalf("event %d, which is needed: %v", seq, err)
		}
	}
}

// An execution that stays for its active thread does not count as removed: younger ones go in its place.
func TestRetainBySizePassesOverActive(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, store.Options{Clock: coretest.NewClock()})
	const n, held, size = 100, 40, 10_000
	input := json.RawMessage(`"` + strings.Repeat("x", size) + `"`)
	for i := range n {
		e := execution(idAt(start.Add(time.Duration(i)*time.Second), i+1), "vote", core.ExecutionCompleted)
		e.Input = input
		mustUpdate(t, s, func(tx core.Tx) error {
			if err := tx.PutExecution(e); err != nil || i >= held {
				return err
			}
			r := new(core.ThreadRecord)
			r.ID, r.ExecutionID, r.Status, r.CreatedAt = fmt.Sprint(core.PrefixThread, strings.TrimPrefix(e.ID, core.PrefixExecution)), e.ID, core.ThreadReady, start
			return tx.PutThread(r)
		})
	}
	done, err := s.Retain(ctx, store.Policy{ExecutionBytes: n * size * 7 / 10})
	if err != nil || done.Executions < n/4 {
		t.Fatalf("%+v, %v", done, err)
	}
	for _, i := range []int{0, held - 1, n - 1} {
		if _, err := s.FindExecution(ctx, idAt(start.Add(time.Duration(i)*time.Second), i+1)); err != nil {
			t.Errorf("execution %d: %v", i, err)
		}
	}
}

// What waits for an endpoint is bounded by count and age: the oldest are given up.
func TestCapPending(t *testing.T) {
	t.Parallel()
	clock := coretest.NewClock()
	s := mustOpen(t, store.Options{Clock: clock})
	w := webhook(webhookAt(start, 1))
	putWebhook(t, s, w)
	const n = 1200
	for i := range n {
		d := delivery(i, w.ID)
		next := start.Add(time.Minute)
		d.ID = strings.Replace(idAt(start.Add(time.Duration(i)*time.Second), i+1), core.PrefixExecution, core.PrefixDelivery, 1)
		d.Status, d.NextAt = core.DeliveryPending, &next
		putDeliveries(t, s, d)
	}
	waiting := func() (int, *core.Delivery) {
		_, info, err := s.FindDeliveries(ctx, core.DeliveryFilter{WebhookID: w.ID, Status: core.DeliveryPending})
		failed, _, failErr := s.FindDeliveries(ctx, core.DeliveryFilter{WebhookID: w.ID, Status: core.DeliveryFailed})
		if err != nil || failErr != nil {
			t.Fatal(err, failErr)
		}
		if len(failed) == 0 {
			return info.Total, nil
		}
		return info.Total, failed[0]
	}
	if _, err := s.Retain(ctx, store.Policy{PendingPerWebhook: n}); err != nil {
		t.Fatal(err)
	}
	if left, _ := waiting(); left != n {
		t.Fatalf("%d wait", left)
	}
	if _, err := s.Retain(ctx, store.Policy{PendingPerWebhook: 500}); err != nil {
		t.Fatal(err)
	}
	left, failed := waiting()
	if left != 500 || failed == nil || !strings.Contains(failed.LastError, "given up") || failed.NextAt != nil {
		t.Fatalf("%d wait, %+v", left, failed)
	}
	clock.Advance(time.Hour + 1000*time.Second)
	if _, err := s.Retain(ctx, store.Policy{PendingAge: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if left, _ := waiting(); left != 200 {
		t.Fatalf("%d wait after the hour", left)
	}
}

// Workspaces show with what they take beside the store, and how many retention by age and size would remove.
func TestUsageOfWorkspaces(t *testing.T) {
	dir := t.TempDir()
	s, err := store.Open(ctx, store.Options{Path: dir, MinFreeBytes: 1 << 20, Clock: coretest.NewClock()})
	if err != nil {
		t.Fatal(err)
	}
	day := func(n int) *time.Time { at := start.AddDate(0, 0, n); return &at }
	for id, w := range map[string]core.Workspace{
		"ws_1": {Status: core.WorkspaceReady, SizeBytes: 100},
		"ws_2": {Status: core.WorkspaceReleased, SizeBytes: 200, ExpiresAt: day(3)},
		"ws_3": {Status: core.WorkspaceReleased, SizeBytes: 300, ExpiresAt: day(2)},
		"ws_4": {Status: core.WorkspaceReleased, SizeBytes: 400, ExpiresAt: day(-1)},
		"ws_5": {Status: core.WorkspaceRemoved, SizeBytes: 0},
	} {
		w.ID, w.ExecutionID, w.CreatedAt = id, "exec_1", start
		mustUpdate(t, s, func(tx core.Tx) error { return tx.PutWorkspace(&w) })
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for limit, old := range map[int64]int64{0: 1, 500: 1, 499: 2, 200: 2, 199: 3} {
		u, err := store.MeasureUsage(ctx, dir, nil, store.Policy{WorkspaceBytes: limit}, start)
		if err != nil {
			t.Fatal(err)
		}
		if got := *u[store.KindWorkspaces]; got != (store.KindUsage{Records: 4, Bytes: 1000, Old: old}) {
			t.Errorf("limit %d: %+v", limit, got)
		}
	}
}
