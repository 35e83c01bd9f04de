package core

import (
	"context"
	"errors"
)

// ErrInDoubt is wrapped by the error of a write whose commit failed in such a way that it may be stored all the same. Which of the
// two it is can be read once the store takes writes again: see TakesWrites.
var ErrInDoubt = errors.New("it is not known whether it was stored")

// errAsked ends a transaction that only asks whether the store takes writes.
var errAsked = errors.New("the store takes writes")

// TakesWrites returns why a store takes no writes now, or nil: it was opened anew since the last commit that failed, and reads show
// what reached the disk of that.
func TakesWrites(ctx context.Context, store interface {
	Update(ctx context.Context, fn func(tx Tx) error) error
}) error {
	if err := store.Update(ctx, func(Tx) error { return errAsked }); !errors.Is(err, errAsked) {
		return err
	}
	return nil
}
