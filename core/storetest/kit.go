package storetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store"
)

var ctx = context.Background()

// start is the time at which the tests' clock begins.
var start = coretest.NewClock().Now()

// OnDisk is the Opener of the store that the product has.
func OnDisk(tb testing.TB, opts store.Options) *store.Store {
	tb.Helper()
	if opts.Path == "" {
		opts.Path = tb.TempDir()
	}
	opts.MinFreeBytes = cmp.Or(opts.MinFreeBytes, 1<<20)
	s, err := store.Open(ctx, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return closing(tb, s)
}

// closing closes a store at the end of the test.
func closing(tb testing.TB, s *store.Store) *store.Store {
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return s
}

// mustRestore makes a store on disk of the dump of another.
func mustRestore(t *testing.T, s *store.Store) *store.Store {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "store")
	if _, err := store.Restore(ctx, bytes.NewReader(mustDump(t, s)), dir, nil, nil); err != nil {
		t.Fatal(err)
	}
	return OnDisk(t, store.Options{Path: dir})
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

func mustDump(tb testing.TB, s *store.Store) []byte {
	tb.Helper()
	var b bytes.Buffer
	calls := 0
	sum, err := s.Dump(ctx, &b, func(uint64) { calls++ })
	if err != nil || sum.Records == 0 || calls == 0 {
		tb.Fatal(sum, calls, err)
	}
	return b.Bytes()
}

// fill stores executions of three patterns and two terminal statuses, a few hundred per transaction.
func fill(tb testing.TB, s *store.Store, rows int) {
	tb.Helper()
	for from := 0; from < rows; from += 500 {
		mustUpdate(tb, s, func(tx core.Tx) error {
			for i := from; i < min(from+500, rows); i++ {
				status := core.ExecutionCompleted
				if i%5 == 0 {
					status = core.ExecutionFailed
				}
				id := idAt(start.Add(time.Duration(i)*time.Millisecond), 1)
				if err := tx.PutExecution(execution(id, fmt.Sprintf("p%d", i%3), status)); err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// What tests beside the suite share of its records.
var (
	Start      = start
	MustUpdate = mustUpdate
	MustDump   = mustDump
	WantCode   = wantCode
	Fill       = fill

	IDAt              = idAt
	OwnID             = ownID
	Execution         = execution
	PutExecution      = putExecution
	ThreadAt          = threadAt
	Thread            = thread
	PutThread         = putThread
	ThreadEvent       = threadEvent
	Experience        = experience
	WebhookAt         = webhookAt
	Webhook           = webhook
	PutWebhook        = putWebhook
	Delivery          = delivery
	PutDeliveries     = putDeliveries
	EndedDelivery     = ended
	CheckDeliveryKeys = checkDeliveryKeys
	Life              = run
)
