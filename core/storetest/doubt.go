package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// Doubt makes changes whose commit fails though it is stored.
type Doubt struct {
	t       *testing.T
	patient bool
}

// EachDoubt runs a test for callers who wait until it is known what is stored, and for those who do not wait so long.
func EachDoubt(t *testing.T, run func(t *testing.T, d Doubt)) {
	t.Helper()
	for _, patient := range []bool{true, false} {
		t.Run(fmt.Sprintf("Patient=%v", patient), func(t *testing.T) { run(t, Doubt{t, patient}) })
	}
}

// Change makes a change, has the clock move on until its caller is answered, and waits until the store takes writes again. It returns
// the caller's error, which is nil for one who waits, and else wraps core.ErrInDoubt.
func (d Doubt) Change(m *Memory, clock *coretest.Clock, change func() error) error {
	d.t.Helper()
	by := time.Millisecond
	if !d.patient {
		by = time.Minute
	}
	err := m.Losing(clock, by, change)
	if err != nil && (d.patient || !errors.Is(err, core.ErrInDoubt)) {
		d.t.Fatalf("it is stored, and its caller gets %v", err)
	}
	return err
}
