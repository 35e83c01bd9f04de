package turn_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/wardroom/wardroom/core/internal/turn"
)

// A claim ends the work of who holds the lock, and of those who come before it.
func TestClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lock := turn.New()
		var order []string
		for _, name := range []string{"first", "second"} {
			go func() {
				work, err := lock.Take(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				<-work.Done()
				if cause := context.Cause(work); !errors.Is(cause, turn.ErrWanted) {
					t.Errorf("the work ended with %v", cause)
				}
				order = append(order, name)
				lock.Release()
			}()
			synctest.Wait()
		}
		if err := lock.Claim(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(order, []string{"first", "second"}) {
			t.Errorf("the lock was held by %q", order)
		}
		lock.Release()
		work, err := lock.Take(t.Context())
		if err != nil || work.Err() != nil {
			t.Errorf("after the claim: %v, %v", err, work.Err())
		}
		lock.Release()
	})
}

func TestWaitEnds(t *testing.T) {
	lock := turn.New()
	if err := lock.Claim(t.Context()); err != nil {
		t.Fatal(err)
	}
	over, stop := context.WithCancel(t.Context())
	stop()
	if _, err := lock.Take(over); !errors.Is(err, context.Canceled) {
		t.Errorf("Take: %v", err)
	}
	if err := lock.Claim(over); !errors.Is(err, context.Canceled) {
		t.Errorf("Claim: %v", err)
	}
	lock.Release()
	work, err := lock.Take(t.Context()) // the claim that gave up ends nothing
	if err != nil || work.Err() != nil {
		t.Errorf("%v, %v", err, work.Err())
	}
	lock.Release()
	if work.Err() == nil {
		t.Error("the context of the work goes on after it")
	}
}
