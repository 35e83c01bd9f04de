package core

import (
	"context"
	"time"
)

// Store is the durable state. One process owns it. All methods are safe for concurrent use.
type Store interface {
	// Update runs fn in a transaction and returns once its writes are on stable storage; nothing is
	// written if fn returns an error, which Update returns as it is. Transactions run one after the other,
	// so fn may check and then write; concurrent ones share an fsync. fn must be quick and free of side
	// effects, must not call the store except through tx, and may run on another goroutine.
	// INTERNAL_ERROR with Unavailable when the store is read-only (disk low) or closed.
	Update(ctx context.Context, fn func(tx Tx) error) error

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

	// Events returns up to limit events of a subject or a group with Seq > after, in order.
	Events(ctx context.Context, subject string, after uint64, limit int) ([]Event, error)
	// LastSeq returns the sequence of the newest committed event, of any subject.
	LastSeq() uint64
	// Log returns up to limit public events of all subjects with Seq > after, in order. Cursors of
	// consumers that must miss nothing read it.
	Log(ctx context.Context, after uint64, limit int) ([]Event, error)
}

// Tx is one transaction. Reads see the transaction's own writes. Values handed to it must not be changed
// afterwards.
type Tx interface {
	// PutExecution inserts or replaces an execution and moves its index entries.
	PutExecution(e *Execution) error
	PutPattern(p *Pattern) error
	// DeletePattern removes one version.
	DeletePattern(name, version string) error
	// FindPatternVersions returns all versions of a name, in no order.
	FindPatternVersions(name string) ([]*Pattern, error)
	// PutDefinition keeps a definition's source under its hash, for executions that pin it.
	PutDefinition(hash, source string) error
	PutBatch(b *Batch) error
	// PutBatchInput keeps the input of item index.
	PutBatchInput(batchID string, index int, input []byte) error
	PutBatchResult(batchID string, r BatchResult) error
	PutAgent(a *AgentRecord) error
	DeleteAgent(id string) error
	PutManagedAgent(a *ManagedAgentRecord) error
	DeleteManagedAgent(id string) error
	// PutQuestion inserts or replaces a question. It goes when its execution does.
	PutQuestion(q *Question) error
	// PutThread inserts or replaces a thread and moves its index entries. It goes when its execution does, with
	// its inputs and events.
	PutThread(t *ThreadRecord) error
	// FindThread returns a thread as this transaction sees it. NOT_FOUND.
	FindThread(id string) (*ThreadRecord, error)
	// FindExecution returns an execution as this transaction sees it. NOT_FOUND.
	FindExecution(id string) (*Execution, error)
	// CountActiveThreads counts the threads that are not terminal; of one execution, or of all with "".
	CountActiveThreads(executionID string) (int, error)
	// PutInput keeps an input under its thread and Number.
	PutInput(in *QueuedInput) error
	// DeleteInputs forgets the inputs of a thread up to and including a Number.
	DeleteInputs(threadID string, upTo uint64) error
	PutWorkspace(w *Workspace) error
	// FindWorkspace returns a workspace as this transaction sees it. NOT_FOUND.
	FindWorkspace(id string) (*Workspace, error)
	DeleteWorkspace(id string) error
	// PutDecision inserts or replaces a decision. It goes when its execution does.
	PutDecision(d *Decision) error
	// SameDecision returns the decision of an execution with a fingerprint, or nil.
	SameDecision(executionID, fingerprint string) (*Decision, error)
	PutExperience(e *Experience) error
	// SameExperience returns the experience with a fingerprint, or nil.
	SameExperience(fingerprint string) (*Experience, error)
	DeleteExperience(id string) error
	// PutWebhook inserts or replaces an endpoint.
	PutWebhook(w *WebhookRecord) error
	// FindWebhook returns an endpoint as this transaction sees it. NOT_FOUND.
	FindWebhook(id string) (*WebhookRecord, error)
	// DeleteWebhook removes an endpoint. Its deliveries can be found no longer; they go behind it.
	DeleteWebhook(id string) error
	// PutDelivery inserts or replaces a delivery and moves its index entries. One whose endpoint is gone is
	// refused with NOT_FOUND.
	PutDelivery(d *Delivery) error
	// FindDelivery returns a delivery as this transaction sees it. NOT_FOUND.
	FindDelivery(id string) (*Delivery, error)
	// SetCursor notes that a consumer is done with the log up to seq, beside what followed from it.
	SetCursor(name string, seq uint64) error
	// PutRuntimePosition notes how far the events of a runtime are stored, beside what followed from them.
	PutRuntimePosition(p RuntimePosition) error
	// AfterCommit has fn called once the transaction is durable, before Update returns and before anybody is shown its
	// events: what a service keeps in memory changes there, so that whoever asks at an event finds at least the state
	// that it tells of. fn runs in the store's writer: it is short, and neither uses the store nor takes a lock that is
	// held over an Update. It is not called for a transaction that fails.
	AfterCommit(fn func())
	// Append writes events to the log and gives them their Seq.
	Append(events ...Event) error
	// ClaimIdempotency takes the key for resourceID; a nil claim is a no-op. CONFLICT if it was taken
	// less than IdempotencyTTL ago.
	ClaimIdempotency(claim *IdempotencyClaim, resourceID string, now time.Time) error
	// AnswerIdempotency keeps the first answer beside a claimed key.
	AnswerIdempotency(rec *IdempotencyRecord) error
}

// ExecutionReader reads executions.
type ExecutionReader interface {
	FindExecution(ctx context.Context, id string) (*Execution, error)
	// FindExecutions returns rows of a list, newest first: with ID, Pattern, Status and times, and nothing else.
	FindExecutions(ctx context.Context, filter ExecutionFilter) ([]*Execution, PageInfo, error)
	// ActiveExecutions returns every execution that is not terminal, oldest first.
	ActiveExecutions(ctx context.Context) ([]*Execution, error)
	// CountExecutions returns the number of stored executions per pattern name and status.
	CountExecutions(ctx context.Context) (map[string]map[ExecutionStatus]int, error)
}

// PatternReader reads patterns.
type PatternReader interface {
	// AllPatterns returns every version of every pattern.
	AllPatterns(ctx context.Context) ([]*Pattern, error)
	// FindDefinition returns the source kept under a hash. NOT_FOUND if there is none.
	FindDefinition(ctx context.Context, hash string) (string, error)
}

// BatchReader reads batches.
type BatchReader interface {
	FindBatch(ctx context.Context, id string) (*Batch, error) // without Results
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
	ResumeHash string `json:"resumeHash"` // hex SHA-256 of the resume token
	Resumable  bool   `json:"resumable"`  // the session did not end for good
}

// IdempotencyReader reads claimed keys.
type IdempotencyReader interface {
	// FindIdempotency returns the record of a key claimed less than IdempotencyTTL before now, or nil.
	FindIdempotency(ctx context.Context, scope, key string, now time.Time) (*IdempotencyRecord, error)
}
