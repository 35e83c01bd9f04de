package store

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// onDisk sums the blocks that files of a kind take.
func onDisk(t *testing.T, dir, pattern string) (n int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			n += blocksOf(info)
		}
	}
	return n
}

// The space of large values that retention removed is given back without a further write, but for the file that is
// written.
func TestReclaimLarge(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	clock := coretest.NewClock()
	dir := t.TempDir()
	s, err := Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	value := bytes.Repeat([]byte("x"), 1<<20)
	done := clock.Now()
	const batches, items = 5, 50
	for i := range batches {
		id := core.IDBound(core.PrefixBatch, done.Add(time.Duration(i)*time.Minute))
		for n := range items {
			if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutBatchInput(id, n, value) }); err != nil {
				t.Fatal(err)
			}
		}
		b := &core.Batch{ID: id, Status: core.BatchCompleted, CompletedAt: &done}
		if err := s.Update(ctx, func(tx core.Tx) error { return tx.PutBatch(b) }); err != nil {
			t.Fatal(err)
		}
	}
	if taken := onDisk(t, dir, "*.vlog"); taken < batches*items<<20 {
		t.Fatalf("%d MiB are taken", taken>>20)
	}
	clock.Advance(1000 * time.Hour)
	s.maintain(ctx, Policy{Batches: time.Hour})
	if left := onDisk(t, dir, "*.vlog"); left > 80<<20 {
		t.Errorf("%d MiB of the value log are left with nothing in it", left>>20)
	}
}

// A store that is read-only for want of space takes writes again once retention removed enough.
func TestReclaimWhileLow(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	clock := coretest.NewClock()
	dir := t.TempDir()
	const disk, budget = 56 << 20, 16 << 20
	s, err := Open(ctx, Options{Path: dir, MinFreeBytes: budget, Clock: clock, DiskFree: func(string) (uint64, error) {
		return uint64(max(disk-onDisk(t, dir, "*"), 0)), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	coretest.WaitFor(t, "the ballast", func() bool {
		clock.Advance(time.Second)
		return s.ballast.Load()
	})
	done := clock.Now()
	random := rand.NewChaCha8([32]byte{1})
	n := 0
	text := make([]byte, 8<<10) // that does not compress
	put := func(tx core.Tx) error {
		for range 16 {
			_, _ = random.Read(text)
			e := &core.Execution{
				ID: core.IDBound(core.PrefixExecution, done.Add(time.Duration(n)*time.Millisecond)), Status: core.ExecutionCompleted,
				Pattern: core.PatternRef{Name: "vote"}, CompletedAt: &done, Input: fmt.Appendf(nil, `"%x"`, text),
			}
			if err := tx.PutExecution(e); err != nil {
				return err
			}
			n++
		}
		return nil
	}
	for {
		if n > 20_000 {
			t.Fatalf("%d executions did not fill the disk", n)
		}
		if err := s.Update(ctx, put); err != nil && core.AsError(err).Details["reason"] == "store_read_only" {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	clock.Advance(1000 * time.Hour)
	// A compaction that runs beside it may hold what the merge would drop; then the next runs see to it.
	coretest.WaitFor(t, fmt.Sprintf("room after retention of %d executions", n), func() bool {
		s.maintain(ctx, Policy{Executions: time.Hour})
		s.measure()
		readOnly, _ := s.State()
		return !readOnly && s.Update(ctx, put) == nil
	})
}

// Looking for what can be collected of the value log takes no space: a file gets blocks for what is written to it.
func TestCollectionsTakeNoSpace(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s, err := Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	large := make([]byte, valueThreshold+1)
	for i := range 20 {
		if err := s.collectValues(ctx); err != nil {
			t.Fatal(err)
		}
		err := s.update(ctx, false, func(t *tx) error { return t.set(appendItem(nil, prefixBatchInput, "batch", uint32(i)), large) })
		if err != nil {
			t.Fatal(err)
		}
	}
	if taken := s.valueBytes(); taken > valueLogFile {
		t.Errorf("20 values of %d KiB and as many collections take %d MiB", len(large)>>10, taken>>20)
	}
}

// Merging all tables costs as much as they hold: a store of large values is not merged by each run of retention that
// removes something, and what it holds of what went stays bounded all the same.
func TestReclaimIsPaced(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	clock := coretest.NewClock()
	dir := t.TempDir()
	s, err := Open(ctx, Options{Path: dir, MinFreeBytes: 1 << 20, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	value := bytes.Repeat([]byte("x"), 1<<20)
	const items, live = 8, 10 // of a batch, and batches that are kept
	merges, most := 0, int64(0)
	for i := range 80 {
		done := clock.Now()
		id := core.IDBound(core.PrefixBatch, done)
		err := s.Update(ctx, func(tx core.Tx) error {
			for n := range items {
				if err := tx.PutBatchInput(id, n, value); err != nil {
					return err
				}
			}
			return tx.PutBatch(&core.Batch{ID: id, Status: core.BatchCompleted, CompletedAt: &done})
		})
		if err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Hour)
		before := s.merged
		s.maintain(ctx, Policy{Batches: live * time.Hour})
		if s.merged.gone < before.gone || s.merged.values != before.values {
			merges++
		}
		if i > 2*live {
			most = max(most, onDisk(t, dir, "*.vlog"))
		}
	}
	if merges == 0 || merges > 25 {
		t.Errorf("%d merges in 80 runs of retention", merges)
	}
	if limit := int64(live*items)<<20 + 4*valueLogFile + 2*valueLogFile; most > limit {
		t.Errorf("the value log takes up to %d MiB, of which %d are in use", most>>20, live*items)
	}
}
