// Package doubt finds out what became of transactions whose commit failed in such a way that they may be stored all the same.
//
// It waits until the store takes writes again, and looks at what is stored by then, which its caller finds, or the functions that follow
// a commit. It does not repeat a transaction, nor know what one was about. Services of core call it.
package doubt

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/core"
)

// Store is the part of a store that is written to, and asked whether it takes writes.
type Store interface {
	Update(ctx context.Context, fn func(tx core.Tx) error) error
}

// Settled returns what became of a transaction that ended with err: err as it is, unless it wraps core.ErrInDoubt. Then it waits until
// the store takes writes again, and returns nil if stored reports that the transaction is stored, else err. An err that is still in
// doubt is returned where stored fails for good, and once wait, which is called between two looks, returns false.
func Settled(
	ctx context.Context, store Store, err error, stored func(ctx context.Context) (bool, error), wait func() bool,
) error {
	if errors.Is(err, core.ErrInDoubt) {
		if is, known := Stored(ctx, store, stored, wait); known && is {
			return nil
		}
	}
	return err
}

// Stored waits until the store takes writes again, and returns what look reports then: whether a transaction is stored. known is false
// where look fails for good, and once wait, which is called between two looks, returns false.
func Stored(ctx context.Context, store Store, look func(ctx context.Context) (bool, error), wait func() bool) (stored, known bool) {
	for {
		err := core.TakesWrites(ctx, store)
		if err == nil {
			if stored, err = look(ctx); err == nil {
				return stored, true
			}
		}
		if !core.AsError(err).Unavailable || !wait() {
			return false, false
		}
	}
}

// Patience is how long callers of Outcome wait: what they hold meanwhile keeps others waiting.
const Patience = 5 * time.Second

// lookEvery is how often Outcome looks.
const lookEvery = 250 * time.Millisecond

// Outcome is Settled until ctx ends, and looks for no longer than Patience; a look lasts as long as the store takes. pause is pause.For.
func Outcome(
	ctx context.Context, clock core.Clock, store Store, err error, stored func(ctx context.Context) (bool, error),
	pause func(ctx context.Context, clock core.Clock, d time.Duration) bool,
) error {
	until := clock.Now().Add(Patience)
	return Settled(ctx, store, err, stored, func() bool {
		return clock.Now().Before(until) && pause(ctx, clock, lookEvery)
	})
}

// Update is store.Update for callers who wait, as those of Outcome do, where it is in doubt whether fn is stored. The wait ends with open:
// the context of a service, or of a caller whose service has none.
func Update(
	ctx, open context.Context, clock core.Clock, store Store, fn func(tx core.Tx) error,
	pause func(ctx context.Context, clock core.Clock, d time.Duration) bool,
) error {
	var known atomic.Bool
	err := store.Update(ctx, func(tx core.Tx) error {
		if err := fn(tx); err != nil {
			return err
		}
		tx.AfterCommit(func() { known.Store(true) })
		return nil
	})
	err = Outcome(open, clock, store, err, func(context.Context) (bool, error) { return known.Load(), nil }, pause)
	if errors.Is(err, core.ErrInDoubt) && known.Load() { // found stored, though the store takes no writes any more
		return nil
	}
	return err
}

// Same reports whether two records are the same as they are stored: what a field of any type holds may be of another type once it
// was read.
func Same(a, b any) (bool, error) {
	var read [2]any
	for i, record := range []any{a, b} {
		data, err := json.Marshal(record)
		if err != nil {
			return false, err
		}
		if err := json.Unmarshal(data, &read[i]); err != nil {
			return false, err
		}
	}
	return reflect.DeepEqual(read[0], read[1]), nil
}
