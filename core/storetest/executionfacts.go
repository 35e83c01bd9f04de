package storetest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
)

// hasFacts reports whether an execution has what a filter selects by beside pattern, status and time.
func hasFacts(e *core.Execution, f core.ExecutionFilter) bool {
	code := core.Code("")
	if e.Error != nil {
		code = e.Error.Code
	}
	pairs := core.IndexedMetadata(e.Options.Metadata)
	for key, value := range f.Metadata {
		if !slices.Contains(pairs, core.MetadataPair{Key: key, Value: value}) {
			return false
		}
	}
	if over := e.CompletedAt; over == nil && !(f.EndedSince.IsZero() && f.EndedUntil.IsZero()) ||
		over != nil && (over.Before(f.EndedSince) || !f.EndedUntil.IsZero() && !over.Before(f.EndedUntil)) {
		return false
	}
	return (f.BatchID == "" || e.BatchID == f.BatchID) && (f.CreatedBy == "" || e.CreatedBy == f.CreatedBy) &&
		(f.ErrorCode == "" || code == f.ErrorCode)
}

// Random puts, changes and removals, then every list by what executions have equals the naive one.
func testExecutionListsByFacts(t *testing.T, open Opener) {
	dir := t.TempDir()
	s := open(t, store.Options{Path: dir})
	m := model{}
	rnd := rand.New(rand.NewPCG(5, 6))
	pick := func(words ...string) string { return words[rnd.IntN(len(words))] }
	for i := range 400 {
		id := idAt(start.Add(time.Duration(rnd.IntN(2000))*time.Millisecond), i+1)
		if i > 20 && rnd.IntN(2) == 0 {
			ids := slices.Sorted(maps.Keys(m))
			id = ids[rnd.IntN(len(ids))]
		}
		if i > 100 && rnd.IntN(10) == 0 && m[id] != nil && m[id].Status.Terminal() {
			if err := s.DeleteExecution(ctx, id, core.Event{ID: "evt_1", Type: core.EventExecutionDeleted, Subject: id, Time: start}); err != nil {
				t.Fatal(err)
			}
			delete(m, id)
			continue
		}
		e := execution(id, pick("vote", "merge"), core.ExecutionStatuses[rnd.IntN(5)])
		e.BatchID, e.CreatedBy = pick("", "batch_1", "batch_2"), pick("", "ann", "a\x00b", strings.Repeat("x", 300))
		e.Options.Metadata = core.Metadata{"team": pick("core", "web"), "n": json.Number(pick("1", "1.0")), "on": rnd.IntN(2) == 0, "deep": map[string]any{"a": "b"}}
		if e.Status == core.ExecutionFailed {
			e.Error = &core.ExecutionError{Code: core.Code(pick("TIMEOUT", "AGENT_ERROR"))}
		}
		if e.CompletedAt != nil { // what began last is not what ended last
			done := e.CreatedAt.Add(time.Duration(rnd.IntN(5000)) * time.Millisecond)
			e.CompletedAt = &done
		}
		m[id] = e
		putExecution(t, s, e)
	}
	check := func(s *store.Store) {
		t.Helper()
		for _, f := range []core.ExecutionFilter{
			{BatchID: "batch_1"}, {CreatedBy: "ann"}, {CreatedBy: "a\x00b"}, {CreatedBy: "bob"}, {ErrorCode: "TIMEOUT"},
			{Metadata: map[string]string{"team": "core"}}, {Metadata: map[string]string{"n": "1.0"}}, {Metadata: map[string]string{"on": "true"}},
			{Metadata: map[string]string{"deep": "b"}}, {Metadata: map[string]string{"team": "core", "n": "1", "on": "false"}},
			{Statuses: core.ExecutionStatuses[:2]}, {Statuses: core.ExecutionStatuses[1:4]}, {Statuses: core.ExecutionStatuses},
			{Pattern: "vote", Statuses: core.ExecutionStatuses[1:3], BatchID: "batch_2"},
			{Pattern: "vote", CreatedBy: "ann", Metadata: map[string]string{"team": "web"}},
			{ErrorCode: "AGENT_ERROR", Statuses: statuses(core.ExecutionFailed), Since: start.Add(300 * time.Millisecond), Until: start.Add(1500 * time.Millisecond)},
			{BatchID: "batch_1", Statuses: statuses(core.ExecutionRunning)},
			{EndedSince: start.Add(3 * time.Second)}, {EndedUntil: start.Add(3 * time.Second)}, {EndedSince: start.Add(time.Hour)},
			{EndedSince: start.Add(2 * time.Second), EndedUntil: start.Add(4 * time.Second), Statuses: statuses(core.ExecutionFailed)},
			{EndedSince: start.Add(time.Second), Statuses: core.ExecutionStatuses[1:4], Pattern: "vote"},
			{EndedSince: start.Add(time.Second), Statuses: statuses(core.ExecutionRunning)},
			{EndedUntil: start.Add(4 * time.Second), CreatedBy: "ann", Since: start.Add(300 * time.Millisecond), Until: start.Add(1500 * time.Millisecond)},
		} {
			var want []string
			for _, id := range m.list(f) {
				if hasFacts(m[id], f) {
					want = append(want, id)
				}
			}
			wantList(t, fmt.Sprintf("%+v", f), executionList(s, f), want, 1+rnd.IntN(30))
		}
	}
	check(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, store.Options{Path: dir})
	check(s)
	for id, e := range m { // all that was listed goes, also what was active when the store was opened anew
		if !e.Status.Terminal() {
			e.Status = core.ExecutionCancelled
			putExecution(t, s, e)
		}
		if err := s.DeleteExecution(ctx, id, core.Event{ID: "evt_1", Type: core.EventExecutionDeleted, Subject: id, Time: start}); err != nil {
			t.Fatal(err)
		}
	}
	m = model{}
	check(s)
	_, _, err := s.FindExecutions(ctx, core.ExecutionFilter{Metadata: map[string]string{"a": strings.Repeat("x", 257)}})
	wantCode(t, err, core.CodeValidation)
	_, _, err = s.FindExecutions(ctx, core.ExecutionFilter{CreatedBy: strings.Repeat("x", 257)})
	wantCode(t, err, core.CodeValidation)
}

// A row tells what lists select by, as far as it is in an index.
func testExecutionRowsTellFacts(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	for n, status := range core.ExecutionStatuses {
		e := execution(idAt(start, n+1), "vote", status)
		e.BatchID, e.CreatedBy, e.Options.Priority = "batch_1", "ann", core.PriorityHigh
		e.Options.Metadata = core.Metadata{"team": "core", "n": json.Number("12345678901234567890"), "long": strings.Repeat("x", 300), "list": []any{"a"}}
		if status == core.ExecutionFailed {
			e.Error = &core.ExecutionError{Code: core.CodeTimeout, Message: "it took too long"}
		}
		long := strings.Repeat("n", 300)
		e.Agents = []core.AgentResult{{ID: "agent_1", Name: "ada", Step: "0"}, {ID: "agent_2"}, {ID: "agent_1", Name: "ada", Step: "1"}, {ID: "agent_3", Name: long}, {ID: "agent_4", Name: "tom"}}
		putExecution(t, s, e)
		if status == core.ExecutionRunning {
			mustUpdate(t, s, func(tx core.Tx) error {
				return cmp.Or(tx.PutQuestion(question(questionAt(start, 1), e.ID, core.QuestionOpen)),
					tx.PutQuestion(question(questionAt(start, 2), e.ID, core.QuestionAnswered)))
			})
		}
		list, _, err := s.FindExecutions(ctx, core.ExecutionFilter{Statuses: statuses(status)})
		if err != nil || len(list) != 1 {
			t.Fatal(list, err)
		}
		row := list[0]
		if row.BatchID != "batch_1" || row.CreatedBy != "ann" || row.Options.Priority != core.PriorityHigh ||
			!reflect.DeepEqual(row.Options.Metadata, core.Metadata{"team": "core", "n": "12345678901234567890"}) {
			t.Errorf("%s: %+v", status, row)
		}
		if (row.Error != nil && row.Error.Code == core.CodeTimeout) != (status == core.ExecutionFailed) || (row.OpenQuestions == 1) != (status == core.ExecutionRunning) {
			t.Errorf("%s: %+v, %d questions", status, row.Error, row.OpenQuestions)
		}
		if want := (core.Team{Count: 4, Names: []string{"ada", "agent_2", long[:256]}}); !reflect.DeepEqual(row.Team, want) {
			t.Errorf("%s: %+v", status, row.Team)
		}
	}
	// What changes without a change of status is in the row too.
	e := execution(idAt(start, 2), "vote", core.ExecutionRunning)
	e.Waiting = &core.ExecutionWait{For: core.WaitForPeople}
	putExecution(t, s, e)
	list, _, err := s.FindExecutions(ctx, core.ExecutionFilter{Statuses: statuses(core.ExecutionRunning)})
	if err != nil || len(list) != 1 || list[0].Waiting == nil || list[0].BatchID != "" {
		t.Fatal(list, err)
	}
}

func testDeleteExecution(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	id, other := idAt(start, 1), idAt(start, 2)
	gone := func(id string) core.Event {
		return core.Event{ID: "evt_1", Type: core.EventExecutionDeleted, Subject: id, Time: start, Data: json.RawMessage(`{}`)}
	}
	wantCode(t, s.DeleteExecution(ctx, id, gone(id)), core.CodeNotFound)
	run(t, s, other, "vote", core.ExecutionCompleted)
	run(t, s, id, "vote", core.ExecutionCompleted)
	seq := s.LastSeq()
	running := execution(id, "vote", core.ExecutionRunning)
	putExecution(t, s, running)
	wantCode(t, s.DeleteExecution(ctx, id, gone(id)), core.CodeConflict)
	putExecution(t, s, execution(id, "vote", core.ExecutionCompleted))
	putThread(t, s, thread(threadAt(start, 1), id, core.ThreadReady))
	wantCode(t, s.DeleteExecution(ctx, id, gone(id)), core.CodeConflict)
	if s.LastSeq() != seq {
		t.Fatal("a refused deletion was told")
	}
	putThread(t, s, thread(threadAt(start, 1), id, core.ThreadStopped))
	mustUpdate(t, s, func(tx core.Tx) error {
		return cmp.Or(tx.PutQuestion(question(questionAt(start, 1), id, core.QuestionAnswered)), tx.PutDecision(decision(ownID(core.PrefixDecision, start, 1), id, "f")))
	})
	if err := s.DeleteExecution(ctx, id, gone(id)); err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.DeleteExecution(ctx, id, gone(id)), core.CodeNotFound)
	_, err := s.FindExecution(ctx, id)
	wantCode(t, err, core.CodeNotFound)
	events, _, err := s.Log(ctx, seq, 10)
	if err != nil || len(events) != 1 || events[0].Type != core.EventExecutionDeleted || events[0].Subject != id {
		t.Fatal(events, err)
	}
	// The public log keeps what it has: the event of the deletion, and that of the end.
	if _, err := s.Retain(ctx, store.Policy{Events: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	if list, info, err := s.FindExecutions(ctx, core.ExecutionFilter{}); err != nil || info.Total != 1 || list[0].ID != other {
		t.Fatal(list, info, err)
	}
	wantList(t, "threads", threadList(s, core.ThreadFilter{}), nil, 10)
	wantList(t, "questions", questionList(s, core.QuestionFilter{}), nil, 10)
}

func testBatchLists(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	all := map[string]*core.Batch{}
	rnd := rand.New(rand.NewPCG(7, 8))
	for i := range 60 {
		id := ownID(core.PrefixBatch, start.Add(time.Duration(i)*time.Millisecond), i+1)
		b := &core.Batch{ID: id, Pattern: core.PatternRef{Name: []string{"vote", "merge"}[i%2], Version: "1"}, Status: core.BatchRunning, CreatedBy: []string{"", "ann"}[i/2%2], CreatedAt: start}
		mustUpdate(t, s, func(tx core.Tx) error { return tx.PutBatch(b) })
		done := *b
		if done.Status = core.BatchStatuses[rnd.IntN(4)]; done.Status.Terminal() {
			done.CompletedAt = &start
		}
		mustUpdate(t, s, func(tx core.Tx) error { return tx.PutBatch(&done) })
		all[id] = &done
	}
	check := func() {
		t.Helper()
		for _, pattern := range []string{"", "vote", "nope"} {
			for _, status := range append([]core.BatchStatus{""}, core.BatchStatuses...) {
				for _, by := range []string{"", "ann"} {
					f := core.BatchFilter{Status: status, Pattern: pattern, CreatedBy: by}
					want := selectIDs(all, func(b *core.Batch) bool {
						return (status == "" || b.Status == status) && (pattern == "" || b.Pattern.Name == pattern) && (by == "" || b.CreatedBy == by)
					})
					wantList(t, fmt.Sprintf("%+v", f), batchList(s, f), want, 1+rnd.IntN(20))
				}
			}
		}
	}
	check()
	wantPages(t, batchList(s, core.BatchFilter{}))
	_, _, err := s.FindBatches(ctx, core.BatchFilter{Status: "paused"})
	wantCode(t, err, core.CodeValidation)
	if _, err := s.Retain(ctx, store.Policy{Batches: time.Nanosecond}); err != nil {
		t.Fatal(err)
	}
	maps.DeleteFunc(all, func(_ string, b *core.Batch) bool { return b.Status.Terminal() })
	check()
}

func batchList(s *store.Store, f core.BatchFilter) lister {
	return listOf(s.FindBatches, func(p core.Page) core.BatchFilter { f.Page = p; return f }, func(b *core.Batch) string { return b.ID })
}

// The throughput is what happened, over a restart as well, whatever the clock does.
func testThroughput(t *testing.T, open Opener) {
	dir := t.TempDir()
	clock := coretest.NewClock()
	s := open(t, store.Options{Path: dir, Clock: clock})
	n := 0
	live := func(took time.Duration, status core.ExecutionStatus) {
		t.Helper()
		n++
		began := clock.Now()
		ended := began.Add(took)
		e := execution(idAt(began, n), "vote", core.ExecutionPending)
		putExecution(t, s, e)
		e.Status, e.StartedAt = core.ExecutionRunning, &began
		putExecution(t, s, e)
		putExecution(t, s, e)
		e.Status, e.CompletedAt = status, &ended
		putExecution(t, s, e)
		putExecution(t, s, e)
	}
	want := func(name string, counts ...int) *core.Throughput {
		t.Helper()
		got, err := s.Throughput(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var sum [4]int
		for _, m := range got.Minutes {
			sum[0], sum[1], sum[2] = sum[0]+m.Started, sum[1]+m.Completed, sum[2]+m.Failed
		}
		sum[3] = got.Ranges[3].Started
		if !slices.Equal(sum[:], counts) {
			t.Fatalf("%s: %v, want %v: %+v", name, sum, counts, got)
		}
		return got
	}
	for i := range 100 {
		live(time.Duration(i+1)*10*time.Millisecond, core.ExecutionCompleted)
	}
	live(time.Hour*100, core.ExecutionFailed)
	clock.Advance(time.Minute)
	got := want("at first", 101, 100, 0, 101) // the failed one ended in the future
	for name, r := range map[string]struct{ got, want int64 }{"p50": {*got.Ranges[0].P50, 500}, "p95": {*got.Ranges[0].P95, 950}} {
		if off := float64(r.got)/float64(r.want) - 1; off > 0.07 || off < -0.07 {
			t.Errorf("%s is %d, want about %d", name, r.got, r.want)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, store.Options{Path: dir, Clock: clock})
	want("after a restart", 101, 100, 0, 101)
	clock.Advance(time.Hour)
	live(time.Millisecond, core.ExecutionCompleted)
	for range 2 { // the hour before is as whole as the one that goes on
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, store.Options{Path: dir, Clock: clock})
		got = want("an hour later", 102, 101, 0, 102)
		if hours := got.Hours; len(hours) < 2 || hours[0].Started != 101 || hours[1].Started != 1 {
			t.Fatalf("hours: %+v", hours)
		}
	}
	clock.Advance(25 * time.Hour)
	want("a day later", 0, 0, 0, 102)
	live(time.Millisecond, core.ExecutionCompleted)
	want("in the places of yesterday", 1, 1, 0, 103)
	astray := 20*365*24*time.Hour + 10*time.Minute
	clock.Advance(astray)
	live(time.Millisecond, core.ExecutionCompleted)
	want("of the future", 1, 1, 0, 1)
	clock.Advance(-astray)
	live(time.Millisecond, core.ExecutionCompleted)
	if got := want("back again", 2, 2, 0, 104); len(got.Hours) == 0 {
		t.Fatalf("%+v", got)
	}
	clock.Advance(31 * 24 * time.Hour)
	want("a month later", 0, 0, 0, 0)
}
