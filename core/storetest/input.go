package storetest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
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

func testInput(t *testing.T, open Opener) {
	s := open(t, store.Options{})
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
	}{{1, []uint64{2, 3, 300}}, {1, []uint64{2, 3, 300}}, {0, []uint64{2, 3, 300}}, {250, []uint64{300}}, {400, nil}, {300, nil}} {
		mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteInputs(a, step.upTo) })
		wantInputs(t, s, a, 0, 10, step.want...)
	}
	wantInputs(t, s, b, 0, 10, 1)
	putInputs(t, s, a, 401, 402)
	wantInputs(t, s, a, 0, 10, 401, 402)
	wantCode(t, s.Update(ctx, func(tx core.Tx) error { return tx.PutInput(input(a, 400)) }), core.CodeValidation)
	for range 2 { // also when there is none
		mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteInputs(a, math.MaxUint64) })
		wantInputs(t, s, a, 0, 10)
	}
}

// A long queue is forgotten at once, and all of it is gone with its thread's execution.
func testForgetManyInputs(t *testing.T, open Opener) {
	clock := coretest.NewClock()
	s := open(t, store.Options{Clock: clock})
	empty := countKeys(t, s)
	execID, id := idAt(start, 1), threadAt(start, 1)
	run(t, s, execID, "vote", core.ExecutionCompleted)
	putThread(t, s, thread(id, execID, core.ThreadCompleted))
	const n = 5000
	for from := uint64(0); from < n; from += 1000 {
		mustUpdate(t, s, func(tx core.Tx) (err error) {
			for i := range uint64(1000) {
				err = errors.Join(err, tx.PutInput(input(id, from+i+1)))
			}
			return err
		})
	}
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteInputs(id, n-1) })
	wantInputs(t, s, id, 0, 10, n)
	mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteInputs(id, n) })
	wantInputs(t, s, id, 0, 10)
	clock.Advance(2 * time.Hour)
	if got, err := s.Retain(ctx, store.Policy{Executions: time.Hour, Events: time.Hour}); err != nil || got.Executions != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if left := countKeys(t, s); left != empty+1 { // the sequence stays
		t.Fatalf("%d keys are left, want %d", left, empty+1)
	}
}

func testInputInvalid(t *testing.T, open Opener) {
	s := open(t, store.Options{})
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
func testInputsOfOneTransaction(t *testing.T, open Opener) {
	s := open(t, store.Options{})
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
func testInputsEqualModel(t *testing.T, open Opener) {
	s := open(t, store.Options{})
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
			sent = min(sent+uint64(rnd.IntN(4)), next-1)
			mustUpdate(t, s, func(tx core.Tx) error { return tx.DeleteInputs(id, sent) })
			queue = slices.DeleteFunc(queue, func(n uint64) bool { return n <= sent })
		}
		wantInputs(t, s, id, 0, 1000, queue...)
	}
}
