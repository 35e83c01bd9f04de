package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

// ownID makes an id of a kind for a time; n tells ids of one millisecond apart.
func ownID(prefix string, t time.Time, n int) string {
	return prefix + idAt(t, n)[len(core.PrefixExecution):]
}

func threadAt(t time.Time, n int) string { return ownID(core.PrefixThread, t, n) }

func thread(id, executionID string, status core.ThreadStatus) *core.ThreadRecord {
	return &core.ThreadRecord{
		Thread: core.Thread{
			ID: id, ExecutionID: executionID, Name: "driver", AgentType: "claude", Role: "driver", Status: status,
			Objective: "make the parser faster", Runtime: "local",
			Workspace:   &core.Workspace{ID: ownID(core.PrefixWorkspace, start, 1), Status: core.WorkspaceReady, Path: "/var/lib/ws/1", CreatedAt: start},
			Preparation: core.Preparation{Approval: "standard", EnvNames: []string{"TOKEN"}},
			Metadata:    map[string]any{"ticket": "A-1"}, Prompt: json.RawMessage(`{"id":"p1"}`),
			CreatedAt: start, UpdatedAt: start, LastActivityAt: start,
		},
		SealedEnv: []byte{1, 2, 3}, AgentSeq: 7, InputSeq: 2, SentSeq: 1, Begun: true,
	}
}

func putThread(tb testing.TB, s *store.Store, r *core.ThreadRecord) {
	tb.Helper()
	mustUpdate(tb, s, func(tx core.Tx) error { return tx.PutThread(r) })
}

func testThread(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	id, execID := threadAt(start, 1), idAt(start, 1)
	_, err := s.FindThread(ctx, id)
	wantCode(t, err, core.CodeNotFound)
	r := thread(id, execID, core.ThreadPending)
	r.Preparation.ContextFiles = []core.ContextFile{{Path: core.ThreadMemoryPath, Content: "what is known"}}
	r.Ending = &core.ThreadEnding{Status: core.ThreadStopped, Reason: core.ThreadReasonIdle}
	mustUpdate(t, s, func(tx core.Tx) error {
		if _, err := tx.FindThread(id); core.ErrorCode(err) != core.CodeNotFound {
			t.Errorf("before the put: %v", err)
		}
		if err := tx.PutThread(r); err != nil {
			return err
		}
		got, err := tx.FindThread(id)
		if !reflect.DeepEqual(got, r) {
			t.Errorf("in the transaction: got %+v, want %+v", got, r)
		}
		return err
	})
	wantThread(t, s, r)
	for name, files := range map[string][]core.ContextFile{
		"changed": {{Path: core.ThreadMemoryPath, Content: "what is known now"}},
		"more":    {{Path: core.ThreadMemoryPath, Content: "what is known now"}, {Path: "a", Content: strings.Repeat("b", 10_000)}},
		"none":    nil,
		"again":   {{Path: "a", Content: "c"}},
	} {
		next := *r
		next.Status, next.Preparation.ContextFiles = core.ThreadRunning, files
		putThread(t, s, &next)
		t.Run(name, func(t *testing.T) { wantThread(t, s, &next) })
	}
}

func wantThread(t *testing.T, s *store.Store, want *core.ThreadRecord) {
	t.Helper()
	got, err := s.FindThread(ctx, want.ID)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("got %+v, %v, want %+v", got, err, want)
	}
}

// What does not change is not written with every put.
func testThreadPutIsSmall(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	r := thread(threadAt(start, 1), idAt(start, 1), core.ThreadRunning)
	r.Preparation.ContextFiles = []core.ContextFile{{Path: "a", Content: strings.Repeat("b", 10_000)}}
	putThread(t, s, r)
	before := s.Stats().Keys
	next := *r
	next.AgentSeq++
	putThread(t, s, &next)
	if got := s.Stats().Keys - before; got != 1 {
		t.Errorf("a put that changes the record alone wrote %d keys, want 1", got)
	}
	next.Status = core.ThreadBlocked
	putThread(t, s, &next)
	if got := s.Stats().Keys - before; got != 3 {
		t.Errorf("a put that changes the status of an active thread wrote %d keys, want 2", got-1)
	}
}

func testThreadInvalid(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	id, execID := threadAt(start, 1), idAt(start, 1)
	putThread(t, s, thread(id, execID, core.ThreadRunning))
	odd := thread(threadAt(start, 2), execID, core.ThreadRunning)
	odd.Role = "a\xffb"
	long := thread(threadAt(start, 2), execID, core.ThreadRunning)
	long.Role, long.AgentType = strings.Repeat("r", 40_000), strings.Repeat("t", 40_000)
	for name, r := range map[string]*core.ThreadRecord{
		"ErrIDRequired":        thread("", execID, core.ThreadRunning),
		"ErrExecutionRequired": thread(id, "", core.ThreadRunning),
		"ErrStatusUnknown":     thread(id, execID, "asleep"),
		"ErrOtherExecution":    thread(id, idAt(start, 2), core.ThreadRunning),
		"ErrNotUTF8":           odd,
		"ErrTooLong":           long,
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.PutThread(r) }), core.CodeValidation)
		})
	}
	_, _, err := s.FindThreads(ctx, core.ThreadFilter{Status: "asleep"})
	wantCode(t, err, core.CodeValidation)
	for _, status := range []core.ThreadStatus{"", core.ThreadRunning} {
		wantPages(t, threadList(s, core.ThreadFilter{Status: status}))
	}
	if list, info, err := s.FindThreads(ctx, core.ThreadFilter{}); err != nil || len(list) != 1 || info.Total != 1 {
		t.Fatalf("after what was refused: %v, %+v, %v", list, info, err)
	}
}

func threadList(s *store.Store, f core.ThreadFilter) lister {
	return listOf(s.FindThreads, func(p core.Page) core.ThreadFilter { f.Page = p; return f },
		func(r *core.ThreadRecord) string { return r.ID })
}

// Random lives of threads, then every list equals the naive one, by cursor and by offset, before and after the store
// was opened again.
func testThreadListsEqualModel(t *testing.T, open Opener) {
	dir := t.TempDir()
	s := open(t, store.Options{Path: dir})
	rnd := rand.New(rand.NewPCG(5, 6))
	model := map[string]*core.ThreadRecord{}
	var ids []string
	for i := range 400 {
		id := threadAt(start.Add(time.Duration(rnd.IntN(500))*time.Millisecond), i+1)
		r := thread(id, idAt(start, 1+rnd.IntN(3)), "")
		r.Role = []string{"", "driver", "driver\x00"}[rnd.IntN(3)]
		r.AgentType = []string{"claude", "codex"}[rnd.IntN(2)]
		r.CreatedBy = []string{"", "ann", "ann\x00b", strings.Repeat("x", 300)}[rnd.IntN(4)]
		if i > 10 && rnd.IntN(3) > 0 {
			next := *model[ids[rnd.IntN(len(ids))]]
			r = &next
		} else {
			ids = append(ids, id)
		}
		r.Status = core.ThreadStatuses[rnd.IntN(len(core.ThreadStatuses))]
		model[r.ID] = r
		putThread(t, s, r)
	}
	compare := func(s *store.Store) {
		t.Helper()
		for _, exec := range []string{"", idAt(start, 1), idAt(start, 9)} {
			for _, status := range append([]core.ThreadStatus{""}, core.ThreadStatuses...) {
				for _, role := range []string{"", "driver", "driver\x00"} {
					for _, agentType := range []string{"", "codex"} {
						for _, by := range []string{"", "ann", "ann\x00b"} {
							f := core.ThreadFilter{ExecutionID: exec, Status: status, Role: role, AgentType: agentType, CreatedBy: by}
							want := selectIDs(model, func(r *core.ThreadRecord) bool {
								return either(exec, r.ExecutionID) && either(status, r.Status) && either(role, r.Role) &&
									either(agentType, r.AgentType) && either(by, r.CreatedBy)
							})
							wantList(t, fmt.Sprintf("%+v", f), threadList(s, f), want, 1+rnd.IntN(30))
						}
					}
				}
			}
		}
		wantActive(t, s, model)
		_, _, err := s.FindThreads(ctx, core.ThreadFilter{CreatedBy: strings.Repeat("x", 300)})
		wantCode(t, err, core.CodeValidation)
	}
	compare(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	compare(open(t, store.Options{Path: dir}))
}

// wantActive compares the active threads and their counts with the model's.
func wantActive(t *testing.T, s *store.Store, model map[string]*core.ThreadRecord) {
	t.Helper()
	want := selectIDs(model, func(r *core.ThreadRecord) bool { return !r.Status.Terminal() })
	list, err := s.ActiveThreads(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range slices.Backward(list) {
		got = append(got, r.ID)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("active: got %v, want %v", got, want)
	}
	execs := map[string]int{"": len(want), idAt(start, 99): 0}
	for _, id := range want {
		execs[model[id].ExecutionID]++
	}
	mustUpdate(t, s, func(tx core.Tx) error {
		for exec, want := range execs {
			if n, err := tx.CountActiveThreads(exec); err != nil || n != want {
				t.Errorf("active threads of %q: %d, %v, want %d", exec, n, err, want)
			}
		}
		return nil
	})
}

// A limit on threads holds within one transaction and over transactions that share a commit.
func testCountActiveThreads(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	const limit = 5
	full := errors.New("full")
	var taken atomic.Int32
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			r := thread(threadAt(start, i+1), idAt(start, 1), core.ThreadPending)
			err := s.Update(ctx, func(tx core.Tx) error {
				if n, err := tx.CountActiveThreads(r.ExecutionID); err != nil || n >= limit {
					return errors.Join(err, full)
				}
				return tx.PutThread(r)
			})
			if err == nil {
				taken.Add(1)
			} else if !errors.Is(err, full) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := taken.Load(); n != limit {
		t.Fatalf("%d threads were taken, want %d", n, limit)
	}
	mustUpdate(t, s, func(tx core.Tx) error {
		r := thread(threadAt(start, 100), idAt(start, 1), core.ThreadPending)
		err := tx.PutThread(r)
		if n, countErr := tx.CountActiveThreads(r.ExecutionID); countErr != nil || n != limit+1 {
			t.Errorf("after a put: %d, %v", n, countErr)
		}
		done := *r
		done.Status = core.ThreadStopped
		err = errors.Join(err, tx.PutThread(&done))
		if n, countErr := tx.CountActiveThreads(""); countErr != nil || n != limit {
			t.Errorf("after its end: %d, %v", n, countErr)
		}
		return err
	})
}

// A cursor is good for its own list only.
func testThreadCursor(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	for i := range 3 {
		putThread(t, s, thread(threadAt(start, i+1), idAt(start, 1), core.ThreadReady))
	}
	var cursors []string
	for _, f := range []core.ThreadFilter{{}, {Status: core.ThreadReady}, {Status: core.ThreadReady, Role: "driver"}, {Role: "driver"}} {
		f.Limit = 1
		_, info, err := s.FindThreads(ctx, f)
		if err != nil || !info.HasMore {
			t.Fatal(info, err)
		}
		cursors = append(cursors, info.NextCursor)
		for i, cursor := range cursors {
			f.Cursor = cursor
			_, _, err := s.FindThreads(ctx, f)
			if own := i == len(cursors)-1; own != (err == nil) {
				t.Errorf("%+v with cursor %d: %v", f, i, err)
			}
		}
	}
}

func testTxFindExecution(t *testing.T, open Opener) {
	s := open(t, store.Options{})
	id := idAt(start, 1)
	mustUpdate(t, s, func(tx core.Tx) error {
		if _, err := tx.FindExecution(id); core.ErrorCode(err) != core.CodeNotFound {
			t.Errorf("before the put: %v", err)
		}
		err := tx.PutExecution(execution(id, "vote", core.ExecutionRunning))
		if e, findErr := tx.FindExecution(id); findErr != nil || e.Pattern.Name != "vote" {
			t.Errorf("in the transaction: %+v, %v", e, findErr)
		}
		return err
	})
}
