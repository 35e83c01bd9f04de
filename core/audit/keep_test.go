package audit_test

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/audit"
	"github.com/wardroom/wardroom/core/coretest"
	sinks "github.com/wardroom/wardroom/sdk/audit"
	"github.com/wardroom/wardroom/sdk/audit/trail"
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

// A trail that is full takes records as soon as its sink caught up, and goes on to take them; no time passes.
func TestRoomOnceSinksTook(t *testing.T) {
	for _, blocking := range []bool{true, false} {
		t.Run(fmt.Sprint(blocking), func(t *testing.T) {
			const most = 256 << 10
			r := newRig(t, "", []string{"all"}, func(c *audit.Config) { c.Blocking, c.MaxBytes = blocking, most })
			all := &sink{block: make(chan struct{})}
			r.Deliver(func(string) sinks.Sink { return all })
			record := func() error { return r.execute(core.WithAuditIntent(t.Context(), intent())) }
			for r.store.AuditHead().Bytes < most {
				if err := record(); err != nil {
					t.Fatal(err)
				}
			}
			if err := record(); (err != nil) != blocking {
				t.Fatalf("with nothing taken: %v", err)
			}
			filled := r.store.AuditHead().Sequence
			close(all.block)
			coretest.WaitFor(t, "room for three times as much", func() bool {
				for range 20 {
					if err := record(); err != nil && !blocking {
						t.Fatal(err)
					}
				}
				return r.store.AuditHead().Sequence >= 4*filled
			})
			r.sound()
		})
	}
}

// slowly is a reader of an export that stops after its first bytes until it may go on.
type slowly struct {
	bytes.Buffer
	once sync.Once
	stop func()
}

func (w *slowly) Write(b []byte) (int, error) {
	w.once.Do(w.stop)
	return w.Buffer.Write(b)
}

// An export whose reader is so slow that retention removes what comes next fails: what it wrote would look like a trail that was changed.
func TestTrimBeforeAnExport(t *testing.T) {
	r := newRig(t, "", nil, func(c *audit.Config) { c.Retention, c.Level = time.Hour, audit.Verbose })
	record := func() {
		t.Helper()
		large := intent()
		large.Details = map[string]any{"text": strings.Repeat("x", 1000)}
		if err := r.execute(core.WithAuditIntent(t.Context(), large)); err != nil {
			t.Fatal(err)
		}
	}
	for range 600 {
		record()
	}
	r.clock.Advance(2 * time.Hour)
	record()
	out := &slowly{stop: func() {
		coretest.WaitFor(t, "retention", func() bool {
			r.clock.Advance(time.Minute)
			return r.store.AuditHead().First > 1000
		})
	}}
	err := r.ExportAudit(t.Context(), time.Time{}, time.Time{}, "json", out)
	if e := core.AsError(err); e == nil || !e.Unavailable {
		v := new(trail.Verifier)
		for line := range bytes.Lines(out.Bytes()) {
			v.Add(line)
		}
		t.Errorf("%v; %+v", err, v.Report().Findings)
	}
	r.sound()
}
