package wire

import (
	"encoding/json"
	"time"
)

// BatchStatus is the state of a batch.
type BatchStatus string

// Batch states.
const (
	BatchRunning   BatchStatus = "running"
	BatchCompleted BatchStatus = "completed" // all items processed, also with failed ones
	BatchFailed    BatchStatus = "failed"    // stopOnError met an error; the rest is cancelled
	BatchCancelled BatchStatus = "cancelled"
)

// Terminal reports whether the batch is over.
func (s BatchStatus) Terminal() bool { return s != BatchRunning }

// BatchRequest runs one pattern over many inputs.
type BatchRequest struct {
	Pattern string            `json:"pattern" check:"required,min=1,max=256"`
	Version string            `json:"version,omitempty" check:"max=256" doc:"Exact version or a range. Default: the latest."`
	Inputs  []json.RawMessage `json:"inputs" check:"required,min=1" doc:"One item each. An input the pattern refuses fails alone."`
	Options BatchOptions      `json:"options,omitzero"`
}

// BatchOptions are the options of a batch, and of each of its items.
type BatchOptions struct {
	Concurrency int  `json:"concurrency,omitempty" check:"min=1,max=50" doc:"Items at once. Default: 5."`
	StopOnError bool `json:"stopOnError,omitempty" doc:"The first failed item ends the batch."`
	ExecuteOptions
}

// Batch is one pattern run over many inputs.
type Batch struct {
	ID        string      `json:"id" doc:"The same as batchId."`
	BatchID   string      `json:"batchId"`
	Pattern   PatternRef  `json:"pattern"`
	Status    BatchStatus `json:"status" enum:"running,completed,failed,cancelled"`
	Total     int         `json:"total"`
	Completed int         `json:"completed"`
	Failed    int         `json:"failed" doc:"Items that failed."`
	Cancelled int         `json:"cancelled" doc:"Items that were cancelled, and those that never began in a batch that is over."`
	StatusURL string      `json:"statusUrl"`
}

// BatchRow is a batch in a list.
type BatchRow struct {
	Batch
	CreatedAt   time.Time  `json:"createdAt"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`
	CreatedBy   string     `json:"createdBy,omitempty"`
}

// BatchDetail is a batch with a page of its results.
type BatchDetail struct {
	Batch
	CreatedAt   time.Time     `json:"createdAt"`
	CompletedAt *time.Time    `json:"completedAt,omitempty"`
	CreatedBy   string        `json:"createdBy,omitempty"`
	Results     []BatchResult `json:"results" doc:"By index. An item that did not begin is pending."`
	Limit       int           `json:"limit"`
	Offset      int           `json:"offset"`
	HasMore     bool          `json:"hasMore" doc:"There are more results; go on from nextCursor."`
	NextCursor  string        `json:"nextCursor,omitempty"`
}

// BatchResult is the outcome of one item.
type BatchResult struct {
	Index       int             `json:"index"`
	ExecutionID string          `json:"executionId,omitempty" doc:"Absent for an item that never became an execution."`
	Status      ExecutionStatus `json:"status" enum:"pending,running,completed,failed,cancelled"`
	Result      json.RawMessage `json:"result,omitempty" check:"nullable" doc:"As that of its execution."`
	Error       *ExecutionError `json:"error,omitempty"`
}
