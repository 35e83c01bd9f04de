package core

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixWebhook and PrefixDelivery begin the ids of webhooks and deliveries.
const (
	PrefixWebhook  = "wh_"
	PrefixDelivery = "dlv_"
)

// AllEvents as the event type of a webhook subscribes to every public one.
const AllEvents EventType = "*"

// PublicEvents lists the event types that webhooks deliver, those of the interface first, in its order.
var PublicEvents = []EventType{
	EventExecutionStarted, EventExecutionCompleted, EventExecutionFailed, EventExecutionCancelled,
	EventAgentConnected, EventAgentDisconnected, EventAgentUnhealthy,
	EventPatternCreated, EventPatternUpdated, EventPatternDeleted, EventSystemAlert,
	EventPublicThreadBlocked, EventPublicThreadCompleted, EventPublicThreadFailed,
	EventManagedBlocked, EventManagedLogin, EventManagedFailed, EventExecutionDeleted,
}

// Event types of webhooks themselves. Their subject is the endpoint. They stay inside.
const (
	EventWebhookCreated    EventType = "webhook.created"    // WebhookNotice
	EventWebhookUpdated    EventType = "webhook.updated"    // WebhookNotice
	EventWebhookDeleted    EventType = "webhook.deleted"    // WebhookNotice
	EventWebhookDisabled   EventType = "webhook.disabled"   // WebhookNotice: because of its failures
	EventWebhookDeliveries EventType = "webhook.deliveries" // live only, never stored: deliveries were made, attempted or ended
)

// WebhookNotice is the data of the events of a webhook. It has nothing of its address, parts of which may be secret.
type WebhookNotice struct {
	WebhookID string `json:"webhookId"`
	Enabled   bool   `json:"enabled"`
	Declared  bool   `json:"declared,omitempty"`
	Reason    string `json:"reason,omitempty"` // why Wardroom disabled it
}

// NoticeSubject is the subject of the public events of a thread or a managed agent. It is not the subject of its own
// events: those go with it, while what is public goes with the log.
func NoticeSubject(id string) string { return noticePrefix + id }

const noticePrefix = "notices:"

// NoticeOf returns whose public events have a subject; "" if it is no such subject.
func NoticeOf(subject string) string {
	id, ok := strings.CutPrefix(subject, noticePrefix)
	if !ok {
		return ""
	}
	return id
}

// PatternSubject is the subject of the events of a pattern. Users choose names of patterns, ids among them: with the colon,
// which no id and no name has, a pattern's events are never taken for those of an execution or a thread. Events that were
// stored before have the plain name; the log reads them as they are.
func PatternSubject(name string) string { return "patterns:" + name }

// What is public of webhooks and deliveries as it is stored.
type (
	WebhookFilters    = wire.WebhookFilters
	WebhookStatistics = wire.WebhookStatistics
	DeliveryStatus    = wire.DeliveryStatus
)

// States of a delivery.
const (
	DeliveryPending   = wire.DeliveryPending
	DeliverySucceeded = wire.DeliverySucceeded
	DeliveryFailed    = wire.DeliveryFailed
	DeliveryCancelled = wire.DeliveryCancelled
)

// MaskedHeader stands for the value of a header that is not shown.
const MaskedHeader = "***"

// Webhook is an endpoint that events are delivered to. Values are snapshots. It is not wire.Webhook, which has the secret
// among its fields: what is stored must have no place for one in clear.
type Webhook struct {
	ID             string            `json:"id"`
	URL            string            `json:"url"`
	Events         []EventType       `json:"events"`
	Secret         string            `json:"-"` // only in the answer that made it
	Headers        map[string]string `json:"-"` // kept sealed; what may be a credential is core.MaskedHeader for readers
	Enabled        bool              `json:"enabled"`
	DisabledReason string            `json:"disabledReason,omitempty"` // why Wardroom disabled it
	DisabledAt     *time.Time        `json:"disabledAt,omitempty"`
	Retries        int               `json:"retries"` // attempts after the first, 0 to 4
	TimeoutMs      int64             `json:"timeout"` // of one attempt
	Filters        WebhookFilters    `json:"filters"`
	Ordered        bool              `json:"ordered,omitempty"`           // of one execution the next event waits for the one before
	ClientCert     string            `json:"clientCertificate,omitempty"` // PEM; the key is kept sealed
	CA             string            `json:"ca,omitempty"`                // PEM; "": the system's
	Declared       bool              `json:"declared,omitempty"`          // in the configuration: read-only over the API
	RotatesAt      *time.Time        `json:"secretRotatesAt,omitempty"`   // until then the former secret signs as well
	CreatedBy      string            `json:"createdBy,omitempty"`
	CreatedAt      time.Time         `json:"createdAt"`
	UpdatedAt      time.Time         `json:"updatedAt"`
	Statistics     WebhookStatistics `json:"statistics"`
}

// WebhookRecord is a webhook as it is stored.
type WebhookRecord struct {
	Webhook
	// Sealed holds the secrets, encrypted: the newest first, then those that still sign.
	Sealed    []byte `json:"sealed"`
	SealedKey []byte `json:"sealedKey,omitempty"` // of the client certificate
	// SealedHeaders holds the headers, encrypted.
	SealedHeaders []byte `json:"sealedHeaders,omitempty"`
	// PlainHeaders are the headers as releases before stored them. They are sealed at the next start.
	PlainHeaders map[string]string `json:"headers,omitempty"`
	// FailingSince is when the present run of nothing but failures began.
	FailingSince *time.Time `json:"failingSince,omitempty"`
	LatencySumMs float64    `json:"latencySumMs,omitempty"`
}

// WebhookSpec describes a webhook to create. Nil pointers are defaults.
type WebhookSpec struct {
	URL        string
	Events     []EventType
	Secret     string // "": one is made
	Headers    map[string]string
	Enabled    *bool
	Retries    *int
	TimeoutMs  *int64
	Filters    WebhookFilters
	Ordered    bool
	ClientCert string
	ClientKey  string
	CA         string
}

// WebhookPatch changes a webhook. Nil fields stay.
type WebhookPatch struct {
	URL        *string
	Events     *[]EventType
	Secret     *string        // "": one is made; the former one signs as well for Overlap
	Overlap    *time.Duration // 0: the former secret ends at once; nil: the configured one
	Headers    *map[string]string
	Enabled    *bool
	Retries    *int
	TimeoutMs  *int64
	Filters    *WebhookFilters
	Ordered    *bool
	ClientCert *string
	ClientKey  *string
	CA         *string
}

// DeliveryStatuses lists every state.
var DeliveryStatuses = []DeliveryStatus{DeliveryPending, DeliverySucceeded, DeliveryFailed, DeliveryCancelled}

// Delivery is one event on its way to one endpoint, as it is stored; wire.Delivery is what callers see of it, under names
// that the interface gives. Values are snapshots.
type Delivery struct {
	ID           string          `json:"id"`
	WebhookID    string          `json:"webhookId"`
	EventID      string          `json:"eventId"`
	Event        EventType       `json:"event"`
	Seq          uint64          `json:"seq"`               // of the event in the log
	Subject      string          `json:"subject,omitempty"` // of the event
	Status       DeliveryStatus  `json:"status"`
	StatusCode   int             `json:"statusCode,omitempty"` // of the last answer
	Attempts     int             `json:"attempts"`
	Manual       int             `json:"manual,omitempty"` // retries by hand
	Test         bool            `json:"test,omitempty"`
	CreatedAt    time.Time       `json:"createdAt"`
	FirstAt      *time.Time      `json:"firstAt,omitempty"`   // of the first attempt
	Timestamp    *time.Time      `json:"timestamp,omitempty"` // of the last attempt
	NextAt       *time.Time      `json:"nextAt,omitempty"`    // of the next attempt, while pending
	DurationMs   int64           `json:"duration"`            // of the last attempt
	LastError    string          `json:"lastError,omitempty"`
	ResponseBody string          `json:"responseBody,omitempty"` // the beginning of the last answer
	Body         json.RawMessage `json:"-"`                      // only of one whose event is not in the log: a test
	// Former are the attempts before the last one, of which the fields above tell; the oldest first.
	Former []DeliveryAttempt `json:"former,omitempty"`
}

// MaxFormerAttempts bounds Former.
const MaxFormerAttempts = 15

// What is public of the attempts of a delivery.
type (
	DeliveryAttempt = wire.DeliveryAttempt
	DeliveryRequest = wire.DeliveryRequest
)

// DeliveryFilter selects deliveries of a list. Zero values select all.
type DeliveryFilter struct {
	WebhookID string
	Status    DeliveryStatus
	Event     EventType
	Page
}

// WebhookFilter selects endpoints of a list; WebhookFilters are what an endpoint selects events by. Zero values select all.
type WebhookFilter struct {
	CreatedBy string
	Page
}

// WebhookService keeps endpoints and delivers events to them. Methods are safe for concurrent use.
type WebhookService interface {
	WebhookKeeper
	DeliveryService
}

// WebhookKeeper keeps endpoints.
type WebhookKeeper interface {
	// FindWebhooks lists endpoints, newest first, without their secrets.
	FindWebhooks(ctx context.Context, filter WebhookFilter) ([]*Webhook, PageInfo, error)
	// FindWebhook returns one, with statistics. NOT_FOUND.
	FindWebhook(ctx context.Context, id string) (*Webhook, error)
	// CreateWebhook stores an endpoint and returns it with its secret, this once. It gets the events that are
	// written from then on. VALIDATION_ERROR.
	CreateWebhook(ctx context.Context, spec WebhookSpec) (*Webhook, error)
	// UpdateWebhook changes an endpoint; with a new secret it returns that, this once. Enabling one that was
	// disabled makes what waits due. NOT_FOUND; CONFLICT for a declared one; VALIDATION_ERROR.
	UpdateWebhook(ctx context.Context, id string, patch WebhookPatch) (*Webhook, error)
	// DeleteWebhook removes an endpoint; what waits for it is cancelled. NOT_FOUND; CONFLICT for a declared one.
	DeleteWebhook(ctx context.Context, id string) error
	// TestWebhook makes one signed attempt with a made-up event of a type, and returns what came of it. A disabled
	// endpoint is tested as well. NOT_FOUND, VALIDATION_ERROR.
	TestWebhook(ctx context.Context, id string, event EventType) (*Delivery, error)
}

// DeliveryService shows deliveries and makes them anew.
type DeliveryService interface {
	// FindDeliveries lists deliveries of an endpoint, newest first. NOT_FOUND (endpoint).
	FindDeliveries(ctx context.Context, filter DeliveryFilter) ([]*Delivery, PageInfo, error)
	// FindDelivery returns a delivery of an endpoint and what it sends; nil where its event is not stored any more.
	// NOT_FOUND.
	FindDelivery(ctx context.Context, webhookID, id string) (*Delivery, *DeliveryRequest, error)
	// RetryDelivery makes a delivery due now: one that failed with its attempts anew, one that waits with its next one.
	// NOT_FOUND; CONFLICT if it succeeded.
	RetryDelivery(ctx context.Context, webhookID, id string) (*Delivery, error)
}

// WebhookReader reads stored webhooks and deliveries.
type WebhookReader interface {
	// AllWebhooks returns every endpoint, oldest first.
	AllWebhooks(ctx context.Context) ([]*WebhookRecord, error)
	// FindDelivery returns one delivery. NOT_FOUND.
	FindDelivery(ctx context.Context, id string) (*Delivery, error)
	// FindDeliveries lists deliveries, newest first.
	FindDeliveries(ctx context.Context, filter DeliveryFilter) ([]*Delivery, PageInfo, error)
	// DueDeliveries returns up to limit pending deliveries of an endpoint in order of NextAt and ID, after the given
	// place ("", zero time: from the first on), whether due or not.
	DueDeliveries(ctx context.Context, webhookID string, afterTime time.Time, afterID string, limit int) ([]*Delivery, error)
	// FindEvent returns the public event with a sequence, as the log has it. NOT_FOUND once it was trimmed.
	FindEvent(ctx context.Context, seq uint64) (Event, error)
	// Cursor returns how far a consumer is done with the log; 0 for one that is not known.
	Cursor(ctx context.Context, name string) (uint64, error)
}
