package api

import (
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// maskedSecret stands for a secret wherever it is not shown.
const maskedSecret = "whsec_***"

// webhookBody is an endpoint on the wire.
type webhookBody struct {
	ID                string                 `json:"id"`
	URL               string                 `json:"url"`
	Events            []core.EventType       `json:"events" doc:"* is every public event."`
	Secret            string                 `json:"secret" doc:"Masked, but for the one answer after it was made." example:"whsec_***"`
	Headers           map[string]string      `json:"headers" doc:"Sent with each delivery."`
	Enabled           bool                   `json:"enabled"`
	DisabledReason    string                 `json:"disabledReason,omitempty" doc:"Why the service disabled it."`
	DisabledAt        *timestamp             `json:"disabledAt,omitempty"`
	Retries           int                    `json:"retries" doc:"Attempts after the first."`
	Timeout           int64                  `json:"timeout" doc:"Milliseconds of one attempt."`
	Filters           webhookFiltersBody     `json:"filters"`
	Ordered           bool                   `json:"ordered" doc:"Of one execution, an event waits until the one before has come to its end."`
	ClientCertificate string                 `json:"clientCertificate,omitempty" doc:"PEM; its key is never shown."`
	CA                string                 `json:"ca,omitempty" doc:"PEM; absent: the system's."`
	Declared          bool                   `json:"declared" doc:"In the configuration: it cannot be changed here."`
	SecretRotatesAt   *timestamp             `json:"secretRotatesAt,omitempty" doc:"Until then deliveries carry the signature of the former secret as well."`
	CreatedBy         string                 `json:"createdBy,omitempty"`
	CreatedAt         timestamp              `json:"createdAt"`
	UpdatedAt         timestamp              `json:"updatedAt"`
	Statistics        *webhookStatisticsBody `json:"statistics,omitempty" doc:"Left out of lists."`
}

// webhookFiltersBody restricts the events of an endpoint.
type webhookFiltersBody struct {
	Pattern  []string          `json:"pattern,omitempty" check:"max=1000" doc:"Names, for every event that names a pattern."`
	Metadata map[string]string `json:"metadata,omitempty" doc:"Of the execution; every value must be equal."`
}

type webhookStatisticsBody struct {
	Total          int64   `json:"deliveriesTotal" doc:"That came to their end."`
	Succeeded      int64   `json:"deliveriesSucceeded"`
	Failed         int64   `json:"deliveriesFailed"`
	Pending        int64   `json:"deliveriesPending" doc:"That wait for an attempt."`
	AverageLatency float64 `json:"averageLatency" doc:"Milliseconds, of the attempts that succeeded."`
}

// newWebhookBody renders an endpoint; whole ones have statistics.
func newWebhookBody(w *core.Webhook, whole bool) webhookBody {
	body := webhookBody{
		ID: w.ID, URL: w.URL, Events: w.Events, Secret: maskedSecret, Headers: w.Headers, Enabled: w.Enabled,
		DisabledReason: w.DisabledReason, DisabledAt: stamp(w.DisabledAt), Retries: w.Retries, Timeout: w.TimeoutMs,
		Filters: webhookFiltersBody(w.Filters), Ordered: w.Ordered, ClientCertificate: w.ClientCert, CA: w.CA,
		Declared: w.Declared, SecretRotatesAt: stamp(w.RotatesAt), CreatedBy: w.CreatedBy,
		CreatedAt: timestamp(w.CreatedAt), UpdatedAt: timestamp(w.UpdatedAt),
	}
	if w.Secret != "" {
		body.Secret = w.Secret
	}
	if body.Events == nil {
		body.Events = []core.EventType{}
	}
	if body.Headers == nil {
		body.Headers = map[string]string{}
	}
	if whole {
		st := webhookStatisticsBody(w.Statistics)
		body.Statistics = &st
	}
	return body
}

type webhookList struct {
	Webhooks []webhookBody `json:"webhooks"`
	wire.PageInfo
}

func newWebhookList(found []*core.Webhook, p wire.PageInfo) webhookList {
	list := webhookList{
		Webhooks: make([]webhookBody, len(found)),
		PageInfo: p,
	}
	for i, w := range found {
		list.Webhooks[i] = newWebhookBody(w, false)
	}
	return list
}
