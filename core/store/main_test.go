package store_test

import (
	"context"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/storetest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("STORE_TEST_CRASH_DIR"); dir != "" {
		crashWriter(dir)
		return
	}
	if dir := os.Getenv("STORE_TEST_CLOSE_DIR"); dir != "" {
		closeWriter(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

var ctx = context.Background()

// What the suite of the contract has for its own tests.
var (
	start, mustOpen, mustUpdate, mustDump = storetest.Start, storetest.OnDisk, storetest.MustUpdate, storetest.MustDump
	wantCode, fill                        = storetest.WantCode, storetest.Fill
	idAt, ownID                           = storetest.IDAt, storetest.OwnID
	execution, putExecution               = storetest.Execution, storetest.PutExecution
	threadAt, thread, putThread           = storetest.ThreadAt, storetest.Thread, storetest.PutThread
	threadEvent, experience               = storetest.ThreadEvent, storetest.Experience
	webhookAt, webhook, putWebhook        = storetest.WebhookAt, storetest.Webhook, storetest.PutWebhook
	delivery, putDeliveries, ended        = storetest.Delivery, storetest.PutDeliveries, storetest.EndedDelivery
	checkDeliveryKeys, run                = storetest.CheckDeliveryKeys, storetest.Life
)

// TestContract goes over everything that a store promises.
func TestContract(t *testing.T) { storetest.Run(t, storetest.OnDisk) }

func wantReason(tb testing.TB, err error, want string) {
	tb.Helper()
	e := core.AsError(err)
	if e == nil || !e.Unavailable || e.Details["reason"] != want {
		tb.Fatalf("got error %v, want one that is unavailable with reason %s", err, want)
	}
}

// fixedClock makes stored times the same on every run.
func fixedClock() core.Clock { return coretest.NewClock() }
