package storetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

func testPattern(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	for _, p := range []*core.Pattern{
		{Name: "vote", Version: "1.0.0", Source: "a", Hash: "h1"},
		{Name: "vote", Version: "1.1.0", Source: "b", Hash: "h2"},
		{Name: "vote", Version: "1.1.0", Source: "c", Hash: "h3"}, // replaces
		{Name: "vote2", Version: "1.0.0", Source: "a", Hash: "h1"},
	} {
		mustUpdate(t, s, func(tx core.Tx) error { return tx.PutPattern(p) })
	}
	all, err := s.AllPatterns(ctx)
	if err != nil || len(all) != 3 || all[1].Source != "c" {
		t.Fatalf("patterns: %v, %v", all, err)
	}
	mustUpdate(t, s, func(tx core.Tx) error {
		list, err := tx.FindPatternVersions("vote")
		if err != nil || len(list) != 2 {
			t.Errorf("versions: %v, %v", list, err)
		}
		return tx.DeletePattern("vote", "1.0.0")
	})
	err = s.Update(ctx, func(tx core.Tx) error { return tx.DeletePattern("vote", "1.0.0") })
	wantCode(t, err, core.CodeNotFound)
	err = s.Update(ctx, func(tx core.Tx) error { return tx.PutPattern(&core.Pattern{Name: "vote"}) })
	wantCode(t, err, core.CodeValidation)
	err = s.Update(ctx, func(tx core.Tx) error { return tx.PutPattern(&core.Pattern{Name: "\xff", Version: "1"}) })
	wantCode(t, err, core.CodeValidation)
	if all, err := s.AllPatterns(ctx); err != nil || len(all) != 2 {
		t.Fatalf("patterns: %v, %v", all, err)
	}
}

func testDefinition(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	_, err := s.FindDefinition(ctx, "h1")
	wantCode(t, err, core.CodeNotFound)
	for range 2 {
		mustUpdate(t, s, func(tx core.Tx) error {
			if err := tx.PutDefinition("h1", "name: vote"); err != nil {
				return err
			}
			return tx.PutPattern(&core.Pattern{Name: "vote", Version: "1", Hash: "h1"})
		})
		if source, err := s.FindDefinition(ctx, "h1"); err != nil || source != "name: vote" {
			t.Fatalf("%q, %v", source, err)
		}
	}
	keys := s.Stats().Keys
	mustUpdate(t, s, func(tx core.Tx) error { return tx.PutDefinition("h1", "name: vote") })
	if got := s.Stats().Keys; got != keys {
		t.Fatal("a definition in use was written again")
	}
	err = s.Update(ctx, func(tx core.Tx) error { return tx.PutDefinition("", "x") })
	wantCode(t, err, core.CodeValidation)
}

func testBatch(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	_, err := s.FindBatch(ctx, "batch_1")
	wantCode(t, err, core.CodeNotFound)
	b := &core.Batch{ID: "batch_1", Pattern: core.PatternRef{Name: "vote", Version: "1"}, Status: core.BatchRunning, Total: 300, CreatedAt: start}
	mustUpdate(t, s, func(tx core.Tx) error {
		for _, i := range []int{299, 0, 256} {
			if err := tx.PutBatchInput(b.ID, i, []byte{byte(i)}); err != nil {
				return err
			}
			r := core.BatchResult{Index: i, Status: core.ExecutionCompleted, Result: json.RawMessage(`1`)}
			if err := tx.PutBatchResult(b.ID, r); err != nil {
				return err
			}
		}
		return tx.PutBatch(b)
	})
	got, err := s.FindBatch(ctx, b.ID)
	if err != nil || len(got.Results) != 0 || got.Total != 300 {
		t.Fatalf("%+v, %v", got, err)
	}
	if active, err := s.ActiveBatches(ctx); err != nil || len(active) != 1 || len(active[0].Results) != 3 || active[0].Results[1].Result != nil {
		t.Fatalf("active: %v, %v", active, err)
	}
	for _, c := range []struct {
		from, limit int
		want        []int
		next        int
	}{
		{0, 10, []int{0, 256, 299}, -1}, {0, 2, []int{0, 256}, 299}, {1, 1, []int{256}, 299}, {257, 5, []int{299}, -1},
		{300, 5, nil, -1}, {-1, 5, nil, -1}, {1 << 40, 5, nil, -1},
	} {
		results, next, err := s.FindBatchResults(ctx, b.ID, c.from, c.limit)
		var indexes []int
		for _, r := range results {
			indexes = append(indexes, r.Index)
			if string(r.Result) != `1` {
				t.Errorf("item %d: %s", r.Index, r.Result)
			}
		}
		if err != nil || next != c.next || !slices.Equal(indexes, c.want) {
			t.Errorf("from %d, %d at most: %v and %d (%v)", c.from, c.limit, indexes, next, err)
		}
	}
	if input, err := s.FindBatchInput(ctx, b.ID, 256); err != nil || !reflect.DeepEqual(input, []byte{0}) {
		t.Fatalf("input: %v, %v", input, err)
	}
	for _, index := range []int{-1, 1, 1 << 40} {
		_, err := s.FindBatchInput(ctx, b.ID, index)
		wantCode(t, err, core.CodeNotFound)
	}
	done := *b
	done.Status = core.BatchCompleted
	mustUpdate(t, s, func(tx core.Tx) error { return tx.PutBatch(&done) })
	if active, err := s.ActiveBatches(ctx); err != nil || len(active) != 0 {
		t.Fatalf("active: %v, %v", active, err)
	}
	for _, fn := range []func(tx core.Tx) error{
		func(tx core.Tx) error { return tx.PutBatch(&core.Batch{}) },
		func(tx core.Tx) error { return tx.PutBatchInput("batch_1", -1, nil) },
		func(tx core.Tx) error { return tx.PutBatchResult("batch_1", core.BatchResult{Index: -1}) },
	} {
		wantCode(t, s.Update(ctx, fn), core.CodeValidation)
	}
}

// A page of large results ends once it has enough, and what came of the items is not read to take a batch up.
func testBatchLargeResults(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	b := &core.Batch{ID: "batch_1", Status: core.BatchRunning, Total: 12, CreatedAt: start}
	large := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
	for i := range 12 {
		mustUpdate(t, s, func(tx core.Tx) error {
			r := core.BatchResult{Index: i, ExecutionID: "exec_1", Status: core.ExecutionCompleted, Result: large}
			return errors.Join(tx.PutBatchResult(b.ID, r), tx.PutBatch(b))
		})
	}
	seen := 0
	for next := 0; next >= 0; {
		var page []core.BatchResult
		var err error
		if page, next, err = s.FindBatchResults(ctx, b.ID, next, 100); err != nil || len(page) == 0 || len(page) > 5 {
			t.Fatalf("%d results, %v", len(page), err)
		}
		for _, r := range page {
			if r.Index != seen || !bytes.Equal(r.Result, large) {
				t.Fatalf("item %d in place of %d", r.Index, seen)
			}
			seen++
		}
	}
	if seen != 12 {
		t.Errorf("%d results", seen)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if active, err := s.ActiveBatches(ctx); err != nil || len(active[0].Results) != 12 {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 1<<20 {
		t.Errorf("%d bytes for the items of an active batch", got)
	}
	// A result that is replaced by one without a value is gone.
	mustUpdate(t, s, func(tx core.Tx) error {
		return tx.PutBatchResult(b.ID, core.BatchResult{Index: 0, Status: core.ExecutionCancelled})
	})
	if page, _, err := s.FindBatchResults(ctx, b.ID, 0, 1); err != nil || page[0].Result != nil || page[0].Status != core.ExecutionCancelled {
		t.Errorf("%+v, %v", page, err)
	}
}

func testAgent(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	a := &core.AgentRecord{Agent: core.Agent{ID: "agent_1", Name: "one", ConnectedAt: start, LastHeartbeat: start}, ResumeHash: "r", Resumable: true}
	mustUpdate(t, s, func(tx core.Tx) error { return tx.PutAgent(a) })
	all, err := s.AllAgents(ctx)
	if err != nil || len(all) != 1 || !reflect.DeepEqual(all[0], a) {
		t.Fatalf("agents: %+v, %v", all, err)
	}
	for range 2 {
		mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteAgent("agent_1") })
	}
	if all, err := s.AllAgents(ctx); err != nil || len(all) != 0 {
		t.Fatalf("agents: %v, %v", all, err)
	}
	wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.PutAgent(&core.AgentRecord{}) }), core.CodeValidation)
}

func testIdempotency(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	claim := &core.IdempotencyClaim{Scope: "me", Key: "k", BodyHash: "b"}
	claimAt := func(at time.Time, id string) error {
		return s.Update(ctx, func(tx core.Tx) error { return tx.ClaimIdempotency(claim, id, at) })
	}
	if err := claimAt(start, "exec_1"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, claimAt(start.Add(core.IdempotencyTTL-1), "exec_2"), core.CodeConflict)
	answer := &core.IdempotencyRecord{IdempotencyClaim: *claim, Status: 201, Body: []byte("first")}
	mustUpdate(t, s, func(tx core.Tx) error { return tx.AnswerIdempotency(answer) })
	second := &core.IdempotencyRecord{IdempotencyClaim: *claim, Status: 500, Body: []byte("second")}
	mustUpdate(t, s, func(tx core.Tx) error { return tx.AnswerIdempotency(second) })
	rec, err := s.FindIdempotency(ctx, "me", "k", start.Add(time.Hour))
	if err != nil || rec == nil || rec.Status != 201 || string(rec.Body) != "first" || rec.ResourceID != "exec_1" || !rec.ClaimedAt.Equal(start) {
		t.Fatalf("record: %+v, %v", rec, err)
	}
	late := start.Add(core.IdempotencyTTL)
	for _, key := range []string{"k", "other", "e\x00"} {
		if rec, err := s.FindIdempotency(ctx, "me", key, late); err != nil || rec != nil {
			t.Fatalf("key %q: %+v, %v", key, rec, err)
		}
	}
	if err := claimAt(late, "exec_3"); err != nil {
		t.Fatalf("an expired key can be claimed anew: %v", err)
	}
	mustUpdate(t, s, func(tx core.Tx) error { return tx.ClaimIdempotency(nil, "exec_4", start) })
	other := &core.IdempotencyRecord{IdempotencyClaim: core.IdempotencyClaim{Scope: "you", Key: "k"}}
	wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.AnswerIdempotency(other) }), core.CodeNotFound)
}

func testEvents(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	long := strings.Repeat("long/\x00", 2000)
	var want []core.Event
	for i, subject := range []string{"one", "one\x00", long, "one", "", "one", long} {
		e := core.Event{
			Type: core.EventTaskCompleted, Time: start.Add(time.Duration(i)), Subject: subject,
			Data: json.RawMessage(`{"n":1}`),
		}
		if i%2 == 0 {
			e.Type, e.ID, e.Data = core.EventPatternCreated, "evt_1", nil
		}
		list := []core.Event{e}
		mustUpdate(t, s, func(tx core.Tx) error { return tx.Append(list...) })
		want = append(want, list[0])
	}
	pick := func(keep func(e core.Event) bool) (list []core.Event) {
		for _, e := range want {
			if keep(e) {
				list = append(list, e)
			}
		}
		return list
	}
	for _, subject := range []string{"one", "one\x00", long, "", "unknown"} {
		for after := range uint64(9) {
			got, _, err := s.Events(ctx, subject, after, 0)
			if want := pick(func(e core.Event) bool { return e.Subject == subject && e.Seq > after }); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%.10q after %d: %v, %v, want %v", subject, after, got, err, want)
			}
		}
	}
	for after := range uint64(9) {
		got, _, err := s.Log(ctx, after, 0)
		if want := pick(func(e core.Event) bool { return e.Type.Public() && e.Seq > after }); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("log after %d: %v, %v, want %v", after, got, err, want)
		}
	}
	for limit := 1; limit < 4; limit++ {
		if got, _, err := s.Log(ctx, 0, limit); err != nil || len(got) != limit {
			t.Fatalf("log of %d: %v, %v", limit, got, err)
		}
		if got, _, err := s.Events(ctx, "one", 0, limit); err != nil || len(got) != min(limit, 3) {
			t.Fatalf("events of %d: %v, %v", limit, got, err)
		}
	}
	for _, after := range []uint64{^uint64(0), ^uint64(0) - 1} {
		if got, _, err := s.Log(ctx, after, 0); err != nil || len(got) != 0 {
			t.Fatalf("log after the end: %v, %v", got, err)
		}
		if got, _, err := s.Events(ctx, "one", after, 0); err != nil || len(got) != 0 {
			t.Fatalf("events after the end: %v, %v", got, err)
		}
	}
	err := s.Update(ctx, func(tx core.Tx) error { return tx.Append(core.Event{Subject: "one"}) })
	wantCode(t, err, core.CodeValidation)
}

// testEventPagesEndByBytes: a page holds no more than one event beyond MaxPageBytes, whatever limit asks for, and says
// that it left something out.
func testEventPagesEndByBytes(t *testing.T, open Opener) {
	const n, size = 11, 1 << 20
	s := open(t, store.Options{})
	large := json.RawMessage(`"` + strings.Repeat("x", size) + `"`)
	for i := range n {
		mustUpdate(t, s, func(tx core.Tx) error {
			return tx.Append(core.Event{
				Type: core.EventExecutionCompleted, ID: fmt.Sprint("evt_", i), Time: start, Subject: "one", Group: "all", Data: large,
			})
		})
	}
	for name, read := range map[string]func(after uint64, limit int) ([]core.Event, bool, error){
		"subject": func(after uint64, limit int) ([]core.Event, bool, error) { return s.Events(ctx, "one", after, limit) },
		"group":   func(after uint64, limit int) ([]core.Event, bool, error) { return s.Events(ctx, "all", after, limit) },
		"log":     func(after uint64, limit int) ([]core.Event, bool, error) { return s.Log(ctx, after, limit) },
	} {
		var after uint64
		got := 0
		for more := true; more; {
			page, left, err := read(after, 0)
			if err != nil || len(page) == 0 {
				t.Fatalf("%s after %d: %d events, %v", name, after, len(page), err)
			}
			if bytes := len(page) * len(large); bytes > core.MaxPageBytes+len(large) {
				t.Fatalf("%s: a page of %d bytes", name, bytes)
			}
			got, after, more = got+len(page), page[len(page)-1].Seq, left
		}
		if got != n {
			t.Errorf("%s: %d events over all pages, want %d", name, got, n)
		}
		for _, limit := range []int{1, 2} {
			if page, more, err := read(n-2, limit); err != nil || len(page) != limit || more != (limit < 2) {
				t.Errorf("%s, %d of the last two: %d events, more %v, %v", name, limit, len(page), more, err)
			}
		}
	}
}

func testSequenceGoesOnAfterReopen(t *testing.T, open Opener) {
	dir := t.TempDir()
	for want := uint64(1); want < 4; want++ {
		s := open(t, store.Options{Path: dir})
		list := []core.Event{{Type: core.EventTaskCompleted, Subject: "one", Time: start}}
		mustUpdate(t, s, func(tx core.Tx) error { return tx.Append(list...) })
		if list[0].Seq != want {
			t.Fatalf("sequence %d, want %d", list[0].Seq, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func testCursor(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	if err := s.SetCursor(ctx, "webhooks", 7); err != nil {
		t.Fatal(err)
	}
	if seq, err := s.Cursor(ctx, "webhooks"); err != nil || seq != 7 {
		t.Fatal(seq, err)
	}
	if err := s.DeleteCursor(ctx, "webhooks"); err != nil {
		t.Fatal(err)
	}
	if seq, err := s.Cursor(ctx, "webhooks"); err != nil || seq != 0 {
		t.Fatal(seq, err)
	}
	wantCode(t, s.SetCursor(ctx, "", 1), core.CodeValidation)
}

// Events are read backwards as they are forwards.
func testEventsBefore(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	id := idAt(start, 1)
	mustUpdate(t, s, func(tx core.Tx) error {
		for i := range 25 {
			subject := id
			if i%5 == 0 {
				subject = idAt(start, 2)
			}
			if err := tx.Append(core.Event{Type: core.EventTaskAssigned, Subject: subject, Group: "threads:x", Time: start}); err != nil {
				return err
			}
		}
		return nil
	})
	for _, name := range []string{id, "threads:x", "none"} {
		all, _, err := s.Events(ctx, name, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var back []core.Event
		for before, more := uint64(math.MaxUint64), true; more; {
			var page []core.Event
			if page, more, err = s.EventsBefore(ctx, name, before, 7); err != nil || len(page) > 7 || more && len(page) < 7 {
				t.Fatal(len(page), more, err)
			}
			if back = append(back, page...); more {
				before = page[len(page)-1].Seq
			}
		}
		slices.Reverse(back)
		if !reflect.DeepEqual(all, back) {
			t.Errorf("%s: %d events backwards, want %d", name, len(back), len(all))
		}
	}
}
