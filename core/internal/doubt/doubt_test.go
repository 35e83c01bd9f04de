package doubt_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/doubt"
)

// store refuses transactions with what it returns, unless that is nil.
type store func() error

func (s store) Update(_ context.Context, fn func(tx core.Tx) error) error {
	if err := s(); err != nil {
		return err
	}
	return fn(nil)
}

func TestSettled(t *testing.T) {
	away := core.Unavailable("store_read_only", "no room")
	inDoubt := core.Unavailable("store_write_failed", "the commit failed").WithCause(core.ErrInDoubt)
	broken := errors.New("the record cannot be read")
	for name, tt := range map[string]struct {
		err    error
		writes int     // refused before the store takes them again
		stored []error // what each look fails with
		found  bool    // by the last look
		waits  int     // after which wait returns false; 0: it does not
		want   error
	}{
		"Done":       {},
		"Refused":    {err: away, want: away},
		"Stored":     {err: inDoubt, writes: 3, stored: []error{nil}, found: true},
		"NotStored":  {err: inDoubt, stored: []error{nil}, want: inDoubt},
		"AwayFirst":  {err: inDoubt, stored: []error{away, away, nil}, found: true},
		"Unreadable": {err: inDoubt, stored: []error{broken}, want: inDoubt},
		"GivenUp":    {err: inDoubt, writes: 9, waits: 3, want: inDoubt},
	} {
		t.Run(name, func(t *testing.T) {
			writes, looks, waits := 0, 0, 0
			got := doubt.Settled(t.Context(), store(func() error {
				if writes++; writes <= tt.writes {
					return away
				}
				return nil
			}), tt.err, func(context.Context) (bool, error) {
				looks++
				return tt.found && looks == len(tt.stored), tt.stored[looks-1]
			}, func() bool {
				waits++
				return waits != tt.waits
			})
			if !errors.Is(got, tt.want) || looks != len(tt.stored) {
				t.Errorf("got %v after %d looks, want %v after %d", got, looks, tt.want, len(tt.stored))
			}
		})
	}
}

// late is a store that finds a transaction stored whose commit failed, and takes no writes all the same.
type late struct {
	core.Tx
	after []func()
}

func (l *late) AfterCommit(f func()) { l.after = append(l.after, f) }

func (l *late) Update(_ context.Context, fn func(tx core.Tx) error) error {
	if len(l.after) == 0 {
		return errors.Join(fn(l), core.Unavailable("store_write_failed", "the commit failed").WithCause(core.ErrInDoubt))
	}
	for _, f := range l.after {
		f()
	}
	return core.Unavailable("store_read_only", "no room")
}

// What is found stored counts, though the store fails again before it is asked.
func TestUpdateFoundLate(t *testing.T) {
	l := &late{}
	err := doubt.Update(t.Context(), t.Context(), core.SystemClock{}, l, func(core.Tx) error { return nil },
		func(context.Context, core.Clock, time.Duration) bool { return false })
	if err != nil || len(l.after) != 1 {
		t.Errorf("%d functions follow the commit: %v", len(l.after), err)
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
