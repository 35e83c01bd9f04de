package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dgraph-io/badger/v4"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/store/kv"
)

const (
	// maintenanceEvery is the time between two runs of maintenance.
	maintenanceEvery = time.Hour
	// maintenanceFirst is the time before the first one: by then a clock that is set at the start of a machine is.
	maintenanceFirst = 10 * time.Minute
	// maintenanceLow is the time between two runs while the store is read-only for want of space.
	maintenanceLow = 5 * time.Minute
	// maxOwedRuns is how often the space of what was retired is looked for before it is taken to be in use.
	maxOwedRuns = 5
	// maintenanceTick is how often the clock is looked at.
	maintenanceTick = time.Minute
)

// RunMaintenance retires what the policy no longer keeps and gives its space back, ten minutes after the start, then
// hourly, and every five minutes while there is no space for writes, until ctx ends, whose error it returns. Failures
// are logged and kept (RetentionFailures); the next run tries again. The policy is asked for anew before each run, so that
// a reload takes effect. What a deleted endpoint leaves behind goes at once.
func (s *Store) RunMaintenance(ctx context.Context, policy func() Policy) error {
	s.keepClock(ctx) // a process that lives for seconds leaves what it knew, and not what it stamped, to the next one
	s.purgeOrphans(ctx)
	next := s.opts.Clock.Now().Add(maintenanceFirst)
	for {
		tick, stop := pause.After(s.opts.Clock, maintenanceTick)
		err := s.awaitTick(ctx, tick)
		if stop(); err != nil {
			return err
		}
		now := s.opts.Clock.Now()
		s.clock.observe(now)
		s.keepClock(ctx)
		if next.Sub(now) > maintenanceEvery { // the clock went back
			next = now.Add(maintenanceEvery)
		}
		low := s.space.isLow()
		if low && next.Sub(now) > maintenanceLow {
			next = now.Add(maintenanceLow)
		}
		if !now.Before(next) {
			s.maintain(ctx, policy())
			next = s.opts.Clock.Now().Add(maintenanceEvery)
		}
		s.stats.maintained.Add(1)
	}
}

// awaitTick returns nil at the tick, and sees to deleted endpoints until then.
func (s *Store) awaitTick(ctx context.Context, tick <-chan struct{}) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closing.Done():
			return errClosed
		case <-s.orphans:
			s.purgeOrphans(ctx)
		case <-tick:
			return nil
		}
	}
}

func (s *Store) purgeOrphans(ctx context.Context) {
	n, err := s.PurgeDeliveries(ctx)
	if err != nil && ctx.Err() == nil {
		s.log.Error("deliveries of deleted webhooks are left until the next maintenance", "removed", n, "error", err)
	}
}

func (s *Store) maintain(ctx context.Context, policy Policy) {
	if steps := s.clock.all(); len(steps) > 0 {
		newest := steps[len(steps)-1]
		s.log.Warn("the clock went forward; retention leaves that time out", "from", newest.From, "by", newest.By, "steps", len(steps))
	}
	done, err := s.retain(ctx, policy, s.clock.all())
	if done != (Retired{}) {
		s.log.Info("retention", "executions", done.Executions, "events", done.Events, "batches", done.Batches,
			"agents", done.Agents, "idempotencyKeys", done.Idempotency, "definitions", done.Definitions,
			"deliveries", done.Deliveries, "journals", done.Journals, "batchInputs", done.Inputs)
	}
	if err != nil && ctx.Err() == nil {
		s.log.Error("retention failed", "error", err)
	}
	if err := s.reviewBroken(ctx); err != nil && ctx.Err() == nil {
		s.log.Error("the notes of broken records were not looked through", "error", err)
	}
	if err := s.reclaim(ctx, done); err != nil && ctx.Err() == nil {
		s.log.Error("space was not given back", "error", err)
	}
}

// reclaim gives back the space of what was removed, as far as that pays.
//
// A key that is deleted takes its space until a compaction meets it, and a value in the value log until the compaction
// after which that file can be collected. Badger compacts only what is written, so without further writes nothing would
// be given back. Merging all tables costs as much as they hold, so it is done when there is no space left, when large
// values that were written since the last merge are as much as that, when half of what was stored went since then and most
// of it are large values, and when most of what was stored went at once; otherwise what is written sees to it.
func (s *Store) reclaim(ctx context.Context, done Retired) error {
	s.retainMu.Lock()
	defer s.retainMu.Unlock()
	gone, err := s.goneShare(ctx, done)
	if err != nil {
		return err
	}
	s.merged.gone += gone
	if done == (Retired{}) {
		done = s.owed
	}
	if done == (Retired{}) || !s.reclaimPays(done) {
		return s.collectValues(ctx)
	}
	err = s.merge(ctx, done)
	s.measure()
	// A merge that failed, or that left the store full as a compaction beside it held what it could have dropped, is tried
	// again by the next runs, which may find nothing more to retire.
	if s.owedRuns++; err == nil && !s.space.isLow() || s.owedRuns >= maxOwedRuns {
		done, s.owedRuns = Retired{}, 0
	}
	s.owed = done
	return err
}

// mergeMark is how the store was after the last merge, and what happened since. The zero value is that of a store that was
// just opened: nothing is known of what is dead in it.
type mergeMark struct {
	values int64   // bytes of the value log
	gone   float64 // share of what was stored, as retention found it, that it removed; the sum over its runs
}

// goneShare returns what share of executions or batches, which hold the most, a run of retention removed.
func (s *Store) goneShare(ctx context.Context, done Retired) (float64, error) {
	var left uint64
	err := s.view(ctx, func(txn kv.Snapshot) (err error) {
		left, err = s.rowCount(txn, appendList(nil, prefixRowCount, kindBatch, batches.facets(new(core.Batch)), 0))
		return err
	})
	s.state.mu.RLock()
	total := s.state.total
	s.state.mu.RUnlock()
	share := func(gone int, left int64) float64 { return float64(gone) / float64(max(int64(gone)+left, 1)) }
	return max(share(done.Executions, total), share(done.Batches, int64(left))), err
}

// merge merges all tables after done was retired. The caller holds retainMu.
func (s *Store) merge(ctx context.Context, done Retired) (err error) {
	defer func() {
		if err == nil {
			s.merged = mergeMark{values: s.valueBytes()}
		}
	}()
	deep := false
	if err := s.withDB(func(db *badger.DB) error {
		deep = slices.ContainsFunc(db.Levels(), func(l badger.LevelInfo) bool { return l.Level > 0 && l.NumTables > 0 })
		return nil
	}); err != nil {
		return s.collectValues(ctx)
	}
	if s.space.isLow() {
		s.dropBallast()
	}
	if err := s.roomToMerge(done); err != nil {
		return err
	}
	// The writes of it come after the deletes as well: a compaction drops only what no read could still see.
	if err := s.rollMemTable(ctx); err != nil {
		return err
	}
	if !deep {
		if err := s.compactFirst(ctx); err != nil {
			return err
		}
		return s.collectValues(ctx)
	}
	if err := s.withDB(func(db *badger.DB) error { return db.Flatten(1) }); err != nil && !errors.Is(err, badger.ErrNoRewrite) {
		return err
	}
	return s.collectValues(ctx)
}

// compactFirst writes out the memtable and merges level 0 into the first one below, of a young store in which there is
// none yet: Badger's Flatten sees nothing to do there, and dropping a prefix under which there is something does it. It
// takes the place of a batch of the writer, as there must be no writes meanwhile.
func (s *Store) compactFirst(ctx context.Context) error {
	if err := s.update(ctx, true, func(t *tx) error { return t.set([]byte(keyFiller), nil) }); err != nil {
		return err
	}
	return s.exclusive(ctx, func(db *badger.DB) error { return db.DropPrefix([]byte(keyFiller)) })
}

func (s *Store) reclaimPays(done Retired) bool {
	if s.space.isLow() {
		return true
	}
	values, tables := s.valueBytes(), s.Stats().LSMBytes
	if values >= 2*valueLogFile {
		if values-s.merged.values >= max(2*valueLogFile, tables) || tables <= values && s.merged.gone >= 0.5 {
			return true
		}
	}
	s.state.mu.RLock()
	left := s.state.total
	s.state.mu.RUnlock()
	return done.Executions > 1000 && int64(done.Executions) > left
}

// valueBytes sums the files of the value log, as far as they are written: Badger's own figure is that of the last
// minute, and counts holes.
func (s *Store) valueBytes() (n int64) {
	files, err := filepath.Glob(filepath.Join(s.opts.Path, "*.vlog"))
	if err != nil {
		return 0
	}
	for _, file := range files {
		if info, err := os.Stat(file); err == nil {
			n += blocksOf(info)
		}
	}
	return n
}

// roomToMerge refuses a merge of level 0 that has no room: what it writes is there beside what it read until it is done.
func (s *Store) roomToMerge(done Retired) error {
	var size int64
	err := s.withDB(func(db *badger.DB) error {
		for _, l := range db.Levels() {
			if l.Level == 0 || l.IsBaseLevel {
				size += l.Size
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.state.mu.RLock()
	left := s.state.total
	s.state.mu.RUnlock()
	if removed := int64(done.Executions); removed > 0 { // most of what is there are executions, and those that went are not written
		size = int64(float64(size) * float64(left) / float64(left+removed))
	}
	return s.space.take(size, true)
}

// fillerSize is how much is written at a time to have the memtable written out.
const fillerSize = 400 << 10

// rollMemTable has the memtable that holds the latest deletes written out, by filling it up: Badger has no call for it.
func (s *Store) rollMemTable(ctx context.Context) error {
	logs, err := filepath.Glob(filepath.Join(s.opts.Path, "*.mem"))
	if err != nil || len(logs) == 0 {
		return err
	}
	current := slices.Max(logs)
	filler := make([]byte, fillerSize)
	for range memTable/fillerSize + 1 {
		if err := s.update(ctx, true, func(t *tx) error { return t.set([]byte(keyFiller), filler) }); err != nil {
			return err
		}
	}
	if err := s.deleteKeys(ctx, [][]byte{[]byte(keyFiller)}); err != nil {
		return err
	}
	wait := time.NewTicker(10 * time.Millisecond)
	defer wait.Stop()
	for range 1000 {
		if left, err := filepath.Glob(current); err != nil || len(left) == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.closing.Done():
			return errClosed
		case <-wait.C:
		}
	}
	return errors.New("the memtable was not written out")
}

// collectValues frees value log files of which at least half is garbage.
func (s *Store) collectValues(ctx context.Context) error {
	for ctx.Err() == nil && s.closing.Err() == nil {
		err := s.withDB(func(db *badger.DB) error {
			// What is still needed of a file moves to another one.
			if err := s.space.take(valueLogFile/2, true); err != nil {
				return err
			}
			s.moved.Add(valueLogFile)
			err := db.RunValueLogGC(0.5)
			if err != nil { // it moved nothing
				s.moved.Add(-valueLogFile)
			}
			return err
		})
		if errors.Is(err, badger.ErrNoRewrite) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// withDB calls fn with Badger, which is neither closed nor opened again meanwhile. Reads and writes go on. A store that
// has no Badger has nothing to rewrite.
func (s *Store) withDB(fn func(db *badger.DB) error) error {
	s.compacting.Lock()
	defer s.compacting.Unlock()
	s.dbMu.RLock()
	db := badgerOf(s.db)
	s.dbMu.RUnlock()
	if db == nil || db.Opts().ReadOnly {
		return badger.ErrNoRewrite
	}
	return fn(db)
}
