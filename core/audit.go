package core

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixAudit begins the ids of audit records.
const PrefixAudit = "aud_"

// What is public of the audit trail.
type (
	AuditRecord = wire.AuditRecord
	AuditStatus = wire.AuditStatus
	AuditSink   = wire.AuditSink
)

// AuditEntry is what somebody did, before it has its place in the trail.
type AuditEntry struct {
	Category string // one of wire.AuditCategories
	Action   string
	Outcome  string
	Actor    wire.AuditActor
	Resource wire.AuditResource
	Details  map[string]any // of values that JSON has; never secrets
	Request  wire.AuditRequest
}

// AuditIntent describes what a request is about to do. The first transaction that writes anything on its behalf writes
// its record too, and none after that does.
type AuditIntent struct {
	AuditEntry
	// IDPrefix is that of the ids of what the request creates; the record names the first such id that is written. Empty:
	// the resource is known.
	IDPrefix string
	// Recorded is set once the record is committed.
	Recorded atomic.Bool
}

type auditIntentKey struct{}

// WithAuditIntent returns a context whose transactions are those of a request.
func WithAuditIntent(ctx context.Context, intent *AuditIntent) context.Context {
	return context.WithValue(ctx, auditIntentKey{}, intent)
}

// AuditIntentFrom returns the intent of a context, or nil.
func AuditIntentFrom(ctx context.Context) *AuditIntent {
	intent, _ := ctx.Value(auditIntentKey{}).(*AuditIntent)
	return intent
}

type auditRequestKey struct{}

// WithAuditRequest returns a context that tells who makes a request, and which, for what is recorded while it lasts.
func WithAuditRequest(ctx context.Context, entry *AuditEntry) context.Context {
	return context.WithValue(ctx, auditRequestKey{}, entry)
}

// AuditRequestFrom returns what WithAuditRequest was given, or nil.
func AuditRequestFrom(ctx context.Context) *AuditEntry {
	entry, _ := ctx.Value(auditRequestKey{}).(*AuditEntry)
	return entry
}

// AuditHash is the hash of a record.
type AuditHash = [32]byte

// AuditSeal makes the record of a place in the trail: it appends it to dst and returns its time and its hash. It runs in
// the store's writer, and may run again if the transaction does.
type AuditSeal func(dst []byte, sequence uint64, previous AuditHash) (record []byte, at time.Time, hash AuditHash)

// AuditTx is a transaction as those who record it see it: at its end, when its own writes are known.
type AuditTx interface {
	// AppendAudit adds a record to the trail.
	AppendAudit(seal AuditSeal) error
	// AuditHead returns the end of the trail, with what this transaction added.
	AuditHead() AuditHead
	// Appended returns the events that the transaction appended. They must not be changed.
	Appended() []Event
	// FirstID returns the first id with a prefix that the transaction wrote a record under; "" for none.
	FirstID(prefix string) string
	// AfterCommit is that of EventTx.
	AfterCommit(fn func())
}

// AuditHook is called at the end of each transaction of Store.Update that writes anything, inside of it: its records are
// committed with it, and its error makes it fail.
type AuditHook func(ctx context.Context, tx AuditTx) error

// AuditHead is the end of the trail, and how much is kept of it.
type AuditHead struct {
	Sequence uint64 // of the newest record; 0: there never was one
	Hash     AuditHash
	First    uint64 // of the oldest that is kept; Sequence+1: none
	Bytes    int64  // that the kept ones take
}

// AuditRow is a stored record.
type AuditRow struct {
	Sequence uint64
	Time     time.Time
	Record   []byte // canonical
}

// AuditStore keeps the trail. All methods are safe for concurrent use.
type AuditStore interface {
	// RecordAudit runs fn in a transaction of its own that writes nothing but audit records.
	RecordAudit(ctx context.Context, fn func(tx AuditTx) error) error
	// AuditHead returns the committed end of the trail.
	AuditHead() AuditHead
	// AuditRows calls fn with the records from a sequence on, in order, or from it backwards, until fn returns false. The
	// row is valid during the call. What cannot be read is passed over.
	AuditRows(ctx context.Context, from uint64, backwards bool, fn func(row AuditRow) (bool, error)) error
	// AuditCursor returns the sequence up to which a sink has everything; 0 for one that is not known.
	AuditCursor(ctx context.Context, sink string) (uint64, error)
	// SetAuditCursor notes it durably.
	SetAuditCursor(ctx context.Context, sink string, sequence uint64) error
	// TrimAudit removes the oldest records, up to a sequence, as far as old reports that they are; seal makes the record
	// of their removal. It returns how many went. A record that is stamped with a time of the future is taken to be as
	// old as the next one that is not.
	TrimAudit(ctx context.Context, upTo uint64, old func(at time.Time) bool, seal func(through uint64, removed int) AuditSeal) (int, error)
}

// AuditFilter selects records of a list. Zero values select all.
type AuditFilter struct {
	Since, Until time.Time
	Action       string // or the beginning of one, before a *
	Actor        string
	Category     string
	Resource     string // a type, or type/id
	Outcome      string
	Limit        int    // 1 to MaxPageLimit; 0: DefaultPageLimit
	Before       uint64 // only records with a smaller number; 0: all
	Cursor       string // opaque; empty: from the newest on
}

// AuditPage is a page of records, newest first. It may be short, or empty, although there is more: a search ends after
// some time, and goes on at the cursor.
type AuditPage struct {
	Records    []*AuditRecord
	HasMore    bool
	NextCursor string
}

// ReasonAuditFull is the reason of the error of what is not done as the trail has no room to record it.
const ReasonAuditFull = "audit_full"

// AuditService records what is done and shows it. All methods are safe for concurrent use.
//
// It has many methods because whoever records asks first whether and how, and its three readers are too few for an
// interface of their own.
type AuditService interface {
	// Wants reports whether a record of that category, action and outcome would be kept. text says that it is one of those
	// that the level verbose adds.
	Wants(category string, text bool) bool
	// Blocking reports whether what cannot be recorded must not happen.
	Blocking() bool
	// Record keeps an entry that no transaction tells of. In the mode blocking it returns once that is durable, or why it
	// cannot be; else at once.
	Record(ctx context.Context, entry AuditEntry) error
	// SignedIn is Record of a credential that was used, once an hour for each address. keyID is that of an API key, or empty.
	SignedIn(ctx context.Context, entry AuditEntry, keyID string) error
	// Text returns a text as records of the level verbose have it: masked and cut. Below that level it is "".
	Text(text []byte) string
	// FindAudit lists records.
	FindAudit(ctx context.Context, filter AuditFilter) (*AuditPage, error)
	// ExportAudit writes records, oldest first, in one of wire.AuditFormats. What lies between the first and the last record
	// of the time is there without gaps.
	ExportAudit(ctx context.Context, since, until time.Time, format string, w io.Writer) error
	// AuditStatus returns how the trail is.
	AuditStatus(ctx context.Context) (*AuditStatus, error)
}
