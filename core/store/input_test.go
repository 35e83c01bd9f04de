package store_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store"
)

func input(threadID string, number uint64) *core.QueuedInput {
	return &core.QueuedInput{
		ID: ownID(core.PrefixInput, start, int(number)), ThreadID: threadID, Number: number,
		Message: fmt.Sprint("message ", number), CreatedAt: start,
	}
}

func putInputs(tb testing.TB, s *store.Store, threadID string, numbers ...uint64) {
	tb.Helper()
	mustUpdate(tb, s, func(tx core.Tx) (err error) {
		for _, n := range numbers {
			err = errors.Join(err, tx.PutInput(input(threadID, n)))
		}
		return err
	})
}

func wantInputs(t *testing.T, s *store.Store, threadID string, after uint64, limit int, want ...uint64) {
	t.Helper()
	list, err := s.QueuedInputs(ctx, threadID, after, limit)
	if err != nil {
		t.Fatal(err)
	}
	var got []uint64
	for _, in := range list {
		if *in != *input(threadID, in.Number) {
			t.Fatalf("got %+v", in)
		}
		got = append(got, in.Number)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("inputs of %q after %d: got %v, want %v", threadID, after, got, want)
	}
}

func TestInput(t *testing.T) {
	s := mustOpen(t, store.Options{})
	a, b := threadAt(start, 1), threadAt(start, 2)
	putInputs(t, s, a, 1, 2, 3, 300)
	putInputs(t, s, b, 1)
	wantInputs(t, s, a, 0, 10, 1, 2, 3, 300)
	wantInputs(t, s, a, 1, 2, 2, 3)
	wantInputs(t, s, a, 300, 10)
	wantInputs(t, s, a, math.MaxUint64, 10)
	wantInputs(t, s, threadAt(start, 3), 0, 10)
	for _, step := range []struct {
		upTo uint64
		want []uint64
	}{{1, []uint64{2, 3, 300}}, {1, []uint64{2, 3, 300}}, {0, []uint64{2, 3, 300}}, {250, []uint64{300}}, {math.MaxUint64, nil}, {400, nil}} {
		mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteInputs(a, step.upTo) })
		wantInputs(t, s, a, 0, 10, step.want...)
	}
	wantInputs(t, s, b, 0, 10, 1)
	// The queue goes on, also with numbers that were forgotten before.
	putInputs(t, s, a, 301, 302)
	wantInputs(t, s, a, 0, 10, 301, 302)
	putInputs(t, s, a, 2)
	wantInputs(t, s, a, 0, 10, 2, 301, 302)
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteInputs(a, 301) })
	wantInputs(t, s, a, 0, 10, 302)
}

func TestInputInvalid(t *testing.T) {
	s := mustOpen(t, store.Options{})
	for name, in := range map[string]*core.QueuedInput{
		"ErrThreadRequired": input("", 1),
		"ErrNumberRequired": input(threadAt(start, 1), 0),
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.PutInput(in) }), core.CodeValidation)
		})
	}
}

// What a transaction puts it deletes, among what was there.
func TestInputsOfOneTransaction(t *testing.T) {
	s := mustOpen(t, store.Options{})
	id := threadAt(start, 1)
	putInputs(t, s, id, 1, 2)
	mustUpdate(t, s, func(tx core.Tx) error {
		return errors.Join(tx.PutInput(input(id, 3)), tx.PutInput(input(id, 4)), tx.DeleteInputs(id, 3), tx.PutInput(input(id, 5)))
	})
	wantInputs(t, s, id, 0, 10, 4, 5)
	mustUpdate(t, s, func(tx core.Tx) error {
		return errors.Join(tx.DeleteInputs(id, 4), tx.DeleteInputs(id, 5), tx.PutInput(input(id, 6)))
	})
	wantInputs(t, s, id, 0, 10, 6)
}

// A long queue is emptied from its front, some at a time, and equals the naive one.
func TestInputsEqualModel(t *testing.T) {
	s := mustOpen(t, store.Options{})
	rnd := rand.New(rand.NewPCG(7, 8))
	id := threadAt(start, 1)
	var queue []uint64
	next, sent := uint64(1), uint64(0)
	for range 400 {
		if rnd.IntN(2) == 0 {
			putInputs(t, s, id, next)
			queue = append(queue, next)
			next++
		} else {
			sent = min(sent+uint64(rnd.IntN(4)), next)
			mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteInputs(id, sent) })
			queue = slices.DeleteFunc(queue, func(n uint64) bool { return n <= sent })
			next = max(next, sent+1)
		}
		wantInputs(t, s, id, 0, 1000, queue...)
	}
}
