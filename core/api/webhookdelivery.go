package api

import (
	"net/http"
	"slices"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// deliveryRoutes are the operations on deliveries of an endpoint.
func (p webhookPart) deliveryRoutes(route func(method, action string, r Route) Route) []Route {
	const one = webhooksPath + "/{webhookId}"
	return []Route{
		route(http.MethodPost, "webhooks.test", Route{
			Path: one + "/test", OperationID: "testWebhook",
			Summary: "Send one made-up event, signed, and tell what the endpoint answered.",
			Description: "data.test is true in it. It is not repeated, and it is sent although the endpoint is disabled or " +
				"does not subscribe to the type. An endpoint that fails is no error of this operation: see status.",
			Body:      &Body{JSON: new(testWebhookRequest)},
			Responses: []Response{{Status: 200, Body: wire.WebhookTest{}, Doc: "What came of it."}},
			Fails:     []int{404}, Handle: decoded(p.testWebhook),
		}),
		route(http.MethodGet, "webhooks.read", Route{
			Path: one + "/deliveries", OperationID: "listDeliveries",
			Summary: "List deliveries to an endpoint, newest first.",
			Query: append(pageParams(),
				Param{Name: "status", Type: ParamString, Enum: words(core.DeliveryStatuses), Doc: "Status."},
				Param{Name: "event", Type: ParamString, Enum: words(core.PublicEvents), Doc: "Type of the event."}),
			Responses: []Response{{Status: 200, Body: deliveryList{}, Doc: "A page of deliveries."}},
			Fails:     []int{404}, Handle: p.listDeliveries,
		}),
		route(http.MethodGet, "webhooks.read", Route{
			Path: one + "/deliveries/{deliveryId}", OperationID: "getDelivery",
			Summary:   "Get one delivery with what is sent and each of its attempts.",
			Responses: []Response{{Status: 200, Body: wire.DeliveryDetail{}, Doc: "The delivery."}},
			Fails:     []int{404}, Handle: p.getDelivery,
		}),
		route(http.MethodPost, "webhooks.retry", Route{
			Path: one + "/deliveries/{deliveryId}/retry", OperationID: "retryDelivery",
			Summary:     "Deliver again what failed, now, with all its attempts anew.",
			Description: "The event keeps its id. One that waits has its next attempt at once; one that succeeded is a 409.",
			Body:        &Body{JSON: new(emptyRequest), Optional: true},
			Responses:   []Response{{Status: 202, Body: wire.DeliveryRetry{}, Doc: "It is due."}},
			Fails:       []int{404, 409}, Creates: true, Recover: p.recoverDeliveryRetry, Handle: decoded(p.retryDelivery),
		}),
		route(http.MethodPost, "webhooks.retry", Route{
			Path: one + "/deliveries/retry", OperationID: "retryDeliveries",
			Summary: "Deliver again what failed, or what failed since a time.",
			Description: "Five hundred at most, the oldest of them first; with hasMore, ask again with nextCursor for those that " +
				"are older still. It may be repeated: what was made due waits and is not made due again. Test events are left out.",
			Body: &Body{JSON: new(retryDeliveriesRequest), Optional: true},
			Responses: []Response{
				{Status: 202, Body: wire.DeliveriesRetried{}, Doc: "They are due."},
				{Status: 200, Body: wire.DeliveriesRetried{}, Doc: "With dryRun: how many would be."},
			},
			Fails: []int{404}, Handle: decoded(p.retryDeliveries),
		}),
	}
}

type testWebhookRequest struct {
	Event string `json:"event" check:"required" enum:"execution.started,execution.completed,execution.failed,execution.cancelled,agent.connected,agent.disconnected,agent.unhealthy,pattern.created,pattern.updated,pattern.deleted,system.alert,thread.blocked,thread.completed,thread.failed,managed_agent.blocked,managed_agent.login_required,managed_agent.failed,execution.deleted" doc:"Type of the made-up event."`
}

func newDeliveryBody(d *core.Delivery) wire.Delivery {
	body := wire.Delivery{
		ID: d.ID, WebhookID: d.WebhookID, EventID: d.EventID, Event: string(d.Event), Subject: d.Subject, Status: d.Status,
		StatusCode: d.StatusCode, Timestamp: d.CreatedAt, Duration: wire.Millis(d.DurationMs),
		Retries: max(0, d.Attempts-1), Attempts: d.Attempts, ManualRetries: d.Manual, LastError: d.LastError,
		NextAt: d.NextAt, CreatedAt: d.CreatedAt, FirstAt: d.FirstAt, Test: d.Test,
		ResponseBody: d.ResponseBody,
	}
	if d.Timestamp != nil {
		body.Timestamp = *d.Timestamp
	}
	return body
}

type deliveryList struct {
	Deliveries []wire.Delivery `json:"deliveries"`
	wire.PageInfo
}

func (p webhookPart) testWebhook(c *call, req testWebhookRequest) (answer, error) {
	d, err := p.service.TestWebhook(c.detached(), c.param("webhookId"), core.EventType(req.Event))
	if err != nil {
		return answer{}, err
	}
	return ok(wire.WebhookTest{
		DeliveryID: d.ID, Event: string(d.Event), Status: d.Status, StatusCode: d.StatusCode, Duration: wire.Millis(d.DurationMs),
		LastError: d.LastError, ResponseBody: d.ResponseBody,
	}), nil
}

func (p webhookPart) getDelivery(c *call) (answer, error) {
	d, request, err := p.service.FindDelivery(c.ctx, c.param("webhookId"), c.param("deliveryId"))
	if err != nil {
		return answer{}, err
	}
	body := wire.DeliveryDetail{Delivery: newDeliveryBody(d), Request: request, AttemptLog: slices.Concat([]wire.DeliveryAttempt{}, d.Former)}
	if d.Timestamp != nil {
		body.AttemptLog = append(body.AttemptLog, wire.DeliveryAttempt{At: *d.Timestamp, StatusCode: d.StatusCode, DurationMs: d.DurationMs, Error: d.LastError})
	}
	return ok(body), nil
}

func (p webhookPart) listDeliveries(c *call) (answer, error) {
	return listed(c, func(page core.Page) ([]*core.Delivery, core.PageInfo, error) {
		return p.service.FindDeliveries(c.ctx, core.DeliveryFilter{
			WebhookID: c.param("webhookId"), Status: core.DeliveryStatus(c.query.text("status")),
			Event: core.EventType(c.query.text("event")), Page: page,
		})
	}, newDeliveryBody, func(rows []wire.Delivery, info wire.PageInfo) any { return deliveryList{rows, info} })
}
