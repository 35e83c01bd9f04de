package store_test

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("STORE_TEST_CRASH_DIR"); dir != "" {
		crashWriter(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

var ctx = context.Background()

// start is the time at which the tests' clock begins.
var start = coretest.NewClock().Now()

// mustOpen opens a store that is closed at the end of the test.
func mustOpen(tb testing.TB, opts store.Options) *store.Store {
	tb.Helper()
	if opts.Path == "" {
		opts.Path = tb.TempDir()
	}
	if opts.MinFreeBytes == 0 {
		opts.MinFreeBytes = 1 << 20
	}
	s, err := store.Open(ctx, opts)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return s
}

func mustUpdate(tb testing.TB, s *store.Store, fn func(tx core.Tx) error) {
	tb.Helper()
	if err := s.Update(ctx, fn); err != nil {
		tb.Fatal(err)
	}
}

func wantCode(tb testing.TB, err error, want core.Code) {
	tb.Helper()
	if got := core.ErrorCode(err); got != want {
		tb.Fatalf("got error %v, want code %s", err, want)
	}
}

func wantReason(tb testing.TB, err error, want string) {
	tb.Helper()
	e := core.AsError(err)
	if e == nil || !e.Unavailable || e.Details["reason"] != want {
		tb.Fatalf("got error %v, want one that is unavailable with reason %s", err, want)
	}
}

// idAt makes an execution id for a time; n tells ids of one millisecond apart.
func idAt(t time.Time, n int) string {
	bound := core.IDBound(core.PrefixExecution, t)
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	b := []byte(bound)
	for i := len(b) - 1; n > 0; i-- {
		b[i] = digits[n%32]
		n /= 32
	}
	return string(b)
}

func execution(id, pattern string, status core.ExecutionStatus) *core.Execution {
	created, _ := core.IDTime(id)
	e := &core.Execution{
		ID: id, Pattern: core.PatternRef{Name: pattern, Version: "1.0.0"}, Hash: "hash-" + pattern, Status: status,
		Input: json.RawMessage(`{"text":"a few words of input"}`), CreatedAt: created.UTC(), Deadline: created.UTC().Add(time.Minute),
	}
	if status.Terminal() {
		done := e.CreatedAt.Add(time.Second)
		e.CompletedAt = &done
	}
	return e
}

func putExecution(tb testing.TB, s *store.Store, e *core.Execution) {
	tb.Helper()
	mustUpdate(tb, s, func(tx core.Tx) error { return tx.PutExecution(e) })
}

// fixedClock makes stored times the same on every run.
func fixedClock() core.Clock { return coretest.NewClock() }
