package engine

import (
	"fmt"
	"time"

	"github.com/wardroom/wardroom/core"
)

// load is what active executions of one share are to the queue.
type load struct {
	runs  int
	bytes int64 // of input
}

// The last tenth of the queue is kept for shares that have little in it: less than a tenth of that tenth, one execution
// at least. A share that fills the rest does not keep others out.
const keptShare = 10

// admit returns why a run that a caller starts finds no place in the queue, or nil. The caller holds mu.
func (e *Engine) admit(r *run) error {
	config := e.config.Load()
	if most := config.MaxActivePerOwner; most > 0 && !core.IsReserved(r.exec.CreatedBy) && e.owned[r.exec.CreatedBy] >= most {
		return ownerFull(most)
	}
	of := e.loads[shareKey(r.exec)]
	limit := config.MaxQueued
	kept := limit / keptShare
	waiting, own := len(e.runs)-e.limits.active(), of.runs-e.limits.held(r.exec.Pattern.Name)
	switch {
	case waiting >= limit:
		return queueFull("engine.maxQueued", int64(limit), fmt.Sprintf("%d executions wait already", waiting))
	case waiting >= limit-kept && own >= max(kept/keptShare, 1):
		return shareFull(r, "engine.maxQueued", int64(limit-kept),
			fmt.Sprintf("%d executions wait already, %d of them of pattern %s", waiting, own, r.exec.Pattern.Name))
	}
	if config.MaxQueuedBytes <= 0 || e.inputBytes == 0 {
		return nil
	}
	sum, keptBytes := e.inputBytes+r.inputBytes, config.MaxQueuedBytes/keptShare
	switch {
	case sum > config.MaxQueuedBytes:
		return queueFull("engine.maxQueuedBytes", config.MaxQueuedBytes, fmt.Sprintf("%d bytes of input are in flight already", e.inputBytes))
	case sum > config.MaxQueuedBytes-keptBytes && of.bytes > 0 && of.bytes+r.inputBytes > keptBytes/keptShare:
		return shareFull(r, "engine.maxQueuedBytes", config.MaxQueuedBytes-keptBytes,
			fmt.Sprintf("%d bytes of input are in flight already, %d of them of pattern %s", e.inputBytes, of.bytes, r.exec.Pattern.Name))
	}
	return nil
}

// queueFull says that the queue takes no more of anybody; setting is the key of the limit.
func queueFull(setting string, limit int64, what string) *core.Error {
	err := core.RateLimited(limit, 0, time.Second, "the queue is full: %s; %s allows no more; try again later", what, setting)
	err.Details["setting"] = setting
	return err
}

// ownerFull says that the engine takes no more of one caller.
func ownerFull(limit int) *core.Error {
	const setting = "security.rateLimit.open.executions"
	err := queueFull(setting, int64(limit), fmt.Sprintf("%d executions of the caller wait or run already", limit))
	err.Message = fmt.Sprintf("%d executions of the caller wait or run already; %s allows no more; try again later", limit, setting)
	return err
}

// shareFull says that the queue takes no more of one pattern.
func shareFull(r *run, setting string, limit int64, what string) *core.Error {
	err := queueFull(setting, limit, what)
	err.Message = fmt.Sprintf("the queue is full for pattern %s: %s; the last tenth of %s is kept for patterns with little in the queue; "+
		"try again later", r.exec.Pattern.Name, what, setting)
	err.Details["pattern"] = r.exec.Pattern.Name
	return err
}

// weigh adds a run to its share, or takes it away. The caller holds mu.
func (e *Engine) weigh(r *run, sign int) {
	key := shareKey(r.exec)
	of := e.loads[key]
	of.runs += sign
	of.bytes += int64(sign) * r.inputBytes
	if of.runs == 0 {
		delete(e.loads, key)
	} else {
		e.loads[key] = of
	}
	e.inputBytes += int64(sign) * r.inputBytes
	if r.exec.BatchID == "" { // those of batches count from the start of theirs
		e.own(r.exec.CreatedBy, sign)
	}
}

// own adds to what a caller has that waits or runs. The caller holds mu.
func (e *Engine) own(caller string, n int) {
	if e.owned[caller] += n; e.owned[caller] == 0 {
		delete(e.owned, caller)
	}
}

// holdItems counts the items of a batch that a caller starts, until releaseItems does. RATE_LIMITED if there is no room
// for all of them.
func (e *Engine) holdItems(caller string, n int) error {
	most := e.config.Load().MaxActivePerOwner
	e.mu.Lock()
	defer e.mu.Unlock()
	if have := e.owned[caller]; most > 0 && !core.IsReserved(caller) && have+n > most {
		err := ownerFull(most)
		err.Message = fmt.Sprintf("the batch has %d inputs, and %d executions of the caller wait or run already; "+
			"security.rateLimit.open.executions allows %d together", n, have, most)
		return err
	}
	e.own(caller, n)
	return nil
}

// releaseItems takes items of a batch that are over, or never began, away from their caller.
func (e *Engine) releaseItems(caller string, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.own(caller, -n)
}
