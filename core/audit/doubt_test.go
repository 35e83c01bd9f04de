package audit_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// What waits is recorded once, whether the commit that fails is stored or not.
func TestRecordInDoubt(t *testing.T) {
	for name, kept := range map[string]bool{"Stored": true, "NotStored": false} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "", nil)
			count := func(id string) (n int) {
				for _, record := range r.records() {
					if record.Request.RequestID == id {
						n++
					}
				}
				return n
			}
			r.fail(kept)
			record := func(id string) {
				entry := intent().AuditEntry
				entry.Request.RequestID = id
				if err := r.Record(t.Context(), entry); err != nil {
					t.Fatal(err)
				}
			}
			record("req_1")
			coretest.WaitFor(t, "the commit that fails", func() bool { return core.TakesWrites(t.Context(), r.store) != nil })
			record("req_2")
			coretest.WaitFor(t, "the next record", func() bool {
				r.clock.Advance(time.Second)
				return count("req_2") > 0
			})
			if got := count("req_1"); got != 1 {
				t.Errorf("it is recorded %d times", got)
			}
			r.sound()
		})
	}
}
