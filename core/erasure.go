package core

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixErasure begins the ids of erasures.
const PrefixErasure = "ers_"

// What is public of erasures.
type (
	Erasure        = wire.Erasure
	ErasureRequest = wire.ErasureRequest
	DataCounts     = wire.DataCounts
	DataRemainder  = wire.DataRemainder
)

// SubjectKey is the key of metadata that names whose data an execution or a batch holds. What a subject made is theirs
// without it.
const SubjectKey = "subject"

// EventDataErased says that an erasure is over. It belongs to the erasure and stays inside.
const EventDataErased EventType = "data.erased"

// Kinds of what is stored of a subject, as counts, marks and exports name them.
const (
	DataExecutions    = "executions"
	DataBatches       = "batches"
	DataThreads       = "threads"
	DataQuestions     = "questions"
	DataDecisions     = "decisions"
	DataExperiences   = "experiences"
	DataWorkspaces    = "workspaces"
	DataManagedAgents = "managedAgents"
	DataSchedules     = "schedules"
	DataTriggers      = "triggers"
	DataSessions      = "sessions"
	DataIdempotency   = "idempotencyKeys"
	DataDeliveries    = "deliveries"
	DataEvents        = "events"
	DataAudit         = "audit"
	DataErasures      = "erasures"
	DataAPIKeys       = "apiKeys"
)

// ErrUnreadable is wrapped by errors about a stored record that cannot be decoded: whose it is cannot be told.
var ErrUnreadable = errors.New("the record cannot be read")

// ErasureRecord is an erasure as it is stored. Values are snapshots.
type ErasureRecord struct {
	Erasure
	Subject string `json:"subject,omitempty"` // until it is over
	Cancel  bool   `json:"cancel,omitempty"`
	// Through is the greatest id, without its prefix, of what there was of the subject when the erasure was asked for. It
	// lies behind that of the erasure for what was made while the clock was ahead.
	Through string `json:"through,omitempty"`
	// Runtimes had agents of the subject, and are to forget them.
	Runtimes []string `json:"runtimes,omitempty"`
	// Place is how far the present step has come; what it means is the step's matter.
	Place []byte `json:"place,omitempty"`
}

// DataItem is one thing that is stored of a subject, in an export.
type DataItem struct {
	Kind string          `json:"kind"`
	ID   string          `json:"id,omitempty"`
	Data json.RawMessage `json:"data"`
}

// ErasureFilter selects erasures of a list. Zero values select all.
type ErasureFilter struct {
	CreatedBy string // who asked for it
	Page
}

// ErasureService exports and erases what is stored of a subject. Methods are safe for concurrent use.
type ErasureService interface {
	// Plan counts what there is of a subject, and stores nothing.
	Plan(ctx context.Context, subject string) (*Erasure, error)
	// Erase stores the request durably and returns it; it goes on by itself, over restarts too. One that runs for the same
	// subject is returned as it is. VALIDATION_ERROR without its confirmation; CONFLICT while something of the subject
	// runs that is not to be cancelled.
	Erase(ctx context.Context, req ErasureRequest) (*Erasure, error)
	// FindErasure returns one. NOT_FOUND.
	FindErasure(ctx context.Context, id string) (*Erasure, error)
	// FindErasures lists erasures, newest first.
	FindErasures(ctx context.Context, filter ErasureFilter) ([]*Erasure, PageInfo, error)
	// Export calls fn with everything that is stored of a subject, a thing at a time, until fn returns an error.
	Export(ctx context.Context, subject string, fn func(item DataItem) error) error
}

// ErasureTx changes erasures.
type ErasureTx interface {
	// PutErasure inserts or replaces an erasure.
	PutErasure(e *ErasureRecord) error
	// MarkErased notes that a thing of the subject is about to go, so that what refers to it is found later, and reports
	// whether it was not noted before.
	MarkErased(erasureID, kind, id string) (fresh bool, err error)
}

// ErasureStore is what erasures need of the store beside what services offer. All methods are safe for concurrent use.
// Those that take a record go over a kind of records from its Place on, change a bounded number of them together with the
// record's Place and Done[kind] in one transaction, and report whether they came to the end. A record that cannot be read
// stays as it is and is counted in Unreadable[kind].
//
// It has many methods because each kind of record is erased in a way of its own, and one service asks for all of them.
type ErasureStore interface {
	Update(ctx context.Context, fn func(tx Tx) error) error
	FindErasure(ctx context.Context, id string) (*ErasureRecord, error)
	FindErasures(ctx context.Context, filter ErasureFilter) ([]*ErasureRecord, PageInfo, error)
	// AllErasures returns every erasure, oldest first.
	AllErasures(ctx context.Context) ([]*ErasureRecord, error)

	// EraseBatch removes a batch that is over with its inputs and results. An unknown id is no error; CONFLICT while it runs.
	EraseBatch(ctx context.Context, id string) error
	// EraseEvents removes the events of what is marked; of those that the log still holds it leaves what they are about,
	// without what people and agents wrote. Events that the subject caused elsewhere are put down to the pseudonym.
	EraseEvents(ctx context.Context, e *ErasureRecord) (done bool, err error)
	// EraseDeliveries removes the deliveries that are over of events of what is marked, and what receivers answered to
	// those that are not.
	EraseDeliveries(ctx context.Context, e *ErasureRecord) (done bool, err error)
	// EraseIdempotency removes the answers to requests of the subject, and those about what is marked.
	EraseIdempotency(ctx context.Context, e *ErasureRecord) (done bool, err error)
	// EraseNames puts the pseudonym in the place of the subject in questions, decisions, finished threads and cancelled
	// executions of others, in erasures that the subject asked for, and in API keys that it made for others or revoked.
	EraseNames(ctx context.Context, e *ErasureRecord) (done bool, err error)
	// RedactAudit calls redact with audit records, and puts what it returns in their place; nil leaves one as it is.
	// redact returns ErrUnreadable for one that it cannot read.
	RedactAudit(ctx context.Context, e *ErasureRecord, redact func(row AuditRow, marked func(id string) bool) ([]byte, error)) (done bool, err error)
	// DropMarks forgets what was marked.
	DropMarks(ctx context.Context, erasureID string) error
	// Compact has the files of the store written anew without what was removed, as far as they can be.
	Compact(ctx context.Context) error
}
