package secrets_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/sdk/secret"
)

// A provider whose watches end at once is asked for another, and for all that it has, after pauses that grow.
func TestWatchEnds(t *testing.T) {
	r := newRig(t, nil)
	r.vault.watching, r.vault.ends = make(chan []secret.Ref, 1000), true
	r.vault.put("db", "p", canary, "1", time.Time{})
	r.wants(t, "p", canary)
	r.Open()
	for range 120 {
		coretest.WaitFor(t, "the wait for a look, and that for another watch", func() bool { return r.clock.Pending() == 2 })
		r.clock.Advance(time.Second)
	}
	coretest.WaitFor(t, "the end of the last", func() bool { return r.clock.Pending() == 2 })
	if n := len(r.vault.watching); n < 3 || n > 10 {
		t.Errorf("%d watches in two minutes, want one after 1 s, 2 s, 4 s and so on, up to 30 s", n)
	}
}

// A provider that reports changes without end is asked a few times a second, and has the latest value in the end.
func TestChangesWithoutEnd(t *testing.T) {
	r := newRig(t, nil)
	r.vault.watching, r.vault.changes = make(chan []secret.Ref, 8), make(chan []secret.Ref)
	r.vault.put("db", "p", canary, "0", time.Time{})
	r.wants(t, "p", canary)
	r.Open()
	<-r.vault.watching
	last := 0
	for ; last < 20_000 && r.vault.count() <= 20; last++ {
		r.vault.put("db", "p", fmt.Sprint(canary, last), fmt.Sprint(last), time.Time{})
		r.vault.changes <- []secret.Ref{{Path: "db", Key: "p"}}
	}
	r.vault.changes <- []secret.Ref{{Path: "another"}} // which is taken once the last is done with
	asked, lines := r.vault.count(), strings.Count(r.log.String(), "secret changed")
	if asked > 20 || lines > 20 {
		t.Errorf("it was asked %d times for %d changes in a moment, and %d are in the log", asked, last, lines)
	}
	coretest.WaitFor(t, "the wait for a look", func() bool { return r.clock.Pending() > 0 })
	r.clock.Advance(time.Second)
	coretest.WaitFor(t, "the last value", func() bool {
		v, err := r.Resolve(t.Context(), ref("p"), secret.Caller{})
		return err == nil && v.Version() == fmt.Sprint(last-1)
	})
}
