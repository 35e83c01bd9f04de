package access_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/access"
	"github.com/wardroom/wardroom/core/coretest"
)

// However many keys there are, a clock that is a year ahead for a while removes none that is good by the right time.
func TestClockAheadRemovesNoKeys(t *testing.T) {
	const count = 1100
	clock := coretest.NewStepClock()
	began := clock.Now()
	older := func(since time.Time, age time.Duration) bool { // by the time that passed, as a store has it
		return began.Round(0).Add(clock.Now().Sub(began)).Sub(since) >= age
	}
	r := newRig(t, func(o *access.Options) { o.Clock, o.IDs, o.Older = clock, core.NewIDs(clock), older })
	for i := range count {
		r.create(core.APIKeySpec{Name: fmt.Sprint("good", i), Owner: "ann", Scopes: []string{core.ScopeRead}})
	}
	clock.Step(365 * 24 * time.Hour)
	for i := range 100 { // after so many changes the service looks for keys that are over
		k := r.create(core.APIKeySpec{Name: fmt.Sprint("gone", i), Owner: "ann", Scopes: []string{core.ScopeRead}})
		if err := r.RevokeKey(t.Context(), k.ID); err != nil {
			t.Fatal(err)
		}
	}
	clock.Step(-365 * 24 * time.Hour)
	if n := len(r.store.keys); n != count+100 {
		t.Errorf("%d keys are left of %d", n, count+100)
	}
}
