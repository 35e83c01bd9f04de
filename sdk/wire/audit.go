package wire

import (
	"encoding/json"
	"time"
)

// Categories of audit records, those of security.audit.events.
const (
	AuditAuthentication = "authentication"
	AuditAuthorization  = "authorization"
	AuditPatterns       = "patterns"
	AuditExecutions     = "executions"
	AuditAgents         = "agents"
	AuditAdmin          = "admin"
)

// AuditCategories lists them.
var AuditCategories = []string{AuditAuthentication, AuditAuthorization, AuditPatterns, AuditExecutions, AuditAgents, AuditAdmin}

// Outcomes of audit records.
const (
	AuditAttempt = "attempt" // it is about to be done, by what cannot be undone
	AuditSuccess = "success"
	AuditFailure = "failure" // it was tried and did not work
	AuditDenied  = "denied"  // it was not allowed
)

// AuditOutcomes lists them.
var AuditOutcomes = []string{AuditAttempt, AuditSuccess, AuditFailure, AuditDenied}

// AuditFormats are the forms of exports: a record a line, rows with a header, and the Common Event Format.
var AuditFormats = []string{"json", "csv", "cef"}

// AuditRecord is one entry of the audit trail. The members stand in the order of the canonical form that is hashed.
type AuditRecord struct {
	Sequence     uint64          `json:"sequence" doc:"Rises by one from record to record."`
	EventID      string          `json:"eventId" doc:"The same in every sink."`
	Timestamp    time.Time       `json:"timestamp"`
	Category     string          `json:"category" enum:"authentication,authorization,patterns,executions,agents,admin"`
	Action       string          `json:"action" example:"executions.create"`
	Outcome      string          `json:"outcome" enum:"attempt,success,failure,denied"`
	Actor        AuditActor      `json:"actor"`
	Resource     AuditResource   `json:"resource"`
	Details      json.RawMessage `json:"details" doc:"Depends on the action and the level."`
	Request      AuditRequest    `json:"request"`
	Redacted     *AuditRedaction `json:"redacted,omitempty" doc:"Present on a record from which what names a person was taken out."`
	PreviousHash string          `json:"previousHash" doc:"Hash of the record before; zeros before the first."`
	Hash         string          `json:"hash" doc:"SHA-256 of the record without this member, in hexadecimal digits; of a redacted one as it was before."`
}

// AuditRedaction proves that it was Wardroom that took something out of a record. The record keeps the hash that it had, so
// that the chain holds; what is left of it is signed by the key of checkpoints.
type AuditRedaction struct {
	At        time.Time `json:"at"`
	Erasure   string    `json:"erasure" doc:"Id of the erasure."`
	PublicKey string    `json:"publicKey" doc:"Ed25519, in base64."`
	Signature string    `json:"signature" doc:"In base64."`
}

// AuditActor is who did it.
type AuditActor struct {
	Type      string `json:"type" doc:"As in a session, or system or agent."`
	ID        string `json:"id"`
	IP        string `json:"ip,omitempty"`
	UserAgent string `json:"userAgent,omitempty"`
}

// AuditResource is what it was done to.
type AuditResource struct {
	Type    string `json:"type"`
	ID      string `json:"id,omitempty"`
	Version string `json:"version,omitempty"`
}

// AuditRequest is the request by which it was done; empty for what was not asked for by one.
type AuditRequest struct {
	Method    string `json:"method,omitempty"`
	Path      string `json:"path,omitempty"`
	RequestID string `json:"requestId,omitempty"`
}

// AuditPage is a page of audit records, newest first. They have no total, and a page may be short although there is more:
// a search ends after some time, and goes on at the cursor.
type AuditPage struct {
	Records    []AuditRecord `json:"records"`
	HasMore    bool          `json:"hasMore"`
	NextCursor string        `json:"nextCursor,omitempty" doc:"cursor of the next page; absent on the last."`
}

// AuditStatus is how the audit trail is.
type AuditStatus struct {
	Enabled   bool        `json:"enabled"`
	Mode      string      `json:"mode" enum:"buffered,blocking"`
	Level     string      `json:"level" enum:"minimal,standard,verbose"`
	Events    []string    `json:"events" doc:"Categories that are recorded."`
	First     uint64      `json:"first" doc:"Sequence of the oldest record that is kept; 0: none."`
	Last      uint64      `json:"last" doc:"Sequence of the newest record; 0: none."`
	Hash      string      `json:"hash" doc:"Of the newest record."`
	Bytes     int64       `json:"bytes" doc:"What the kept records take."`
	Lost      int64       `json:"lost" doc:"Records that could not be kept since the start."`
	KeyID     string      `json:"keyId" doc:"Of the key that signs checkpoints."`
	PublicKey string      `json:"publicKey" doc:"Ed25519, in base64; keep a copy elsewhere."`
	Sinks     []AuditSink `json:"sinks"`
}

// AuditSink is how far a sink has come.
type AuditSink struct {
	Name          string    `json:"name" doc:"Of the plugin."`
	State         string    `json:"state" enum:"ok,behind,failing"`
	Cursor        uint64    `json:"cursor" doc:"Sequence up to which it has every record for sure."`
	Behind        uint64    `json:"behind" doc:"Records that it lacks."`
	BehindSeconds int64     `json:"behindSeconds" doc:"Age of the oldest of them."`
	Rejected      uint64    `json:"rejected" doc:"Records that it refused for good since the start."`
	LastRejected  string    `json:"lastRejected,omitempty" doc:"The eventId of the last record that it refused for good."`
	Error         string    `json:"error,omitempty" doc:"Of the last attempt."`
	Since         time.Time `json:"since,omitzero" doc:"When it began to fail."`
}
