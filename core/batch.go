package core

import (
	"context"
	"encoding/json"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixBatch begins the ids of batches.
const PrefixBatch = "batch_"

// What is public of batches as it is stored.
type (
	BatchStatus = wire.BatchStatus
	BatchResult = wire.BatchResult
)

// Batch states.
const (
	BatchRunning   = wire.BatchRunning
	BatchCompleted = wire.BatchCompleted
	BatchFailed    = wire.BatchFailed
	BatchCancelled = wire.BatchCancelled
)

// Event types of batches. Their subject is the batch, and their data a BatchNotice. They stay inside.
const (
	EventBatchStarted   EventType = "batch.started"
	EventBatchCompleted EventType = "batch.completed"
	EventBatchFailed    EventType = "batch.failed"
	EventBatchCancelled EventType = "batch.cancelled"
	EventBatchProgress  EventType = "batch.progress" // live only, never stored
)

// BatchNotice is the data of the events of a batch: how far it is.
type BatchNotice struct {
	BatchID   string      `json:"batchId"`
	Pattern   PatternRef  `json:"pattern"`
	Status    BatchStatus `json:"status"`
	Total     int         `json:"total"`
	Completed int         `json:"completed"`
	Failed    int         `json:"failed"`
	Cancelled int         `json:"cancelled"`
}

// Bounds of a batch's concurrency option.
const (
	DefaultBatchConcurrency = 5
	MaxBatchConcurrency     = 50
)

// BatchStatuses lists every state.
var BatchStatuses = []BatchStatus{BatchRunning, BatchCompleted, BatchFailed, BatchCancelled}

// BatchFilter selects batches of a list. Zero values select all.
type BatchFilter struct {
	Status    BatchStatus
	Pattern   string
	CreatedBy string
	Page
}

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
	Trace       string            `json:"trace,omitempty"` // traceparent of the request that started it
	Results     []BatchResult     `json:"-"`               // filled by BatchReader.ActiveBatches, by index
}

// BatchService runs batches. What StartBatch acknowledged is finished, over restarts too.
type BatchService interface {
	// StartBatch stores the batch with all its inputs durably and returns it running.
	StartBatch(ctx context.Context, req BatchRequest) (*Batch, error)
	// FindBatch returns the batch without its results. NOT_FOUND for an unknown id.
	FindBatch(ctx context.Context, id string) (*Batch, error)
	// FindBatches lists batches, newest first, without their results.
	FindBatches(ctx context.Context, filter BatchFilter) ([]*Batch, PageInfo, error)
	// FindBatchResults returns the batch with a page of its results, by index: every item has one, also where it did not
	// begin. A page ends before its limit once its results have MaxPageBytes. NOT_FOUND for an unknown id.
	FindBatchResults(ctx context.Context, id string, page Page) (*Batch, []BatchResult, PageInfo, error)
	// CancelBatch cancels the running items and starts no more. CONFLICT if the batch completed or failed.
	CancelBatch(ctx context.Context, id string) (*Batch, error)
}
