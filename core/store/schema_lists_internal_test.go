package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
	"github.com/wardroom/wardroom/core/store/kv/memory"
)

// A store of schema 2 has all lists, rows and the throughput after its migration, at whatever commit that was killed before,
// whether or not the commit had reached the disk, and whatever a program of the former version did meanwhile.
func TestListFacts(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	clock := coretest.NewClock()
	made := func(former bool) *memory.DB {
		t.Helper()
		db := memory.New()
		s, err := OpenOn(ctx, db, Options{Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		at := clock.Now()
		for i := range 400 {
			began, ended := at.Add(-time.Hour), at.Add(time.Duration(i)*time.Millisecond-time.Minute)
			e := &core.Execution{
				ID: fmt.Sprintf("exec_%03d", i), Status: core.ExecutionStatuses[i%5], Pattern: core.PatternRef{Name: "vote", Version: "1"}, Hash: "h",
				BatchID: fmt.Sprintf("batch_%d", i%3), CreatedBy: "ann", CreatedAt: began,
				Options: core.ExecuteOptions{Metadata: core.Metadata{"n": json.Number(fmt.Sprint(i % 7)), "deep": []any{}}},
			}
			if e.Status != core.ExecutionPending {
				e.StartedAt = &began
			}
			if e.Status.Terminal() {
				e.CompletedAt = &ended
			}
			if e.Status == core.ExecutionFailed {
				e.Error = &core.ExecutionError{Code: core.CodeTimeout}
			}
			b := &core.Batch{ID: fmt.Sprintf("batch_%03d", i), Status: core.BatchStatuses[i%4], Pattern: e.Pattern, CreatedBy: "ann"}
			if err := s.Update(ctx, func(tx core.Tx) error { return errors.Join(tx.PutExecution(e), tx.PutBatch(b)) }); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if !former {
			return db
		}
		writes := []write{
			{[]byte(prefixExecution + "exec_bad"), []byte("{")},
			{append(appendEscaped([]byte(prefixByBatch), "batch_9"), "exec_gone"...), []byte{}}, // of a migration that was killed
			{[]byte("n/bs/running\x00\x01"), appendUint64(nil, 7)},
		}
		for key, value := range keysOf(t, db) {
			begins := func(prefix string) bool { return bytes.HasPrefix([]byte(key), []byte(prefix)) }
			switch {
			case begins(prefixByBatch), begins(prefixByCreator), begins(prefixByError), begins(prefixByMetadata), begins(prefixSpan), begins("ix/b/"),
				begins("ix/bs"), begins("ix/bp"), begins("ix/bc"), begins("n/b") && key != "n/bs/running\x00\x01":
				writes = append(writes, write{key: []byte(key)})
			case begins(prefixByStatus):
				writes = append(writes, write{[]byte(key), []byte{}})
			case begins(prefixActive):
				state, _, err := cutActive([]byte(value))
				if err != nil {
					t.Fatal(err)
				}
				writes = append(writes, write{[]byte(key), appendActive(nil, state)})
			}
		}
		if err := errors.Join(commitWrites(db, writes), writeSchema(db, 2)); err != nil {
			t.Fatal(err)
		}
		return db
	}
	want := keysOf(t, made(false))
	delete(want, keyClock)
	old := made(true)
	for _, kept := range []bool{false, true} {
		for n := range 8 {
			db := old.Copy()
			db.Fail(n, kept)
			s, err := OpenOn(ctx, db, Options{Clock: clock})
			if n > 0 && err != nil {
				s, err = OpenOn(ctx, db, Options{Clock: clock})
			}
			if err != nil {
				t.Fatal(err)
			}
			list, info, err := s.FindExecutions(ctx, core.ExecutionFilter{BatchID: "batch_1", Metadata: map[string]string{"n": "3"}})
			if err := errors.Join(err, s.Close()); err != nil || info.Total != 19 || list[0].CreatedBy != "ann" {
				t.Fatalf("%+v, %v", info, err)
			}
			got := keysOf(t, db)
			delete(got, keyClock)
			delete(got, prefixExecution+"exec_bad")
			for key, value := range want {
				if got[key] != value {
					t.Fatalf("killed at commit %d: %q is %q, want %q", n, key, got[key], value)
				}
				delete(got, key)
			}
			for key := range got {
				t.Errorf("killed at commit %d: %q is left", n, key)
			}
		}
	}
}

// Where filters select together, a list looks at so many ids at most, and the next page goes on from there.
func TestWalkEnds(t *testing.T) {
	ids := func(odd int) (list []string) {
		for i := range 1000 {
			list = append(list, fmt.Sprintf("%05d", 2*i+odd))
		}
		return append(list, "99999")
	}
	sets := []idSet{newSliceSet(ids(0), ""), newSliceSet(ids(1), "")}
	var got []string
	err := walkAll(context.Background(), sets, 50, func(id string) (bool, error) {
		got = append(got, id)
		return true, nil
	})
	var end walkEnd
	if !errors.As(err, &end) || len(got) != 1 {
		t.Fatal(got, err)
	}
	seen := 0
	for below := end.at; ; seen++ {
		sets := []idSet{newSliceSet(ids(0), below), newSliceSet(ids(1), below)}
		err := walkAll(context.Background(), sets, 50, func(id string) (bool, error) { return false, errors.New(id) })
		if !errors.As(err, &end) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		if end.at >= below {
			t.Fatalf("from %s to %s", below, end.at)
		}
		below = end.at
	}
	if seen < 20 {
		t.Errorf("%d pages", seen)
	}
}

func FuzzDecodeSpan(f *testing.F) {
	s := &span{number: 5, started: 1, completed: 2}
	s.took(7, 3)
	s.took(90, 1)
	f.Add(appendSpan(nil, s))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := decodeSpan(b)
		if err != nil {
			return
		}
		if _, err := decodeSpan(appendSpan(nil, s)); err != nil {
			t.Fatal(err)
		}
		s.percentile(50)
	})
}

// Durations are told right to 6 %.
func TestSteps(t *testing.T) {
	last := -1
	for ms := int64(0); ms < 1<<45; ms = ms*101/100 + 1 {
		step := stepOf(ms)
		if step < last || step >= maxStep {
			t.Fatalf("step of %d is %d after %d", ms, step, last)
		}
		last = step
		if got := durationOf(step); ms < 1<<42 && float64(max(got, ms)-min(got, ms)) > 0.0626*float64(ms) {
			t.Fatalf("%d ms are told as %d", ms, got)
		}
	}
}
