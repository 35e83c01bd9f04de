package core

import (
	"context"
	"time"
)

// Store is the durable state. One process owns it. All methods are safe for concurrent use.
//
// It has many methods because it is the sum of the parts, a reader a noun; services ask for the parts that they use.
type Store interface {
	// Update runs fn in a transaction and returns once its writes are on stable storage; nothing is
	// written if fn returns an error, which Update returns as it is. Transactions run one after the other,
	// so fn may check and then write; concurrent ones share an fsync. fn must be quick and free of side
	// effects, must not call the store except through tx, and may run on another goroutine.
	// INTERNAL_ERROR with Unavailable when the store is read-only (disk low) or closed, and of a commit that failed, which wraps
	// ErrInDoubt.
	Update(ctx context.Context, fn func(tx Tx) error) error

	// DeleteExecution removes a terminal execution with what goes with it, in as many transactions as that takes; the last
	// one has its record and appends the event. NOT_FOUND; CONFLICT while it or one of its threads is active: some of what
	// belongs to it may be gone then.
	DeleteExecution(ctx context.Context, id string, event Event) error

	ExecutionReader
	PatternReader
	BatchReader
	AgentReader
	ManagedAgentReader
	QuestionReader
	ThreadReader
	WorkspaceReader
	MemoryReader
	WebhookReader
	IdempotencyReader
	APIKeyReader
	AgentTokenReader
	SessionReader
	ScheduleReader
	TriggerReader

	// Events returns up to limit events of a subject or a group with Seq > after, in order. A page ends early once its
	// events have MaxPageBytes; more reports whether something that was committed is left out.
	Events(ctx context.Context, subject string, after uint64, limit int) (page []Event, more bool, err error)
	// EventsBefore returns up to limit events of a subject or a group with Seq < before, the newest first. A page ends, and
	// more says so, as those of Events.
	EventsBefore(ctx context.Context, subject string, before uint64, limit int) (page []Event, more bool, err error)
	// LastSeq returns the sequence of the newest committed event, of any subject.
	LastSeq() uint64
	// Log returns up to limit public events of all subjects with Seq > after, in order. Cursors of
	// consumers that must miss nothing read it. A page ends, and more says so, as those of Events.
	Log(ctx context.Context, after uint64, limit int) (page []Event, more bool, err error)
}

// Tx is one transaction. Reads see the transaction's own writes. Values handed to it must not be changed
// afterwards. Whoever needs a part of it asks for that part.
//
// It has many methods because it is the sum of the parts, one a noun.
type Tx interface {
	ExecutionTx
	PatternTx
	BatchTx
	AgentTx
	ManagedAgentTx
	QuestionTx
	ThreadTx
	InputTx
	WorkspaceTx
	DecisionTx
	ExperienceTx
	WebhookTx
	DeliveryTx
	EventTx
	IdempotencyTx
	APIKeyTx
	AgentTokenTx
	SessionTx
	ScheduleTx
	TriggerTx
	ErasureTx
}

// ExecutionReader reads executions.
type ExecutionReader interface {
	FindExecution(ctx context.Context, id string) (*Execution, error)
	// FindExecutions returns rows of a list, newest first: with ID, Pattern, Status, times and Waiting, Priority, BatchID,
	// CreatedBy, the Code of Error, indexed Metadata as text, OpenQuestions, the Team of one that is over, and nothing else. What a filter selects by lies
	// in an index. Where several select together a page may end early, with HasMore, and the total be a lower bound.
	FindExecutions(ctx context.Context, filter ExecutionFilter) ([]*Execution, PageInfo, error)
	// ActiveExecutions returns every execution that is not terminal, oldest first.
	ActiveExecutions(ctx context.Context) ([]*Execution, error)
	// CountExecutions returns the number of stored executions per pattern name and status.
	CountExecutions(ctx context.Context) (map[string]map[ExecutionStatus]int, error)
	// Throughput returns what happened to executions.
	Throughput(ctx context.Context) (*Throughput, error)
}

// PatternReader reads patterns.
type PatternReader interface {
	// AllPatterns returns every version of every pattern.
	AllPatterns(ctx context.Context) ([]*Pattern, error)
	// FindDefinition returns the source kept under a hash. NOT_FOUND if there is none.
	FindDefinition(ctx context.Context, hash string) (string, error)
	// AllDefinitions calls fn with every source that is kept, those of deleted versions included while something ran by them. Ones
	// that cannot be read are passed over.
	AllDefinitions(ctx context.Context, fn func(source string) error) error
}

// BatchReader reads batches.
type BatchReader interface {
	FindBatch(ctx context.Context, id string) (*Batch, error) // without Results
	// FindBatches lists batches, newest first, without Results.
	FindBatches(ctx context.Context, filter BatchFilter) ([]*Batch, PageInfo, error)
	// FindBatchResults returns up to limit results of items from the index from on, by index, without those that did not
	// begin. It ends early once they have MaxPageBytes. next is the index of the first one that was left out; -1: none was.
	FindBatchResults(ctx context.Context, id string, from, limit int) (list []BatchResult, next int, err error)
	// ActiveBatches returns every batch that is running, oldest first, with Results that say which execution an item is
	// and how it stands, without what came of it.
	ActiveBatches(ctx context.Context) ([]*Batch, error)
	FindBatchInput(ctx context.Context, batchID string, index int) ([]byte, error)
}

// AgentReader reads the registry of connected agents.
type AgentReader interface {
	AllAgents(ctx context.Context) ([]*AgentRecord, error)
}

// AgentRecord is an agent as it is stored.
type AgentRecord struct {
	Agent
	CreatorKind PrincipalKind `json:"creatorKind,omitempty"` // of CreatedBy
	ResumeHash  string        `json:"resumeHash"`            // hex SHA-256 of the resume token
	Resumable   bool          `json:"resumable"`             // the session did not end for good
}

// IdempotencyReader reads claimed keys.
type IdempotencyReader interface {
	// FindIdempotency returns the record of a key claimed less than IdempotencyTTL before now, or nil.
	FindIdempotency(ctx context.Context, scope, key string, now time.Time) (*IdempotencyRecord, error)
}
