package api

import (
	"net/http"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

const webhooksPath = "/api/webhooks"

func webhookPath(id string) string { return webhooksPath + "/" + id }

// Webhooks makes the operations of endpoints and deliveries, which have what was sent, and what was answered.
func Webhooks(service core.WebhookService) Part {
	return Part{"webhooks", resource{wire.AuditAdmin, true, core.PrefixWebhook}, webhookPart{service}.routes()}
}

type webhookPart struct{ service core.WebhookService }

func (p webhookPart) routes() []Route {
	const one = webhooksPath + "/{webhookId}"
	route := routesOf("webhooks", core.ScopeAdmin, core.ScopeAdmin)
	record := []Response{{Status: 200, Body: wire.Webhook{}, Doc: "The endpoint."}}
	routes := []Route{
		route(http.MethodPost, "webhooks.create", Route{
			Path: webhooksPath, OperationID: "createWebhook", Secret: true,
			Summary: "Have events delivered to an endpoint, from now on.",
			Description: "Only this answer shows the secret; a repeat with the same Idempotency-Key masks it, because " +
				"secrets are kept encrypted only.",
			Body:      &Body{JSON: new(wire.WebhookSpec)},
			Responses: []Response{{Status: 201, Body: wire.Webhook{}, Location: true, Doc: "It is stored."}},
			Fails:     []int{409}, Creates: true, Recover: recoverOne(p.service.FindWebhook, webhookCreated), Handle: decoded(p.createWebhook),
		}),
		route(http.MethodGet, "webhooks.read", Route{
			Path: webhooksPath, OperationID: "listWebhooks", Summary: "List endpoints, newest first.",
			Query:     append(pageParams(), creatorParam),
			Responses: []Response{{Status: 200, Body: webhookList{}, Doc: "A page of endpoints, without statistics."}},
			Handle:    p.listWebhooks,
		}),
		route(http.MethodGet, "webhooks.read", Route{
			Path: one, OperationID: "getWebhook", Summary: "Get one endpoint with its statistics.",
			Responses: record, Fails: []int{404}, Handle: p.getWebhook,
		}),
		route(http.MethodPatch, "webhooks.update", Route{
			Path: one, OperationID: "updateWebhook", Secret: true,
			Summary: "Change an endpoint, or give it a new secret.",
			Description: "Fields that are absent stay; null resets one to its default. A new secret is shown once, here. " +
				"Enabling an endpoint makes due what waits for it. One of the configuration is a 409.",
			Body: &Body{JSON: new(updateWebhookRequest)}, Responses: record, Edits: true,
			Fails: []int{404, 409, 412}, Handle: decoded(p.updateWebhook),
		}),
		route(http.MethodDelete, "webhooks.delete", Route{
			Path: one, OperationID: "deleteWebhook",
			Summary:   "Remove an endpoint. What waits for it is cancelled. One of the configuration is a 409.",
			Responses: []Response{{Status: http.StatusNoContent, Doc: "It is gone."}},
			Edits:     true, Fails: []int{404, 409, 412}, Handle: edits(p.getWebhook, removeOne("webhookId", p.service.DeleteWebhook)),
		}),
	}
	return append(routes, p.deliveryRoutes(route)...)
}

func (p webhookPart) createWebhook(c *call, req wire.WebhookSpec) (answer, error) {
	if err := checkSecret(&req.Secret); err != nil {
		return answer{}, err
	}
	if err := c.checkFilters(req.Filters); err != nil {
		return answer{}, err
	}
	w, err := p.service.CreateWebhook(c.detached(), webhookSpec(&req))
	if err != nil {
		return answer{}, err
	}
	return webhookCreated(w), nil
}

// webhookCreated answers a create. A repeat of it cannot show the secret again: the caller has the one it gave, or rotates.
func webhookCreated(w *core.Webhook) answer {
	a := created(webhookPath(w.ID), newWebhookBody(w, true))
	if w.Secret != "" {
		masked := *w
		masked.Secret = ""
		a.kept = newWebhookBody(&masked, true)
	}
	return a
}

func (p webhookPart) listWebhooks(c *call) (answer, error) {
	return listed(c, func(page core.Page) ([]*core.Webhook, core.PageInfo, error) {
		return p.service.FindWebhooks(c.ctx, core.WebhookFilter{CreatedBy: c.query.text("createdBy"), Page: page})
	}, func(w *core.Webhook) wire.Webhook { return newWebhookBody(w, false) },
		func(rows []wire.Webhook, info wire.PageInfo) any { return webhookList{rows, info} })
}

func (p webhookPart) getWebhook(c *call) (answer, error) {
	return webhookAnswer(p.service.FindWebhook(c.ctx, c.param("webhookId")))
}

func (p webhookPart) updateWebhook(c *call, req updateWebhookRequest) (answer, error) {
	patch, err := req.patch(nullFields(c.body))
	if err != nil {
		return answer{}, err
	}
	if err := c.checkFilters(patch.Filters); err != nil {
		return answer{}, err
	}
	done, err := c.unchanged(func() (answer, error) { return p.getWebhook(c) })
	if err != nil {
		return answer{}, err
	}
	defer done()
	return webhookAnswer(p.service.UpdateWebhook(c.detached(), c.param("webhookId"), patch))
}

// webhookAnswer renders what a service method returned.
func webhookAnswer(w *core.Webhook, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	a := ok(newWebhookBody(w, true))
	a.edited = newWebhookBody(w, false)
	return a, nil
}
