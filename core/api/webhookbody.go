package api

import (
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// maskedSecret stands for a secret wherever it is not shown.
const maskedSecret = "whsec_***"

// newWebhookBody renders an endpoint; whole ones have statistics.
func newWebhookBody(w *core.Webhook, whole bool) wire.Webhook {
	body := wire.Webhook{
		ID: w.ID, URL: w.URL, Events: eventNames(w.Events), Secret: maskedSecret, Headers: w.Headers, Enabled: w.Enabled,
		DisabledReason: w.DisabledReason, DisabledAt: w.DisabledAt, Retries: w.Retries, Timeout: wire.Millis(w.TimeoutMs),
		Filters: w.Filters, Ordered: w.Ordered, ClientCertificate: w.ClientCert, CA: w.CA, Declared: w.Declared,
		SecretRotatesAt: w.RotatesAt, CreatedBy: w.CreatedBy, CreatedAt: w.CreatedAt, UpdatedAt: w.UpdatedAt,
	}
	if w.Secret != "" {
		body.Secret = w.Secret
	}
	if whole {
		body.Statistics = &w.Statistics
	}
	return body
}

func eventNames(types []core.EventType) []string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return names
}

type webhookList struct {
	Webhooks []wire.Webhook `json:"webhooks"`
	wire.PageInfo
}
