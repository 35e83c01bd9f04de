package metrics_test

import (
	"testing"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/metrics"
)

func TestWebhooks(t *testing.T) {
	m, reg := newMetrics()
	m.Webhooks.Watch(func() metrics.WebhookFigures {
		return metrics.WebhookFigures{Endpoints: 3, Disabled: 1, Active: 2, Pending: 40, Behind: 3 * time.Second}
	})
	for _, code := range []int{200, 204, 301, 404, 500, 0, 99, 700} {
		m.Webhooks.AttemptEnded(code, code/100 == 2, time.Second)
	}
	m.Webhooks.DeliveryEnded(core.DeliverySucceeded)
	m.Webhooks.DeliveryEnded(core.DeliveryFailed)
	m.Webhooks.DeliveryEnded(core.DeliveryPending) // is no end
	m.Webhooks.EventsFanned(5, 9, time.Millisecond)
	m.Webhooks.EndpointDisabled()
	expect(t, reg, map[string]float64{
		"service_webhook_attempts_total{answer=2xx}":         2,
		"service_webhook_attempts_total{answer=3xx}":         1,
		"service_webhook_attempts_total{answer=4xx}":         1,
		"service_webhook_attempts_total{answer=5xx}":         1,
		"service_webhook_attempts_total{answer=none}":        3,
		"service_webhook_attempt_duration_seconds{}":         8,
		"service_webhook_deliveries_total{status=succeeded}": 1,
		"service_webhook_deliveries_total{status=failed}":    1,
		"service_webhook_deliveries_total{status=cancelled}": 0,
		"service_webhook_events_total{}":                     5,
		"service_webhook_deliveries_made_total{}":            9,
		"service_webhook_lag_seconds{}":                      1,
		"service_webhook_endpoints_disabled_total{}":         1,
		"service_webhook_endpoints{disabled=false}":          3,
		"service_webhook_endpoints{disabled=true}":           1,
		"service_webhook_attempts_active{}":                  2,
		"service_webhook_deliveries_pending{}":               40,
		"service_webhook_behind_seconds{}":                   3,
	})
}
