package core

import "time"

// ExecutionTx changes executions.
type ExecutionTx interface {
	// PutExecution inserts or replaces an execution and moves its index entries.
	PutExecution(e *Execution) error
	// FindExecution returns an execution as this transaction sees it. NOT_FOUND.
	FindExecution(id string) (*Execution, error)
}

// PatternTx changes patterns and definitions.
type PatternTx interface {
	PutPattern(p *Pattern) error
	// DeletePattern removes one version.
	DeletePattern(name, version string) error
	// FindPatternVersions returns all versions of a name, in no order.
	FindPatternVersions(name string) ([]*Pattern, error)
	// PutDefinition keeps a definition's source under its hash, for executions that pin it.
	PutDefinition(hash, source string) error
}

// BatchTx changes batches.
type BatchTx interface {
	PutBatch(b *Batch) error
	// PutBatchInput keeps the input of item index.
	PutBatchInput(batchID string, index int, input []byte) error
	PutBatchResult(batchID string, r BatchResult) error
}

// AgentTx changes the registry of connected agents.
type AgentTx interface {
	PutAgent(a *AgentRecord) error
	DeleteAgent(id string) error
}

// ManagedAgentTx changes managed agents.
type ManagedAgentTx interface {
	PutManagedAgent(a *ManagedAgentRecord) error
	DeleteManagedAgent(id string) error
	// PutRuntimePosition notes how far the events of a runtime are stored, beside what followed from them.
	PutRuntimePosition(p RuntimePosition) error
}

// QuestionTx changes questions.
type QuestionTx interface {
	// PutQuestion inserts or replaces a question. It goes when its execution does.
	PutQuestion(q *Question) error
}

// ThreadTx changes threads.
type ThreadTx interface {
	// PutThread inserts or replaces a thread and moves its index entries. It goes when its execution does, with
	// its inputs and events.
	PutThread(t *ThreadRecord) error
	// FindThread returns a thread as this transaction sees it. NOT_FOUND.
	FindThread(id string) (*ThreadRecord, error)
	// CountActiveThreads counts the threads that are not terminal; of one execution, or of all with "".
	CountActiveThreads(executionID string) (int, error)
}

// InputTx changes what waits for threads.
type InputTx interface {
	// PutInput keeps an input under its thread and Number.
	PutInput(in *QueuedInput) error
	// DeleteInputs forgets the inputs of a thread up to and including a Number.
	DeleteInputs(threadID string, upTo uint64) error
}

// WorkspaceTx changes workspaces.
type WorkspaceTx interface {
	PutWorkspace(w *Workspace) error
	// FindWorkspace returns a workspace as this transaction sees it. NOT_FOUND.
	FindWorkspace(id string) (*Workspace, error)
	DeleteWorkspace(id string) error
}

// DecisionTx changes decisions.
type DecisionTx interface {
	// PutDecision inserts or replaces a decision. It goes when its execution does.
	PutDecision(d *Decision) error
	// SameDecision returns the decision of an execution with a fingerprint, or nil.
	SameDecision(executionID, fingerprint string) (*Decision, error)
}

// ExperienceTx changes experiences.
type ExperienceTx interface {
	PutExperience(e *Experience) error
	// SameExperience returns the experience with a fingerprint, or nil.
	SameExperience(fingerprint string) (*Experience, error)
	DeleteExperience(id string) error
}

// WebhookTx changes endpoints.
type WebhookTx interface {
	// PutWebhook inserts or replaces an endpoint.
	PutWebhook(w *WebhookRecord) error
	// FindWebhook returns an endpoint as this transaction sees it. NOT_FOUND.
	FindWebhook(id string) (*WebhookRecord, error)
	// DeleteWebhook removes an endpoint. Its deliveries can be found no longer; they go behind it.
	DeleteWebhook(id string) error
}

// DeliveryTx changes deliveries.
type DeliveryTx interface {
	// PutDelivery inserts or replaces a delivery and moves its index entries. One whose endpoint is gone is
	// refused with NOT_FOUND.
	PutDelivery(d *Delivery) error
	// FindDelivery returns a delivery as this transaction sees it. NOT_FOUND.
	FindDelivery(id string) (*Delivery, error)
}

// EventTx writes the log, and what follows from it.
type EventTx interface {
	// Append writes events to the log and gives them their Seq.
	Append(events ...Event) error
	// SetCursor notes that a consumer is done with the log up to seq, beside what followed from it.
	SetCursor(name string, seq uint64) error
	// AfterCommit has fn called once the transaction is durable, before Update returns and before anybody is shown its
	// events: what a service keeps in memory changes there, so that whoever asks at an event finds at least the state
	// that it tells of. fn runs in the store's writer: it is short, and neither uses the store nor takes a lock that is
	// held over an Update. It is not called for a transaction that fails, unless that wrapped ErrInDoubt and turns out to be
	// stored: then it is called once the store takes writes again, before anything else is written.
	AfterCommit(fn func())
}

// IdempotencyTx changes claimed keys.
type IdempotencyTx interface {
	// ClaimIdempotency takes the key for resourceID; a nil claim is a no-op. CONFLICT if it was taken
	// less than IdempotencyTTL ago.
	ClaimIdempotency(claim *IdempotencyClaim, resourceID string, now time.Time) error
	// AnswerIdempotency keeps the first answer beside a claimed key.
	AnswerIdempotency(rec *IdempotencyRecord) error
}

// APIKeyTx changes API keys.
type APIKeyTx interface {
	// PutAPIKey inserts or replaces a key. It takes its name over from a key that has it.
	PutAPIKey(k *APIKeyRecord) error
	// FindAPIKey returns a key as this transaction sees it. NOT_FOUND.
	FindAPIKey(id string) (*APIKeyRecord, error)
	// APIKeyNamed returns the key that was put last under a name, or nil.
	APIKeyNamed(name string) (*APIKeyRecord, error)
	// DeleteAPIKey forgets a key. An unknown id is no error.
	DeleteAPIKey(id string) error
}

// AgentTokenTx changes registration tokens.
type AgentTokenTx interface {
	// PutAgentToken inserts or replaces a token.
	PutAgentToken(k *AgentTokenRecord) error
	// FindAgentToken returns a token as this transaction sees it. NOT_FOUND.
	FindAgentToken(id string) (*AgentTokenRecord, error)
	// DeleteAgentToken forgets a token. An unknown id is no error.
	DeleteAgentToken(id string) error
}

// SessionTx changes the sessions of people.
type SessionTx interface {
	// PutSession inserts or replaces a session.
	PutSession(r *SessionRecord) error
	// FindSession returns a session as this transaction sees it. NOT_FOUND.
	FindSession(id string) (*SessionRecord, error)
	// DeleteSession forgets a session. An unknown id is no error.
	DeleteSession(id string) error
}
