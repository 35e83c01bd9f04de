package audit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/audit"
	"github.com/wardroom/wardroom/core/coretest"
	sinks "github.com/wardroom/wardroom/sdk/audit"
)

// A crowded trail of large records loses what brings it below its size, and keeps the rest.
func TestTrimOfLargeRecords(t *testing.T) {
	const most = 1 << 20
	r := newRig(t, "", []string{"all"}, func(c *audit.Config) { c.MaxBytes, c.Level = most, audit.Verbose })
	all := new(sink)
	r.Deliver(func(string) sinks.Sink { return all })
	for i := 0; r.store.AuditHead().Bytes < most/10*9; i++ {
		large := intent()
		large.Details = map[string]any{}
		for n := range 8 {
			large.Details[fmt.Sprint("text", n)] = strings.Repeat("x", 1000)
		}
		if err := r.execute(core.WithAuditIntent(t.Context(), large)); err != nil {
			t.Fatal(err)
		}
	}
	full := r.store.AuditHead()
	t.Logf("%d bytes a record", full.Bytes/int64(full.Sequence))
	coretest.WaitFor(t, "the trail to be trimmed", func() bool {
		r.clock.Advance(time.Minute)
		return r.store.AuditHead().First > 1
	})
	if head := r.store.AuditHead(); head.Bytes < most/10*7 || head.Bytes >= most/10*9 {
		t.Errorf("%d bytes are left of %d", head.Bytes, full.Bytes)
	}
	r.sound()
}
