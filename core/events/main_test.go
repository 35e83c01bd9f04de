package events_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ctx = context.Background()

func event(subject string, seq uint64) core.Event {
	return core.Event{Seq: seq, Type: core.EventTaskCompleted, Subject: subject, Time: time.Unix(int64(seq), 0)}
}

// wantReason checks for an unavailable error with a stable reason.
func wantReason(tb testing.TB, err error, want string) {
	tb.Helper()
	e := core.AsError(err)
	if e == nil || !e.Unavailable || e.Details["reason"] != want {
		tb.Fatalf("got error %v, want reason %s", err, want)
	}
}
