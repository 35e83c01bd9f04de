package audit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	sinks "github.com/wardroom/wardroom/sdk/audit"
)

const (
	batchRecords = 1000
	batchBytes   = 1 << 20
	fewRecords   = 16               // of a batch behind a record that was refused for good: each refusal has the rest sent again
	writeLimit   = time.Minute      // of one call of a sink
	cursorEvery  = time.Second      // how often a cursor is written
	behindAfter  = 5 * time.Minute  // age of what a sink lacks from which on people are alerted
	flushAfter   = 2 * time.Second  // how long a sink that took records may keep them undurable
	idleLook     = 30 * time.Second // how often a sink that lacks nothing is looked after
)

// outlet delivers the trail to one sink, from its cursor on: each record at least once, in order.
type outlet struct {
	s    *Service
	name string
	sink sinks.Sink    // set by Deliver
	wake chan struct{} // holds one

	// Of the goroutine of run.
	most      int       // records of the next batch
	written   uint64    // cursor that is on disk
	writtenAt time.Time // when it was written

	mu       sync.Mutex // guards all below
	cursor   uint64     // the sink has everything up to it
	loaded   bool       // cursor was read
	oldest   time.Time  // of the first record that it lacked when that was looked at; zero: none
	err      error      // of the last attempt; nil: it worked
	since    time.Time  // when it began to fail
	rejected uint64
	refused  string // eventId of the last record that was rejected
	refusals refusals
	failures failures
	alerted  bool
}

func newOutlet(s *Service, name string) *outlet {
	return &outlet{s: s, name: name, wake: make(chan struct{}, 1), most: batchRecords}
}

// delivered returns the sequence up to which the sink has everything; 0 while that is not known.
func (k *outlet) delivered() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.cursor
}

// begins reports whether the delivery has begun and what the sink lacks is not known yet.
func (k *outlet) begins() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.sink != nil && !k.loaded
}

// run delivers until ctx ends.
func (k *outlet) run(ctx context.Context) {
	backoff := pause.Backoff{First: 500 * time.Millisecond, Most: time.Minute}
	for ctx.Err() == nil {
		err := k.session(ctx, &backoff)
		if ctx.Err() != nil {
			break
		}
		k.failed(err)
		k.most = batchRecords // a sink may need the records behind one to find out what is wrong with it
		wait := backoff.Next()
		if !pause.For(ctx, k.s.opts.Clock, wait/2+rand.N(wait/2+1)) { //nolint:gosec // it spreads calls, and guards nothing
			break
		}
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	k.keepCursor(last, true)
	k.logRefusals(true)
}

// failed notes why the sink did not take records.
func (k *outlet) failed(err error) {
	code := string(sinks.AsError(err).Code)
	k.s.opts.Metrics.SinkFailed(k.name, code)
	var oldest time.Time
	if next := k.delivered() + 1; next <= k.s.store.AuditHead().Sequence {
		oldest = k.s.timeOf(next)
	}
	k.mu.Lock()
	now := k.s.opts.Clock.Now()
	k.oldest = oldest
	if k.err == nil {
		k.since = now
		k.failures.times++
	}
	k.err = err
	times, shown := k.failures.show(now)
	k.mu.Unlock()
	if shown {
		k.s.log.Warn("an audit sink does not take records; it is tried again", "sink", k.name, "error", err, "times", times)
	}
}

// worked notes that the sink took records.
func (k *outlet) worked() {
	k.mu.Lock()
	shown := k.failures.shown
	k.err, k.since, k.failures.shown = nil, time.Time{}, false
	k.mu.Unlock()
	if shown {
		k.s.log.Info("an audit sink takes records again", "sink", k.name)
	}
}

// session opens the sink and delivers until something fails.
func (k *outlet) session(ctx context.Context, backoff *pause.Backoff) error {
	if err := k.load(ctx); err != nil {
		return err
	}
	// What the sink says of itself is not believed where it is more than we know: it may hold the records of another
	// trail, from before a dump was restored. It gets them again.
	if _, err := k.limited(ctx, func(ctx context.Context) (uint64, error) { return k.sink.Open(ctx, k.delivered()+1) }); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	for ctx.Err() == nil {
		batch, err := k.next(ctx)
		if err != nil {
			return err
		}
		if len(batch) == 0 {
			k.worked()
			backoff.Reset()
			k.keepCursor(ctx, true)
			k.await(ctx)
			continue
		}
		if err := k.write(ctx, batch); err != nil {
			return err
		}
		k.worked()
		backoff.Reset()
		k.keepCursor(ctx, false)
	}
	return ctx.Err()
}

// load reads the cursor, once.
func (k *outlet) load(ctx context.Context) error {
	k.mu.Lock()
	loaded := k.loaded
	k.mu.Unlock()
	if loaded {
		return nil
	}
	cursor, err := k.s.store.AuditCursor(ctx, k.name)
	if err != nil {
		return err
	}
	head := k.s.store.AuditHead()
	if cursor > head.Sequence { // of another trail
		cursor = 0
	}
	if head.First > 0 {
		cursor = max(cursor, head.First-1)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.cursor, k.written, k.loaded = cursor, cursor, true
	return nil
}

// limited bounds a call of the sink.
func (k *outlet) limited(ctx context.Context, call func(ctx context.Context) (uint64, error)) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	return call(ctx)
}

// next reads the records behind the cursor, as many as a batch has.
func (k *outlet) next(ctx context.Context) ([]sinks.Record, error) {
	cursor := k.delivered()
	var batch []sinks.Record
	size := 0
	err := k.s.store.AuditRows(ctx, cursor+1, false, func(row core.AuditRow) (bool, error) {
		if n := len(batch); n > 0 && row.Sequence != batch[n-1].Sequence+1 { // a batch has no gaps
			return false, nil
		}
		batch = append(batch, sinks.Record{Sequence: row.Sequence, Time: row.Time, JSON: append([]byte(nil), row.Record...)})
		size += len(row.Record)
		return len(batch) < k.most && size < batchBytes, nil
	})
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.oldest = time.Time{}
	if len(batch) > 0 {
		k.oldest = batch[0].Time
	}
	return batch, nil
}

// write delivers a batch until all of it is durable.
func (k *outlet) write(ctx context.Context, batch []sinks.Record) error {
	end := batch[len(batch)-1].Sequence
	began := k.s.opts.Clock.Now()
	last, err := k.limited(ctx, func(ctx context.Context) (uint64, error) { return k.sink.Write(ctx, batch) })
	k.advance(batch, last, began)
	if err != nil {
		return k.passOver(batch, err)
	}
	if k.delivered() >= end {
		k.most = min(2*k.most, batchRecords)
		return nil
	}
	// It took the batch, and may make it durable by itself: it has some time for that, with those that come.
	due, stop := pause.After(k.s.opts.Clock, flushAfter)
	defer stop()
	if len(batch) < k.most {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-due:
		}
	}
	if last, err = k.limited(ctx, k.sink.Flush); err == nil || last > 0 {
		k.advance(batch, last, began)
	}
	if err != nil {
		return k.passOver(batch, err)
	}
	if k.delivered() < end {
		return sinks.Errorf(sinks.CodeInternal, "the sink took records up to %d, and keeps those up to %d only", end, k.delivered())
	}
	k.most = min(2*k.most, batchRecords)
	return nil
}

// advance moves the cursor to what is durable.
func (k *outlet) advance(batch []sinks.Record, last uint64, began time.Time) {
	first, end := batch[0].Sequence, batch[len(batch)-1].Sequence
	if last = min(last, end); last < first {
		return
	}
	k.mu.Lock()
	done := int(last - max(k.cursor, first-1))
	k.cursor = max(k.cursor, last)
	k.mu.Unlock()
	if done > 0 {
		k.s.sinkTook()
		k.s.opts.Metrics.Delivered(k.name, done, k.s.opts.Clock.Now().Sub(began))
	}
}

// passOver goes on behind a record that the destination will never take; any other error ends the session.
func (k *outlet) passOver(batch []sinks.Record, err error) error {
	if sinks.AsError(err).Code != sinks.CodeRejected {
		return err
	}
	k.mu.Lock()
	at := max(k.cursor+1, batch[0].Sequence)
	if at > batch[len(batch)-1].Sequence {
		k.mu.Unlock()
		return err
	}
	id := eventOf(batch[at-batch[0].Sequence])
	k.cursor = at
	k.rejected++
	k.refused = id
	first := k.rejected == 1
	own := k.refusals.add(at, err, k.s.opts.Clock.Now())
	k.mu.Unlock()
	k.most = fewRecords
	k.s.sinkTook()
	if own {
		k.s.log.Error("an audit sink refuses a record for good; it goes on with the next", "sink", k.name, "sequence", at, "eventId", id, "error", err)
	}
	k.logRefusals(false)
	k.s.opts.Metrics.SinkFailed(k.name, string(sinks.CodeRejected))
	if first {
		k.s.opts.Alert("audit", "the audit sink "+k.name+" refuses a record for good",
			map[string]any{"sink": k.name, "sequence": at, "eventId": id, "reason": sinks.AsError(err).Message})
	}
	return nil
}

// keepCursor writes the cursor, now and then or at once.
func (k *outlet) keepCursor(ctx context.Context, now bool) {
	at := k.s.opts.Clock.Now()
	cursor := k.delivered()
	if cursor == k.written || !now && at.Sub(k.writtenAt) < cursorEvery && at.After(k.writtenAt) {
		return
	}
	if err := k.s.store.SetAuditCursor(ctx, k.name, cursor); err != nil {
		if ctx.Err() == nil {
			k.s.log.Debug("the cursor of an audit sink waits for the store", "sink", k.name, "error", err)
		}
		return
	}
	k.written, k.writtenAt = cursor, at
}

// await waits for records.
func (k *outlet) await(ctx context.Context) {
	due, stop := pause.After(k.s.opts.Clock, idleLook)
	defer stop()
	select {
	case <-ctx.Done():
	case <-k.wake:
	case <-due:
	}
}

// look tells people once when the sink is behind, and when it is not any more.
func (k *outlet) look(now time.Time) {
	k.logRefusals(false)
	status := k.status(k.s.store.AuditHead(), now)
	late := status.State != "ok" && time.Duration(status.BehindSeconds)*time.Second >= behindAfter
	k.mu.Lock()
	before := k.alerted
	switch {
	case late:
		k.alerted = true
	case status.State == "ok":
		k.alerted = false
	}
	after := k.alerted
	k.mu.Unlock()
	if after && !before {
		k.s.opts.Alert("audit", "the audit sink "+k.name+" is behind", map[string]any{
			"sink": k.name, "behind": status.Behind, "behindSeconds": status.BehindSeconds, "reason": status.Error,
		})
	}
	if before && !after {
		k.s.log.Info("an audit sink has caught up", "sink", k.name)
	}
}

// status returns how far the sink has come.
func (k *outlet) status(head core.AuditHead, now time.Time) core.AuditSink {
	k.mu.Lock()
	defer k.mu.Unlock()
	st := core.AuditSink{Name: k.name, State: "ok", Cursor: k.cursor, Rejected: k.rejected, LastRejected: k.refused, Since: k.since}
	if k.loaded && head.Sequence > k.cursor {
		st.Behind = head.Sequence - k.cursor
		if !k.oldest.IsZero() {
			st.BehindSeconds = int64(max(now.Sub(k.oldest), 0) / time.Second)
		}
	}
	switch {
	case k.err != nil:
		st.State = "failing"
		e := sinks.AsError(k.err)
		st.Error = string(e.Code) + ": " + e.Message
	case st.BehindSeconds >= int64(behindAfter/time.Second):
		st.State = "behind"
	}
	return st
}
