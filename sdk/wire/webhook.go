package wire

import "time"

// Webhook is an endpoint that events are delivered to. It is never stored as it is: Secret is in clear where it is shown.
type Webhook struct {
	ID                string             `json:"id"`
	URL               string             `json:"url"`
	Events            []string           `json:"events" doc:"* is every public event."`
	Secret            string             `json:"secret" doc:"Masked, but for the one answer after it was made." example:"whsec_***"`
	Headers           map[string]string  `json:"headers" doc:"Sent with each delivery."`
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
