package engine

import (
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/core"
)

// batchEnds are the events that tell of the end of a batch.
var batchEnds = map[core.BatchStatus]core.EventType{
	core.BatchCompleted: core.EventBatchCompleted, core.BatchFailed: core.EventBatchFailed, core.BatchCancelled: core.EventBatchCancelled,
}

// batchEvent makes an event of a batch.
func batchEvent(kind core.EventType, b *core.Batch, at time.Time) core.Event {
	data, _ := json.Marshal(core.BatchNotice{ // plain data always encodes
		BatchID: b.ID, Pattern: b.Pattern, Status: b.Status, Total: b.Total, Completed: b.Completed, Failed: b.Failed, Cancelled: b.Cancelled,
	})
	return core.Event{Type: kind, Time: at, Subject: b.ID, Data: data}
}

// tell gives notice of how far the batch is. The last notice has its end, so that none that comes late tells of less.
func (b *batchRun) tell() {
	b.eng.notice(batchEvent(core.EventBatchProgress, b.batch, b.eng.clock.Now()))
}
