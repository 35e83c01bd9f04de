package engine

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/wardroom/wardroom/core"
)

// batchRun is one active batch. Its goroutine starts items within the batch's concurrency and records
// their ends; item executions live on their own and are resumed on their own.
type batchRun struct {
	eng   *Engine
	batch *core.Batch              // counts and status, as stored last
	items map[int]core.BatchResult // by index, as stored last, without what they came to
	next  int                      // first index that may not have begun
	held  int                      // items that count for who started the batch

	ended      chan core.BatchResult // from the watchers of running items
	cancelled  chan struct{}
	cancelOnce sync.Once
	// cancelledBy is the principal who cancelled it, set before cancelled is closed.
	cancelledBy string
	done        chan struct{} // closed once the terminal state is durable
	watchers    sync.WaitGroup
}

func (e *Engine) newBatchRun(b *core.Batch) *batchRun {
	items, held := make(map[int]core.BatchResult, len(b.Results)), b.Total
	for _, r := range b.Results {
		items[r.Index] = brief(r)
		if r.Status.Terminal() {
			held--
		}
	}
	b.Results = nil
	return &batchRun{
		eng: e, batch: b, items: items, held: held,
		ended:     make(chan core.BatchResult, b.Concurrency),
		cancelled: make(chan struct{}), done: make(chan struct{}),
	}
}

// brief returns the part of an item that the run of a batch keeps: results may be large, and are stored.
func brief(item core.BatchResult) core.BatchResult {
	return core.BatchResult{Index: item.Index, ExecutionID: item.ExecutionID, Status: item.Status}
}

// launchBatch starts a batch whose items are held.
func (e *Engine) launchBatch(b *core.Batch) { e.launchRun(e.newBatchRun(b)) }

func (e *Engine) launchRun(run *batchRun) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.state == stateClosed {
		return // it is stored; the next start takes it up
	}
	e.batches[run.batch.ID] = run
	e.wg.Go(run.loop)
}

func (e *Engine) resumeBatch(b *core.Batch) {
	copied := *b
	run := e.newBatchRun(&copied)
	e.mu.Lock()
	e.own(b.CreatedBy, run.held)
	e.mu.Unlock()
	e.launchRun(run)
}

// stopReason is why a batch that stops on errors cancels its items.
const stopReason = "another item of the batch failed"

// maxRefused is how many items that are refused at once are stored together.
const maxRefused = 100

// loop drives the batch to its end, or leaves it where it is stored when the engine stops.
func (b *batchRun) loop() {
	defer b.watchers.Wait()
	running := map[int]string{} // index to execution id
	for index, item := range b.items {
		if !item.Status.Terminal() {
			running[index] = item.ExecutionID
			b.watch(index, item.ExecutionID)
		}
	}
	stop := b.stopped()
	if stop {
		b.cancelItems(running, stopReason, core.System.ID)
	}
	cancelled := b.cancelled
	for {
		select {
		case <-cancelled: // items that are refused at once leave nothing to wait for
			cancelled = nil
			b.cancelItems(running, "the batch was cancelled", b.cancelledBy)
		case <-b.eng.quit:
			return
		default:
		}
		var settled []core.BatchResult
		for !stop && cancelled != nil && len(running) < b.batch.Concurrency && len(settled) < maxRefused {
			index, ok := b.pick()
			if !ok {
				break
			}
			id, failed, ok := b.begin(index)
			if !ok {
				return
			}
			if id == "" && failed == nil { // it was cancelled first
				b.next = index
				break
			}
			if failed != nil {
				settled = append(settled, *failed)
				if stop = b.batch.StopOnError; stop {
					b.cancelItems(running, stopReason, core.System.ID)
				}
				continue
			}
			running[index] = id
			b.watch(index, id)
			b.tell()
		}
		if len(settled) == 0 && len(running) > 0 {
			select {
			case item := <-b.ended:
				settled = b.gather(item)
			case <-cancelled:
				continue
			case <-b.eng.quit:
				return
			}
		}
		for _, item := range settled {
			delete(running, item.Index)
			if item.Status != core.ExecutionCompleted && b.batch.StopOnError && !stop && cancelled != nil {
				stop = true
				b.cancelItems(running, stopReason, core.System.ID)
			}
		}
		over := len(running) == 0 && (stop || cancelled == nil || b.begun())
		if len(settled) == 0 && !over {
			continue
		}
		if !b.record(settled, over, stop, cancelled == nil) {
			return
		}
		if over {
			b.finish()
			return
		}
	}
}

// stopped reports whether a batch that stops on errors had one before a restart.
func (b *batchRun) stopped() bool {
	return b.batch.StopOnError && b.batch.Failed+b.batch.Cancelled > 0
}

// pick returns the next index that has not begun.
func (b *batchRun) pick() (int, bool) {
	for ; b.next < b.batch.Total; b.next++ {
		if _, begun := b.items[b.next]; !begun {
			b.next++
			return b.next - 1, true
		}
	}
	return 0, false
}

// begun reports whether no item is left to begin.
func (b *batchRun) begun() bool {
	for ; b.next < b.batch.Total; b.next++ {
		if _, begun := b.items[b.next]; !begun {
			return false
		}
	}
	return true
}

// begin starts an item's execution; both are stored in one transaction. A refused item comes back as its
// failed result; one that could not be started until the batch was cancelled, as nothing. ok is false when the engine
// stops first.
func (b *batchRun) begin(index int) (id string, failed *core.BatchResult, ok bool) {
	e := b.eng
	for {
		r, err := b.tryBegin(index)
		if err == nil {
			b.items[index] = core.BatchResult{Index: index, ExecutionID: r.exec.ID, Status: core.ExecutionRunning}
			return r.exec.ID, nil, true
		}
		cause := core.AsError(err)
		if cause.Unavailable || cause.Code == core.CodeRateLimited {
			if !e.accepting() || !e.pauseUntil(storeRetry, b.cancelled) {
				return "", nil, false
			}
			select {
			case <-b.cancelled:
				return "", nil, true
			default:
				continue
			}
		}
		if cause.Code == core.CodeInternal {
			e.log.Error("batch item cannot start", "batch", b.batch.ID, "index", index, "error", err)
		}
		return "", &core.BatchResult{
			Index: index, Status: core.ExecutionFailed,
			Error: &core.ExecutionError{Code: cause.Code, Message: cause.Message, Details: cause.Details},
		}, true
	}
}

func (b *batchRun) tryBegin(index int) (*started, error) {
	ctx := core.WithTrace(core.OnBehalf(b.eng.detached(), b.batch.CreatedBy), core.ParseTraceparent(b.batch.Trace))
	input, err := b.eng.store.FindBatchInput(ctx, b.batch.ID, index)
	if err != nil {
		return nil, err
	}
	req := core.ExecuteRequest{
		Pattern: b.batch.Pattern.Name, Version: b.batch.Pattern.Version, Input: input, Options: b.batch.Options,
	}
	return b.eng.begin(ctx, req, origin{
		batchID: b.batch.ID, batchIndex: index, unbounded: true, patient: true,
		hash: b.batch.Hash, pins: b.batch.Pins, ref: b.batch.Pattern,
		extra: func(tx core.Tx, id string) error {
			return tx.PutBatchResult(b.batch.ID, core.BatchResult{Index: index, ExecutionID: id, Status: core.ExecutionRunning})
		},
	})
}

// watch sends the item's end to the loop.
func (b *batchRun) watch(index int, id string) {
	b.watchers.Go(func() {
		exec, ok := b.await(id)
		if !ok {
			return
		}
		item := core.BatchResult{
			Index: index, ExecutionID: id, Status: exec.Status, Result: exec.Result, Error: exec.Error,
		}
		select {
		case b.ended <- item:
		case <-b.eng.quit:
		}
	})
}

// unreadableAfter is how often an item's execution is read in vain before the item counts as failed. A store that
// cannot be read at the moment does not count.
const unreadableAfter = 5

// await returns an item's execution once it is over. One that is stored no more, or cannot be read, has failed; a store
// that refuses is asked again. ok is false when the engine stops.
func (b *batchRun) await(id string) (exec *core.Execution, ok bool) {
	for failed := 0; ; {
		exec, err := b.eng.Wait(b.eng.detached(), id)
		switch {
		case err == nil:
			return exec, true
		case b.eng.stopping():
			return nil, false
		case core.ErrorCode(err) == core.CodeNotFound: // retention may take an old item of a batch that slept
			return lostItem(id, core.CodeInterrupted, "the item's execution is no longer stored"), true
		case !core.AsError(err).Unavailable:
			if failed++; failed >= unreadableAfter {
				b.eng.setAside("execution", id, err)
				return lostItem(id, core.CodeInternal, "the item's execution cannot be read"), true
			}
		}
		b.eng.log.Debug("batch reads an item again", "batch", b.batch.ID, "execution", id, "error", err)
		if !b.eng.pause(storeRetry) {
			return nil, false
		}
	}
}

// lostItem stands for an item's execution that cannot be had.
func lostItem(id string, code core.Code, message string) *core.Execution {
	return &core.Execution{ID: id, Status: core.ExecutionFailed, Error: &core.ExecutionError{Code: code, Message: message}}
}

// gather takes every end that waits, so that one transaction records them.
func (b *batchRun) gather(first core.BatchResult) []core.BatchResult {
	list := []core.BatchResult{first}
	for {
		select {
		case item := <-b.ended:
			list = append(list, item)
		default:
			return list
		}
	}
}

func (b *batchRun) cancelItems(running map[int]string, reason, by string) {
	for _, id := range running {
		r := b.eng.activeRun(id)
		if r == nil {
			continue
		}
		r.inbox.put(message{kind: msgCancel, reason: reason, by: by, reply: make(chan cancelReply, 1)})
	}
}

// recordPiece bounds the bytes of results that one transaction stores.
const recordPiece = 4 << 20

// record stores the ends of items with the new counts, and the batch's own end when over. It returns
// false when the engine stops first.
func (b *batchRun) record(settled []core.BatchResult, over, stop, cancelled bool) bool {
	for len(settled) > 0 {
		n, size := 0, 0
		for n < len(settled) && (n == 0 || size+len(settled[n].Result) <= recordPiece) {
			size += len(settled[n].Result)
			n++
		}
		if n == len(settled) && over {
			break // with the end
		}
		if !b.put(settled[:n], *b.batch) {
			return false
		}
		settled = settled[n:]
	}
	if !over {
		return true
	}
	next := *b.batch
	next.Status = core.BatchCompleted
	switch {
	case cancelled:
		next.Status = core.BatchCancelled
	case stop:
		next.Status = core.BatchFailed
	}
	at := b.eng.clock.Now()
	next.CompletedAt = &at
	return b.put(settled, next)
}

// put stores items and the batch in one transaction, with what they add to its counts.
func (b *batchRun) put(settled []core.BatchResult, next core.Batch) bool {
	items, before := settled, next
	for _, item := range settled {
		b.items[item.Index] = brief(item)
		switch item.Status {
		case core.ExecutionCompleted:
			next.Completed++
		case core.ExecutionCancelled:
			next.Cancelled++
		default:
			next.Failed++
		}
	}
	if next.Status.Terminal() {
		settled = append(settled, b.rest()...)
		next.Cancelled = next.Total - next.Completed - next.Failed
	}
	var end core.Event
	if next.Status.Terminal() {
		end = batchEvent(batchEnds[next.Status], &next, *next.CompletedAt)
		if end.By = core.System.ID; next.Status == core.BatchCancelled {
			end.By = cmp.Or(b.cancelledBy, end.By)
		}
	}
	for bare := false; ; {
		events := []core.Event{end}
		err := b.eng.store.Update(context.Background(), func(tx core.Tx) error {
			for _, item := range settled {
				if err := tx.PutBatchResult(b.batch.ID, item); err != nil {
					return err
				}
			}
			copied := next
			if err := tx.PutBatch(&copied); err != nil || !next.Status.Terminal() {
				return err
			}
			return tx.Append(events...)
		})
		if errors.Is(err, core.ErrInDoubt) {
			if stored, ok := b.eng.landed(events[0]); !ok {
				return false
			} else if stored {
				err = nil
			}
		}
		switch {
		case err == nil:
			b.eng.writable.accept()
			b.batch = &next
			b.release(len(items))
			b.tell()
			return true
		case core.AsError(err).Unavailable:
			b.eng.writable.refuse(err)
			b.eng.log.Warn("batch waits for the store", "batch", b.batch.ID, "error", err)
		case !bare && (len(items) > 1 || len(items) == 1 && next.Status.Terminal()):
			return b.putEach(items, before) // one that cannot be stored takes none with it
		case !bare && len(items) == 1:
			b.eng.log.Error("a result of a batch cannot be stored", "batch", b.batch.ID, "index", items[0].Index, "error", err)
			bare = true
			settled[0].Result = nil
			settled[0].Error = &core.ExecutionError{
				Code: core.CodeInternal, Message: "what the item came to cannot be stored with the batch; its execution may have it",
			}
			continue
		default:
			b.eng.writable.accept()
			b.eng.setAside("batch", b.batch.ID, err)
			b.batch = &next // it ends for those who wait; the next start takes up what is stored
			b.release(len(items))
			return true
		}
		if !b.eng.pause(storeRetry) {
			return false
		}
	}
}

// putEach stores items one by one, and the end of the batch after them if before has one.
func (b *batchRun) putEach(items []core.BatchResult, before core.Batch) bool {
	for i := range items {
		if !b.put(items[i:i+1:i+1], *b.batch) {
			return false
		}
	}
	if !before.Status.Terminal() {
		return true
	}
	end := *b.batch
	end.Status, end.CompletedAt = before.Status, before.CompletedAt
	return b.put(nil, end)
}

// release has items that are over, and at the end all others, count no more for who started the batch.
func (b *batchRun) release(items int) {
	if b.batch.Status.Terminal() {
		items = b.held
	}
	items = min(items, b.held)
	b.held -= items
	b.eng.releaseItems(b.batch.CreatedBy, items)
}

// rest lists the items that never began, as cancelled.
func (b *batchRun) rest() []core.BatchResult {
	var list []core.BatchResult
	for index := range b.batch.Total {
		if _, begun := b.items[index]; !begun {
			list = append(list, core.BatchResult{Index: index, Status: core.ExecutionCancelled})
		}
	}
	return list
}

func (b *batchRun) finish() {
	b.eng.mu.Lock()
	delete(b.eng.batches, b.batch.ID)
	b.eng.mu.Unlock()
	close(b.done)
}
