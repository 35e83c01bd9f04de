package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

var errRefused = errors.New("refused")

func appendEvent(subject string) func(tx core.Tx) error {
	return func(tx core.Tx) error {
		return tx.Append(core.Event{Type: core.EventTaskCompleted, Subject: subject, Time: start})
	}
}

// A closure that fails or panics leaves nothing behind, neither alone nor in a batch with others, and the
// sequence has no gap.
func TestUpdateDiscards(t *testing.T) {
	s := mustOpen(t, store.Options{})
	var wg sync.WaitGroup
	for i := range 60 {
		wg.Go(func() {
			id := idAt(start, i+1)
			err := s.Update(ctx, func(tx core.Tx) error {
				if err := tx.PutExecution(execution(id, "vote", core.ExecutionCompleted)); err != nil {
					return err
				}
				if err := appendEvent("one")(tx); err != nil {
					return err
				}
				switch i % 3 {
				case 1:
					return errRefused
				case 2:
					panic("a bug in a closure")
				}
				return nil
			})
			switch i % 3 {
			case 0:
				if err != nil {
					t.Error(err)
				}
			case 1:
				if !errors.Is(err, errRefused) {
					t.Errorf("got %v, want the closure's own error", err)
				}
			case 2:
				if core.ErrorCode(err) != core.CodeInternal || strings.Contains(core.AsError(err).Message, "bug") {
					t.Errorf("got %v, want an internal error that tells nothing", err)
				}
			}
		})
	}
	wg.Wait()
	list, info, err := s.FindExecutions(ctx, core.ExecutionFilter{Page: core.Page{Limit: 100}})
	if err != nil || len(list) != 20 || info.Total != 20 {
		t.Fatalf("%d rows, %+v, %v, want 20", len(list), info, err)
	}
	events, _, err := s.Events(ctx, "one", 0, 0)
	if err != nil || len(events) != 20 {
		t.Fatalf("%d events, %v, want 20", len(events), err)
	}
	for i, e := range events {
		if e.Seq != uint64(i+1) {
			t.Fatalf("event %d has sequence %d", i, e.Seq)
		}
	}
}

func TestUpdateSeesOwnWrites(t *testing.T) {
	s := mustOpen(t, store.Options{})
	pattern := &core.Pattern{Name: "vote", Version: "1.0.0", Source: "a", Hash: "h1"}
	mustUpdate(t, s, func(tx core.Tx) error {
		if err := tx.PutPattern(pattern); err != nil {
			return err
		}
		list, err := tx.FindPatternVersions("vote")
		if err != nil || len(list) != 1 || list[0].Version != "1.0.0" {
			t.Errorf("versions: %v, %v", list, err)
		}
		if err := tx.DeletePattern("vote", "1.0.0"); err != nil {
			return err
		}
		list, err = tx.FindPatternVersions("vote")
		if err != nil || len(list) != 0 {
			t.Errorf("versions after delete: %v, %v", list, err)
		}
		return nil
	})
}

// Concurrent updates share syncs. The first batch is held up until all others wait.
func TestGroupCommit(t *testing.T) {
	s := mustOpen(t, store.Options{})
	const updates = 200
	hold, began := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = s.Update(ctx, func(core.Tx) error {
			close(began)
			<-hold
			return nil
		})
	})
	<-began
	for i := range updates {
		wg.Go(func() {
			if err := s.Update(ctx, appendEvent(fmt.Sprint("s", i))); err != nil {
				t.Error(err)
			}
		})
	}
	close(hold)
	wg.Wait()
	if st := s.Stats(); st.Commits >= updates/2 || st.Updates < updates || st.Events != updates {
		t.Fatalf("%d updates took %d commits: %+v", updates, st.Commits, st)
	}
}

func TestUpdateContext(t *testing.T) {
	s := mustOpen(t, store.Options{})
	cancelled, cancel := context.WithCancel(ctx)
	hold, began, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- s.Update(cancelled, func(tx core.Tx) error {
			close(began)
			<-hold
			return appendEvent("ran")(tx)
		})
	}()
	<-began
	waiting := make(chan error)
	go func() { waiting <- s.Update(cancelled, appendEvent("waited")) }()
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Fatalf("the update that waited: %v", err)
	}
	close(hold)
	if err := <-done; err != nil {
		t.Fatalf("the update that ran: %v", err)
	}
	if err := s.Update(cancelled, appendEvent("late")); !errors.Is(err, context.Canceled) {
		t.Fatalf("the update after: %v", err)
	}
	mustUpdate(t, s, func(core.Tx) error { return nil }) // the writer is past all of them
	for subject, want := range map[string]int{"ran": 1, "waited": 0, "late": 0} {
		if events, _, err := s.Events(ctx, subject, 0, 0); err != nil || len(events) != want {
			t.Fatalf("%s: %d events, %v, want %d", subject, len(events), err, want)
		}
	}
}

// OnCommit gets every event once and in order, also that of a journal, and not before it can be read.
func TestOnCommit(t *testing.T) {
	var mu sync.Mutex
	var got []core.Event
	s := mustOpen(t, store.Options{OnCommit: func(events []core.Event) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, events...)
	}})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for range 20 {
				list := []core.Event{
					{Type: core.EventTaskCompleted, Subject: fmt.Sprint("s", g), Time: start},
					{Type: core.EventExecutionStarted, Subject: fmt.Sprint("s", g), Time: start},
				}
				if err := s.Update(ctx, func(tx core.Tx) error { return tx.Append(list...) }); err != nil {
					t.Error(err)
				}
				if list[0].Seq == 0 || list[1].Seq != list[0].Seq+1 {
					t.Errorf("the caller's events got sequences %d and %d", list[0].Seq, list[1].Seq)
				}
			}
		})
	}
	wg.Wait()
	mustUpdate(t, s, func(core.Tx) error { return nil }) // the writer is past the last OnCommit
	mu.Lock()
	defer mu.Unlock()
	if len(got) != 320 {
		t.Fatalf("OnCommit got %d events, want 320", len(got))
	}
	for i, e := range got {
		if e.Seq != uint64(i+1) {
			t.Fatalf("event %d has sequence %d", i, e.Seq)
		}
	}
}

// What AfterCommit was given is called before anybody can read the events, and not at all for what is not written.
func TestAfterCommit(t *testing.T) {
	var s *store.Store
	var applied, shown atomic.Uint64
	s = mustOpen(t, store.Options{OnCommit: func(events []core.Event) {
		last := events[len(events)-1].Seq
		if got := applied.Load(); got < last {
			t.Errorf("event %d is shown, and %d was applied", last, got)
		}
		shown.Store(last)
	}})
	stop := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for after := uint64(0); ; {
			events, _, err := s.Events(ctx, "one", after, 0)
			if err != nil {
				t.Error(err)
				return
			}
			if n := len(events); n > 0 {
				after = events[n-1].Seq
				if got := applied.Load(); got < after {
					t.Errorf("event %d can be read, and %d was applied", after, got)
				}
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for range 200 {
		events := []core.Event{{Type: core.EventTaskCompleted, Subject: "one", Time: start}}
		mustUpdate(t, s, func(tx core.Tx) error {
			tx.AfterCommit(func() { applied.Store(events[0].Seq) })
			return tx.Append(events...)
		})
		if applied.Load() != events[0].Seq {
			t.Fatal("Update returned before the function was called")
		}
	}
	close(stop)
	reader.Wait()
	called := false
	refused := core.Invalid("x", "no")
	err := s.Update(ctx, func(tx core.Tx) error {
		tx.AfterCommit(func() { called = true })
		return refused
	})
	if !errors.Is(err, refused) || called {
		t.Errorf("%v, called %v", err, called)
	}
	mustUpdate(t, s, func(tx core.Tx) error {
		tx.AfterCommit(func() { panic("a mistake") })
		tx.AfterCommit(func() { called = true })
		return nil
	})
	if !called {
		t.Error("one that panics kept the next from being called")
	}
}

// One closure may write far more than Badger takes in one transaction.
func TestUpdateLarge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := mustOpen(t, store.Options{Path: dir})
	input := []byte(`"` + strings.Repeat("x", 10_000) + `"`)
	const items = 1500
	mustUpdate(t, s, func(tx core.Tx) error {
		for i := range items {
			if err := tx.PutBatchInput("batch_1", i, input); err != nil {
				return err
			}
		}
		if err := appendEvent("batch_1")(tx); err != nil {
			return err
		}
		return tx.PutBatch(&core.Batch{ID: "batch_1", Status: core.BatchRunning, Total: items})
	})
	mustUpdate(t, s, appendEvent("batch_1"))
	err := s.Update(ctx, func(tx core.Tx) error {
		for i := range 27_000 { // more than one closure may hold
			if err := tx.PutBatchInput("batch_2", i, input); err != nil {
				return err
			}
		}
		return nil
	})
	wantCode(t, err, core.CodeValidation)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, store.Options{Path: dir})
	for _, i := range []int{0, items / 2, items - 1} {
		if got, err := s.FindBatchInput(ctx, "batch_1", i); err != nil || string(got) != string(input) {
			t.Fatalf("input %d: %d bytes, %v", i, len(got), err)
		}
	}
	if _, err := s.FindBatchInput(ctx, "batch_2", 0); core.ErrorCode(err) != core.CodeNotFound {
		t.Fatalf("the refused closure left something: %v", err)
	}
	if events, _, err := s.Events(ctx, "batch_1", 0, 0); err != nil || len(events) != 2 || events[1].Seq != 2 {
		t.Fatalf("events: %v, %v", events, err)
	}
}

// Large values lie in the value log, and many of them fit into one batch.
func TestUpdateLargeValues(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, store.Options{})
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			e := execution(idAt(start, i+1), "vote", core.ExecutionPending)
			e.Input = []byte(`"` + strings.Repeat("x", 3<<20) + `"`)
			if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutExecution(e) }); err != nil {
				t.Error(err)
			}
			got, err := s.FindExecution(ctx, e.ID)
			if err != nil || len(got.Input) != len(e.Input) {
				t.Errorf("got %d bytes, %v", len(got.Input), err)
			}
		})
	}
	wg.Wait()
	err := s.Update(ctx, func(tx core.Tx) error { return tx.PutBatchInput("batch_1", 0, make([]byte, 64<<20)) })
	wantCode(t, err, core.CodeValidation)
}

func TestOpenTwice(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, store.Options{Path: dir})
	_, err := store.Open(ctx, store.Options{Path: dir, MinFreeBytes: 1})
	if err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "in use by process") {
		t.Fatalf("got %v", err)
	}
}

// TestDirectoryOfANewStore: a directory that was made with a common umask is closed to others when a store is made in it, and is
// left as it is from then on.
func TestDirectoryOfANewStore(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ before, after os.FileMode }{{0o755, 0o750}, {0o751, 0o751}} {
		if err := os.Chmod(dir, c.before); err != nil {
			t.Fatal(err)
		}
		if err := mustOpen(t, store.Options{Path: dir}).Close(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(dir)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != c.after {
			t.Errorf("it had %o and has %o, want %o", c.before, got, c.after)
		}
	}
}

func TestOpenErrors(t *testing.T) {
	for name, opts := range map[string]store.Options{
		"ErrPathRequired": {},
		"ErrNoDirectory":  {Path: filepath.Join("/proc", "no", "such")},
		"ErrNeverEnough":  {Path: t.TempDir(), MinFreeBytes: 1 << 62},
	} {
		t.Run(name, func(t *testing.T) {
			if s, err := store.Open(ctx, opts); err == nil {
				_ = s.Close()
				t.Fatal("it opened")
			}
		})
	}
}

// After Close every method says so, also those that were waiting.
func TestClosed(t *testing.T) {
	s := mustOpen(t, store.Options{})
	refused := make(chan error, 50)
	for range cap(refused) {
		go func() {
			for {
				if err := s.Update(ctx, appendEvent("one")); err != nil {
					refused <- err
					return
				}
				if _, _, err := s.Events(ctx, "one", 0, 1); err != nil {
					refused <- err
					return
				}
			}
		}()
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range cap(refused) {
		wantReason(t, <-refused, "store_closed")
	}
	for name, call := range map[string]func() error{
		"FindExecution":    func() error { _, err := s.FindExecution(ctx, "x"); return err },
		"FindExecutions":   func() error { _, _, err := s.FindExecutions(ctx, core.ExecutionFilter{}); return err },
		"ActiveExecutions": func() error { _, err := s.ActiveExecutions(ctx); return err },
		"CountExecutions":  func() error { _, err := s.CountExecutions(ctx); return err },
		"AllPatterns":      func() error { _, err := s.AllPatterns(ctx); return err },
		"FindDefinition":   func() error { _, err := s.FindDefinition(ctx, "x"); return err },
		"FindBatch":        func() error { _, err := s.FindBatch(ctx, "x"); return err },
		"ActiveBatches":    func() error { _, err := s.ActiveBatches(ctx); return err },
		"FindBatchInput":   func() error { _, err := s.FindBatchInput(ctx, "x", 0); return err },
		"AllAgents":        func() error { _, err := s.AllAgents(ctx); return err },
		"FindThread":       func() error { _, err := s.FindThread(ctx, "x"); return err },
		"FindThreads":      func() error { _, _, err := s.FindThreads(ctx, core.ThreadFilter{}); return err },
		"ActiveThreads":    func() error { _, err := s.ActiveThreads(ctx); return err },
		"QueuedInputs":     func() error { _, err := s.QueuedInputs(ctx, "x", 0, 1); return err },
		"FindWorkspace":    func() error { _, err := s.FindWorkspace(ctx, "x"); return err },
		"FindWorkspaces":   func() error { _, _, err := s.FindWorkspaces(ctx, core.WorkspaceFilter{}); return err },
		"AllWorkspaces":    func() error { _, err := s.AllWorkspaces(ctx); return err },
		"FindDecision":     func() error { _, err := s.FindDecision(ctx, "x"); return err },
		"FindDecisions":    func() error { _, _, err := s.FindDecisions(ctx, core.DecisionFilter{}); return err },
		"FindExperience":   func() error { _, err := s.FindExperience(ctx, "x"); return err },
		"FindExperiences":  func() error { _, _, err := s.FindExperiences(ctx, core.ExperienceFilter{}); return err },
		"WalkExperiences":  func() error { return s.WalkExperiences(ctx, "", nil) },
		"FindIdempotency":  func() error { _, err := s.FindIdempotency(ctx, "x", "y", start); return err },
		"Events":           func() error { _, _, err := s.Events(ctx, "x", 0, 1); return err },
		"Log":              func() error { _, _, err := s.Log(ctx, 0, 1); return err },
		"SetCursor":        func() error { return s.SetCursor(ctx, "x", 1) },
		"DeleteCursor":     func() error { return s.DeleteCursor(ctx, "x") },
		"Cursor":           func() error { _, err := s.Cursor(ctx, "x"); return err },
		"Retain":           func() error { _, err := s.Retain(ctx, store.Policy{Executions: time.Hour}); return err },
		"Dump":             func() error { _, err := s.Dump(ctx, &strings.Builder{}, nil); return err },
		"RunMaintenance":   func() error { return s.RunMaintenance(ctx, func() store.Policy { return store.Policy{} }) },
	} {
		t.Run(name, func(t *testing.T) { wantReason(t, call(), "store_closed") })
	}
	if readOnly, reason := s.State(); !readOnly || reason == "" {
		t.Fatalf("state: %v %q", readOnly, reason)
	}
	s.Stats() // does not panic
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
