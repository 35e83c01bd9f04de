package doubt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/internal/doubt"
	"github.com/wardroom/wardroom/core/storetest"
)

func TestSettled(t *testing.T) {
	away := core.Unavailable("store_read_only", "no room")
	inDoubt := core.Unavailable("store_write_failed", "the commit failed").WithCause(core.ErrInDoubt)
	broken := errors.New("the record cannot be read")
	for name, tt := range map[string]struct {
		err    error
		stored []error // what each look fails with; the last one finds it if found
		found  bool
		want   error
	}{
		"Done":       {},
		"Refused":    {err: away, want: away},
		"Stored":     {err: inDoubt, stored: []error{nil}, found: true},
		"NotStored":  {err: inDoubt, stored: []error{nil}, want: inDoubt},
		"AwayFirst":  {err: inDoubt, stored: []error{away, away, nil}, found: true},
		"Unreadable": {err: inDoubt, stored: []error{broken}, want: inDoubt},
	} {
		t.Run(name, func(t *testing.T) {
			m, clock := storetest.NewMemory(t), coretest.NewClock()
			done := make(chan error, 1)
			looks := 0
			go func() {
				done <- doubt.Settled(t.Context(), clock, m.Store, tt.err, func(context.Context) (bool, error) {
					looks++
					return tt.found && looks == len(tt.stored), tt.stored[looks-1]
				})
			}()
			var got error
			coretest.WaitFor(t, "the outcome", func() bool {
				clock.Advance(time.Second)
				select {
				case got = <-done:
					return true
				default:
					return false
				}
			})
			if !errors.Is(got, tt.want) || looks != len(tt.stored) {
				t.Errorf("got %v after %d looks, want %v after %d", got, looks, tt.want, len(tt.stored))
			}
		})
	}
}

// A caller that leaves while the store takes no writes is left in doubt.
func TestSettledGivesUp(t *testing.T) {
	m, clock := storetest.NewMemory(t), coretest.NewClock()
	m.Admit(func(context.Context) error { return core.Unavailable("store_read_only", "no room") })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := doubt.Settled(ctx, clock, m, core.ErrInDoubt, func(context.Context) (bool, error) {
		t.Error("what is stored is not known yet")
		return false, nil
	})
	if !errors.Is(err, core.ErrInDoubt) {
		t.Errorf("got %v", err)
	}
}

func TestSame(t *testing.T) {
	type record struct {
		ID   string
		Meta map[string]any
	}
	type meta struct{ B, A int }
	a := record{"x", map[string]any{"m": meta{B: 2, A: 1}}}
	for want, b := range map[bool]record{
		true:  {"x", map[string]any{"m": map[string]any{"A": 1.0, "B": 2.0}}},
		false: {"x", map[string]any{"m": map[string]any{"A": 1.0, "B": 3.0}}},
	} {
		if got, err := doubt.Same(a, b); got != want || err != nil {
			t.Errorf("%v and %v: %t, %v", a, b, got, err)
		}
	}
}
