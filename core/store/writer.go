package store

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/core/store/kv"
)

// maxBatchClosures bounds how many closures share a commit, and with it how long the first one waits.
const maxBatchClosures = 1024

// writer is the one goroutine that changes the store. Its fields belong to that goroutine.
type writer struct {
	s      *Store
	seq    uint64    // last sequence number committed
	maxID  string    // largest execution id ever put: a larger one is new without a look
	limits kv.Limits // of one batch

	// The open batch.
	txn        kv.Batch
	tx         tx
	buf        buffer
	accepted   []*request
	size       int64   // in Badger's terms
	large      int64   // bytes that go to the value log
	count      int64   // likewise
	writes     []write // of closures, until the commit
	batchSeq   uint64
	audit      core.AuditHead // committed
	batchAudit core.AuditHead
	events     []core.Event
	after      []func() // of AfterCommit, in order
	changes    []execChange
	latest     map[string]execState // by id, of changes
	refs       []refDelta
	shrinks    bool                    // some of refs are negative
	orphans    bool                    // an endpoint was deleted
	counts     map[string]statusCounts // new values of the counters that the batch touches
	defs       map[string]definition   // likewise of definitions
	spans      map[spanPlace]**span    // likewise of the throughput
	newestHour int64                   // of the throughput, as the batch leaves it
	// numbers are those of all webhooks, or nil from a change on until the next batch: they are asked for with every
	// delivery, and change hardly ever.
	numbers map[string]uint32
	tallies map[uint32]*deliveryCounts // changes of the counts of deliveries, by number of the webhook
	failed  error                      // set after a failed commit until the reopen
	doubt   doubtful                   // what became of it is known then
}

func (w *writer) run() {
	defer w.s.wg.Done()
	var items, spare []*request
	for open := true; open; {
		<-w.s.queue.wake
		if w.failed != nil && w.s.space.reopenDue() && w.reopen() {
			w.makeKnown()
		}
		// Closures that came while a batch was applied still join it: the commit is what costs.
		for {
			items, open = w.s.queue.take(spare[:0])
			spare = items // the queue fills the other one meanwhile
			if len(items) == 0 {
				break
			}
			for _, r := range items {
				w.handle(r)
			}
			clear(items)
			if len(w.accepted) >= maxBatchClosures {
				w.commit()
			}
		}
		w.commit()
	}
	if w.txn != nil {
		w.txn.Discard()
	}
}

// handle runs one closure and adds its writes to the batch.
func (w *writer) handle(r *request) {
	if !r.state.CompareAndSwap(requestQueued, requestTaken) {
		return
	}
	if err := w.refuse(r.maintenance); err != nil {
		r.answer(err)
		return
	}
	if r.alone != nil {
		w.commit()
		if w.failed != nil {
			r.answer(w.s.space.refusal())
			return
		}
		r.answer(r.alone(badgerOf(w.s.db))) // only a store with Badger asks
		return
	}
	if w.txn == nil {
		w.begin()
	}
	t := &w.tx
	t.reset(w.batchSeq)
	t.by = r.by
	if err := t.run(r.fn); err != nil {
		r.answer(err)
		return
	}
	if !w.fits(t) {
		w.commit() // what came before; this closure's writes are never split
		if err := w.refuse(r.maintenance); err != nil {
			r.answer(err)
			return
		}
		w.begin()
		// The commit took back the buffer in which the closure's keys and values were built: run it again.
		t.reset(w.batchSeq)
		t.by = r.by
		if err := t.run(r.fn); err != nil {
			r.answer(err)
			return
		}
		if !w.fits(t) {
			w.commitLarge(r)
			return
		}
	}
	if err := w.s.space.take(t.bytes(), r.maintenance); err != nil {
		r.answer(err)
		return
	}
	w.accept(r)
}

// fits reports whether the closure's writes still fit into the batch.
func (w *writer) fits(t *tx) bool {
	return w.size+t.size <= w.limits.Size && w.count+t.count <= w.limits.Count && w.large+t.large <= maxValue
}

// refuse returns why nothing can be written now, or nil.
func (w *writer) refuse(maintenance bool) error {
	if w.failed != nil {
		return w.s.space.refusal()
	}
	if len(w.accepted) > 0 {
		return nil // the batch was let in as a whole
	}
	if !w.s.space.isAmple() {
		w.s.measure()
		w.s.space.settle()
	}
	return w.s.space.admit(maintenance)
}

func (w *writer) begin() {
	w.txn = w.s.db.Begin()
	w.batchSeq, w.batchAudit = w.seq, w.audit
	w.size, w.large, w.count = batchOverhead, 0, 1+maxSpans+1
	if w.numbers == nil {
		// On failure they stay unknown, and each is looked up.
		if numbers, err := w.s.webhookNumbers(w.txn); err == nil {
			w.numbers = numbers
		}
	}
}

// batchOverhead is kept of each transaction for the sequence number and the throughput. Counters and references are part
// of the size of the closure that touches them.
const batchOverhead = 4<<10 + (maxSpans+1)*maxSpanSize

// accept adds the closure's writes to the batch.
func (w *writer) accept(r *request) {
	t := &w.tx
	w.writes = append(w.writes, t.writes...)
	for _, wr := range t.writes {
		if err := w.put(wr); err != nil {
			w.fail(err, r)
			return
		}
	}
	w.size += t.size
	w.large += t.large
	w.count += t.count
	w.batchSeq, w.batchAudit = t.seq, t.audit
	w.events = append(w.events, t.events...)
	w.after = append(w.after, t.after...)
	w.refs = append(w.refs, t.refs...)
	w.shrinks = w.shrinks || t.shrinks
	w.orphans = w.orphans || t.orphans
	for _, c := range t.changes {
		w.latest[c.id] = c.new
		w.maxID = max(w.maxID, c.id)
	}
	w.changes = append(w.changes, t.changes...)
	w.addTallies(t.tallies)
	w.s.floors.lower(t.dues)
	w.accepted = append(w.accepted, r)
}

// commit writes the batch with one sync, answers its closures and tells OnCommit.
func (w *writer) commit() {
	if w.txn == nil {
		return
	}
	if len(w.writes) == 0 { // nothing was written
		w.callAfter()
		w.answer(nil)
		w.end()
		return
	}
	if err := w.prepare(w.put); err != nil {
		w.fail(err, nil)
		return
	}
	if err := w.s.values.reserve(w.large); err != nil {
		w.turnAway(err)
		return
	}
	started := time.Now()
	if err := w.txn.Commit(); err != nil {
		w.fail(err, nil)
		return
	}
	w.s.values.wrote(w.large)
	w.s.stats.committed(len(w.accepted), len(w.writes), len(w.events), time.Since(started))
	w.done()
}

// done makes a committed batch known: to lists, to what services keep in memory, to those who wait, and to OnCommit.
// Its events can be read from the moment that LastSeq covers them.
func (w *writer) done() {
	w.seq = w.batchSeq
	if w.audit != w.batchAudit {
		head := w.batchAudit
		w.audit = head
		w.s.audit.Store(&head)
	}
	w.publish()
	w.callAfter()
	w.s.seq.Store(w.seq)
	w.answer(nil)
	if w.orphans {
		w.s.wakeOrphans()
	}
	if w.s.opts.OnCommit != nil {
		w.s.opts.OnCommit(w.events)
	}
	w.end()
}

// wakeOrphans has the deliveries removed whose endpoint was deleted.
func (s *Store) wakeOrphans() { pause.Wake(s.orphans) }

// callAfter calls the functions of AfterCommit of the batch.
func (w *writer) callAfter() { w.call(w.after) }

// call calls functions. One that panics does not keep the others from being called.
func (w *writer) call(after []func()) {
	for _, fn := range after {
		func() {
			defer func() {
				if p := recover(); p != nil {
					w.s.log.Error("a function after a commit panicked", "panic", p, "stack", stack())
				}
			}()
			fn()
		}()
	}
}

func (w *writer) answer(err error) {
	for _, r := range w.accepted {
		r.answer(err)
	}
	clear(w.accepted)
	w.accepted = w.accepted[:0]
}

// end forgets the batch.
func (w *writer) end() {
	w.txn.Discard()
	w.txn = nil
	w.s.floors.landed()
	clear(w.events)
	clear(w.after)
	clear(w.changes)
	clear(w.latest)
	clear(w.counts)
	clear(w.defs)
	clear(w.spans)
	clear(w.tallies)
	clear(w.writes)
	w.writes, w.shrinks, w.orphans = w.writes[:0], false, false
	w.events, w.after, w.changes, w.refs = w.events[:0], w.after[:0], w.changes[:0], w.refs[:0]
	w.buf.reset()
}

// put hands a write to the batch.
func (w *writer) put(wr write) error { return put(w.txn, wr) }

// turnAway answers everyone whose batch finds no room, before anything of it is written.
func (w *writer) turnAway(cause error) {
	w.s.log.Error("no room for large values", "error", cause)
	w.s.stats.failures.Add(1)
	w.numbers = nil // they may be those of the batch
	w.answer(core.Unavailable("store_read_only", "the store is read-only: no room for large values on disk").WithCause(cause))
	w.end()
}

// fail answers everyone after a failed commit. What reached the disk is unknown until the database is
// opened again, so nothing is written before that.
func (w *writer) fail(cause error, last *request) {
	w.s.log.Error("commit failed", "error", oneLine(cause.Error()))
	w.failed = cause
	w.s.stats.failures.Add(1)
	w.s.space.fail(cause)
	err := core.Unavailable("store_write_failed", "the store could not write; nothing was acknowledged").
		WithCause(fmt.Errorf("%w: %w", core.ErrInDoubt, cause))
	w.answer(err)
	if last != nil {
		last.answer(err)
	}
	w.doubt = doubtful{
		before: w.seq, seq: w.batchSeq, events: slices.Clone(w.events), after: slices.Clone(w.after), orphans: w.orphans,
	}
	if w.batchSeq == w.seq {
		w.doubt.writes = sumsOf(w.writes)
	}
	w.end()
}

// reopen closes and opens the database and reads the writer's memory from it, so that memory and disk
// agree again. On failure, which is false, the monitor asks again a second later.
func (w *writer) reopen() bool {
	s := w.s
	if !s.compacting.TryLock() {
		return false
	}
	defer s.compacting.Unlock()
	if !s.dumping.TryLock() { // whoever waits here for dbMu holds up all reads
		s.log.Warn("the store is not opened again before a dump of it has ended")
		return false
	}
	defer s.dumping.Unlock()
	s.dbMu.Lock()
	defer s.dbMu.Unlock()
	if s.db != nil {
		if err := s.db.Close(); err != nil {
			s.log.Warn("close before reopening", "error", err)
		}
		s.db = nil
	}
	db, err := s.open()
	if err != nil {
		s.log.Error("reopen failed", "error", err)
		return false
	}
	s.db = db
	if err := w.load(); err != nil {
		s.log.Error("reopen failed", "error", err)
		s.db = nil
		_ = errors.Join(err, db.Close())
		return false
	}
	if w.doubt.eventsStored(w.seq) {
		s.seq.Store(w.doubt.before) // its events are shown once what services keep in memory agrees with them: see makeKnown
	}
	w.failed = nil
	s.space.reopened()
	s.log.Info("store writable again")
	return true
}

func stack() string { return string(debug.Stack()) }
