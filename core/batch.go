package core

import (
	"context"
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

// Terminal tells whether the batch is over.
func (s BatchStatus) Terminal() bool { return s != BatchRunning }

// Bounds of a batch's concurrency option.
const (
	DefaultBatchConcurrency = 5
	MaxBatchConcurrency     = 50
)

// BatchRequest asks for one pattern to be run over many inputs.
type BatchRequest struct {
	Pattern     string
	Version     string
	Inputs      []json.RawMessage
	Concurrency int // 0: DefaultBatchConcurrency
	StopOnError bool
	Options     ExecuteOptions // of each item
}

// Batch is one pattern run over many inputs.
type Batch struct {
	ID          string            `json:"id"`
	Pattern     PatternRef        `json:"pattern"`
	Hash        string            `json:"hash"`           // of the definition that every item runs
	Pins        map[string]string `json:"pins,omitempty"` // as of Execution
	Status      BatchStatus       `json:"status"`
	Total       int               `json:"total"`
	Completed   int               `json:"completed"` // items that completed
	Failed      int               `json:"failed"`    // items that failed
	Cancelled   int               `json:"cancelled"` // items that were cancelled, or never began in a batch that is over
	Concurrency int               `json:"concurrency"`
	StopOnError bool              `json:"stopOnError,omitempty"`
	Options     ExecuteOptions    `json:"options"`
	CreatedBy   string            `json:"createdBy,omitempty"`
	CreatedAt   time.Time         `json:"createdAt"`
	CompletedAt *time.Time        `json:"completedAt,omitempty"`
	Results     []BatchResult     `json:"-"` // filled by BatchReader.ActiveBatches, by index
}

// BatchResult is the outcome of one item.
type BatchResult struct {
	Index       int             `json:"index"`
	ExecutionID string          `json:"executionId,omitempty"` // empty for an item that never became an execution
	Status      ExecutionStatus `json:"status"`
	Result      json.RawMessage `json:"result,omitempty"`
	Error       *ExecutionError `json:"error,omitempty"`
}

// BatchService runs batches. What StartBatch acknowledged is finished, over restarts too.
type BatchService interface {
	// StartBatch stores the batch with all its inputs durably and returns it running.
	StartBatch(ctx context.Context, req BatchRequest) (*Batch, error)
	// FindBatch returns the batch without its results. NOT_FOUND for an unknown id.
	FindBatch(ctx context.Context, id string) (*Batch, error)
	// FindBatchResults returns the batch with a page of its results, by index: every item has one, also where it did not
	// begin. A page ends before its limit once its results have MaxPageBytes. NOT_FOUND for an unknown id.
	FindBatchResults(ctx context.Context, id string, page Page) (*Batch, []BatchResult, PageInfo, error)
	// CancelBatch cancels the running items and starts no more. CONFLICT if the batch completed or failed.
	CancelBatch(ctx context.Context, id string) (*Batch, error)
}
