package core

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixTrigger begins the ids of triggers.
const PrefixTrigger = "trig_"

// What is public of triggers, as it is stored.
type (
	SignatureScheme = wire.SignatureScheme
	TriggerOutcome  = wire.TriggerOutcome
	TriggerRun      = wire.TriggerRun
	TriggerReceipt  = wire.TriggerReceipt
	TriggerTrial    = wire.TriggerTrial
)

// Event types of triggers. They belong to one trigger and stay inside.
const (
	EventTriggerCreated EventType = "trigger.created"
	EventTriggerUpdated EventType = "trigger.updated" // also given another secret
	EventTriggerDeleted EventType = "trigger.deleted"
	EventTriggerRun     EventType = "trigger.run" // a TriggerRun
)

// Trigger is a trigger without its history. Values are snapshots. It is not wire.Trigger, which has the secret among its
// fields: what is stored must have no place for one in clear.
type Trigger struct {
	ID            string             `json:"id"`
	Name          string             `json:"name"`
	Scheme        SignatureScheme    `json:"scheme"`
	Secret        string             `json:"-"` // only in the answer that made it
	RotatesAt     *time.Time         `json:"secretRotatesAt,omitempty"`
	Enabled       bool               `json:"enabled"`
	BlockedReason string             `json:"blockedReason,omitempty"`
	Events        []string           `json:"events,omitempty"`
	Mapping       map[string]string  `json:"mapping,omitempty"`
	RatePerMinute int                `json:"ratePerMinute"`
	Target        Target             `json:"target"`
	Counts        wire.TriggerCounts `json:"counts"`
	Runs          []TriggerRun       `json:"runs,omitempty"` // newest first
	CreatedBy     string             `json:"createdBy"`
	CreatedAt     time.Time          `json:"createdAt"`
	UpdatedAt     time.Time          `json:"updatedAt"`
	// Principal is whose rights its runs have.
	Principal PrincipalRecord `json:"principal"`
}

// TriggerRecord is a trigger as it is stored.
type TriggerRecord struct {
	Trigger
	Sealed    []byte `json:"sealed"`              // the secrets, encrypted, the newest first
	SealedEnv []byte `json:"sealedEnv,omitempty"` // the environment of a thread, encrypted
}

// TriggerSpec describes a trigger to create. Zero values are defaults.
type TriggerSpec struct {
	Name          string
	Scheme        SignatureScheme // "": wardroom
	Secret        string          // "": one is made
	Events        []string
	Mapping       map[string]string
	RatePerMinute int // 0: DefaultTriggerRate
	Target        Target
	Env           map[string]string // of a thread
	Disabled      bool
}

// DefaultTriggerRate is how many requests a minute a trigger takes, unless it says.
const DefaultTriggerRate = 60

// TriggerPatch changes a trigger. Nil fields stay.
type TriggerPatch struct {
	Name          *string
	Enabled       *bool
	Events        *[]string
	Mapping       *map[string]string
	RatePerMinute *int
	Target        *Target
	Env           map[string]string // with Target
}

// MaxTriggerOverlap is how long a former secret of a trigger may be taken at most.
const MaxTriggerOverlap = 7 * 24 * time.Hour

// TriggerRequest is a request to a trigger, as it came in.
type TriggerRequest struct {
	// Header returns the value of a header that was sent once, else "".
	Header func(name string) string
	Body   []byte
}

// TriggerFilter selects triggers of a list. Zero values select all.
type TriggerFilter struct {
	CreatedBy string
	Page
}

// TriggerService starts executions and threads when signed requests come in. Methods are safe for concurrent use.
//
// It has many methods because they are the operations of the interface on one noun, with what is received for it.
type TriggerService interface {
	// CreateTrigger stores a trigger, whose runs have the rights of the principal of ctx, and returns it with its secret,
	// this once. VALIDATION_ERROR; FORBIDDEN for a target that the principal may not start; CONFLICT for a name that is
	// taken; RATE_LIMITED when there are too many.
	CreateTrigger(ctx context.Context, spec TriggerSpec) (*Trigger, error)
	// FindTriggers lists triggers, newest first, without Runs.
	FindTriggers(ctx context.Context, filter TriggerFilter) ([]*Trigger, PageInfo, error)
	// FindTrigger returns one. NOT_FOUND.
	FindTrigger(ctx context.Context, id string) (*Trigger, error)
	// UpdateTrigger changes a trigger, whose runs have the rights of the principal of ctx from then on. Errors as of
	// CreateTrigger; NOT_FOUND.
	UpdateTrigger(ctx context.Context, id string, patch TriggerPatch) (*Trigger, error)
	// RotateTrigger gives a trigger another secret, which is made if secret is empty, and returns it, this once. The former
	// one is taken for overlap, 0 to MaxTriggerOverlap; where secret is the present one, that before it, no longer than it
	// was to be. From then on its runs have the rights of the principal of ctx, who knows the secret. NOT_FOUND,
	// VALIDATION_ERROR, FORBIDDEN.
	RotateTrigger(ctx context.Context, id, secret string, overlap time.Duration) (*Trigger, error)
	// DeleteTrigger removes a trigger. What it started goes on. NOT_FOUND.
	DeleteTrigger(ctx context.Context, id string) error
	// TryTrigger returns what a body would become, without starting anything. NOT_FOUND, VALIDATION_ERROR.
	TryTrigger(ctx context.Context, id string, event string, body []byte) (*TriggerTrial, error)
	// Receive takes a request. UNAUTHORIZED, always the same, for an unknown id and for a signature that is not good;
	// everything else is for who can sign: CONFLICT while the trigger is disabled, RATE_LIMITED, VALIDATION_ERROR,
	// FORBIDDEN, and the errors of the target.
	Receive(ctx context.Context, id string, r TriggerRequest) (*TriggerReceipt, error)
}

// TriggerReader reads stored triggers.
type TriggerReader interface {
	// AllTriggers returns every trigger, oldest first.
	AllTriggers(ctx context.Context) ([]*TriggerRecord, error)
}

// TriggerTx changes triggers.
type TriggerTx interface {
	// PutTrigger inserts or replaces a trigger.
	PutTrigger(t *TriggerRecord) error
	// FindTriggerRecord returns a trigger as this transaction sees it. NOT_FOUND.
	FindTriggerRecord(id string) (*TriggerRecord, error)
	// DeleteTrigger removes a trigger. An unknown id is no error.
	DeleteTrigger(id string) error
}
