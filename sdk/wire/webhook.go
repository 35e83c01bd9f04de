package wire

import "time"

// Webhook is an endpoint that events are delivered to. It is never stored as it is: Secret is in clear where it is shown.
type Webhook struct {
	ID                string             `json:"id"`
	URL               string             `json:"url"`
	Events            []string           `json:"events" doc:"* is every public event."`
	Secret            string             `json:"secret" doc:"Masked, but for the one answer after it was made." example:"whsec_***"`
	Headers           map[string]string  `json:"headers" doc:"Sent with each delivery. Values that may be credentials are *** here; a change that has *** keeps them."`
	Enabled           bool               `json:"enabled"`
	DisabledReason    string             `json:"disabledReason,omitempty" doc:"Why the service disabled it."`
	DisabledAt        *time.Time         `json:"disabledAt,omitempty"`
	Retries           int                `json:"retries" doc:"Attempts after the first."`
	Timeout           Millis             `json:"timeout" doc:"Milliseconds of one attempt."`
	Filters           WebhookFilters     `json:"filters"`
	Ordered           bool               `json:"ordered" doc:"Of one execution, an event waits until the one before has come to its end."`
	ClientCertificate string             `json:"clientCertificate,omitempty" doc:"PEM; its key is never shown."`
	CA                string             `json:"ca,omitempty" doc:"PEM; absent: the system's."`
	Declared          bool               `json:"declared" doc:"In the configuration: it cannot be changed here."`
	SecretRotatesAt   *time.Time         `json:"secretRotatesAt,omitempty" doc:"Until then deliveries carry the signature of the former secret as well."`
	CreatedBy         string             `json:"createdBy,omitempty"`
	CreatedAt         time.Time          `json:"createdAt"`
	UpdatedAt         time.Time          `json:"updatedAt"`
	Statistics        *WebhookStatistics `json:"statistics,omitempty" doc:"Left out of lists."`
}

// WebhookFilters restrict the events of an endpoint. Empty ones restrict nothing.
type WebhookFilters struct {
	Pattern  []string          `json:"pattern,omitempty" check:"max=1000" doc:"Names, for every event that names a pattern."`
	Metadata map[string]string `json:"metadata,omitempty" doc:"Of the execution; every value must be equal."`
}

// WebhookStatistics count the deliveries to an endpoint.
type WebhookStatistics struct {
	Total          int64   `json:"deliveriesTotal" doc:"That came to their end."`
	Succeeded      int64   `json:"deliveriesSucceeded"`
	Failed         int64   `json:"deliveriesFailed"`
	Pending        int64   `json:"deliveriesPending" doc:"That wait for an attempt."`
	AverageLatency float64 `json:"averageLatency" doc:"Milliseconds, of the attempts that succeeded."`
}

// WebhookSpec asks for an endpoint. Its bounds keep nonsense out; the service checks the rest.
type WebhookSpec struct {
	URL               string            `json:"url" check:"required,min=1,max=2048" doc:"https, and no redirects." example:"https://hooks.example.com/wardroom"`
	Events            []string          `json:"events" check:"required,min=1,max=100" doc:"Types of events; * is every public one." example:"[\"execution.completed\",\"execution.failed\"]"`
	Secret            string            `json:"secret,omitempty" check:"min=1,max=1024" doc:"That deliveries are signed with. Default: one is made."`
	Headers           map[string]string `json:"headers,omitempty" doc:"Sent with each delivery, besides the service's own."`
	Enabled           *bool             `json:"enabled,omitempty" doc:"Default: true."`
	Retries           *int              `json:"retries,omitempty" check:"min=0,max=4" doc:"Attempts after the first: 1 minute, 5 minutes, 30 minutes and 2 hours later. Default: 3."`
	Timeout           Millis            `json:"timeout,omitempty" check:"min=1,max=300000" doc:"Milliseconds of one attempt. Default: 30000."`
	Filters           *WebhookFilters   `json:"filters,omitempty" doc:"Default: every event of the types."`
	Ordered           bool              `json:"ordered,omitempty" doc:"Of one execution, an event waits until the one before has come to its end."`
	ClientCertificate string            `json:"clientCertificate,omitempty" check:"max=65536" doc:"PEM to identify ourselves with, together with clientKey."`
	ClientKey         string            `json:"clientKey,omitempty" check:"max=65536" doc:"PEM; never shown again."`
	CA                string            `json:"ca,omitempty" check:"max=262144" doc:"PEM of the authorities that the endpoint's certificate must be from. Default: the system's."`
	// IdempotencyKey of sdk/client makes it safe to send the request again: it goes as a header. The answer to a repeat has
	// the secret masked.
	IdempotencyKey string `json:"-"`
}
