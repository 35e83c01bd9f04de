package api

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
	"github.com/wardroom/wardroom/sdk/wire"
)

// retryDeliveriesRequest selects failed deliveries of an endpoint.
type retryDeliveriesRequest struct {
	Since  string `json:"since" check:"min=1,max=64" doc:"RFC 3339; only deliveries that were made after it." example:"2026-01-02T15:04:05Z"`
	Status string `json:"status" enum:"failed" doc:"What is retried; nothing else can be."`
	Event  string `json:"event" enum:"execution.started,execution.completed,execution.failed,execution.cancelled,agent.connected,agent.disconnected,agent.unhealthy,pattern.created,pattern.updated,pattern.deleted,system.alert,thread.blocked,thread.completed,thread.failed,managed_agent.blocked,managed_agent.login_required,managed_agent.failed,execution.deleted" doc:"Only of this type."`
	DryRun bool   `json:"dryRun" doc:"Only count them."`
	Cursor string `json:"cursor" check:"max=1024" doc:"nextCursor of the answer before."`
}

// maxRetryPages bounds the deliveries that one request makes due, in pages of the list: each is a commit of the store.
const maxRetryPages = 5

// retryDelivery makes a delivery due. The key of the request is claimed after it: a crash in between costs a repeat a 409
// that says that the delivery waits, and no second delivery.
func (p webhookPart) retryDelivery(c *call, _ emptyRequest) (answer, error) {
	ctx := c.detached()
	claim := core.IdempotencyFrom(ctx)
	d, err := p.service.RetryDelivery(core.WithIdempotency(ctx, nil), c.param("webhookId"), c.param("deliveryId"))
	if err != nil {
		return answer{}, err
	}
	if claim != nil {
		err := c.s.opts.Idempotency.Update(ctx, func(tx core.Tx) error {
			return tx.ClaimIdempotency(claim, d.ID, c.s.opts.Clock.Now())
		})
		if err != nil {
			c.s.log.Warn("idempotency key of a retry not kept", "request", c.id, "delivery", d.ID, "error", err)
		}
	}
	return retryAnswer(d.WebhookID, d.ID), nil
}

// recoverDeliveryRetry answers a repeated retry whose first answer was never given.
func (p webhookPart) recoverDeliveryRetry(c *call, id string) (answer, error) {
	return retryAnswer(c.param("webhookId"), id), nil
}

func retryAnswer(webhookID, id string) answer {
	return accepted("", wire.DeliveryRetry{DeliveryID: id, WebhookID: webhookID, Status: core.DeliveryPending})
}

func (p webhookPart) retryDeliveries(c *call, req retryDeliveriesRequest) (answer, error) {
	var since time.Time
	if req.Since != "" {
		var err error
		if since, err = time.Parse(time.RFC3339, req.Since); err != nil {
			return answer{}, core.Invalid("since", "must be an RFC 3339 time such as 2026-01-02T15:04:05Z, not %q", schema.Clip(req.Since))
		}
	}
	out := wire.DeliveriesRetried{WebhookID: c.param("webhookId"), Status: core.DeliveryFailed}
	ids, next, err := p.failedDeliveries(c.ctx, since, core.DeliveryFilter{
		WebhookID: out.WebhookID, Status: core.DeliveryFailed, Event: core.EventType(req.Event),
		Page: core.Page{Limit: core.MaxPageLimit, Cursor: req.Cursor},
	})
	if err != nil {
		return answer{}, err
	}
	out.Count, out.HasMore, out.NextCursor = len(ids), next != "", next
	if req.DryRun {
		return ok(out), nil
	}
	out.Status = core.DeliveryPending
	if out.Count, err = p.retryAll(c.ctx, out.WebhookID, ids); err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusAccepted, body: out}, nil
}

// failedDeliveries returns the deliveries of so many pages of a list that were made after a time, oldest first, and the
// cursor of the next page; "" when there is none. Those that were retried and failed again meanwhile lie before the
// cursor: walking on by it comes to an end, however fast they fail.
func (p webhookPart) failedDeliveries(
	ctx context.Context, since time.Time, filter core.DeliveryFilter,
) (ids []string, next string, err error) {
	for range maxRetryPages {
		found, info, err := p.service.FindDeliveries(ctx, filter)
		if err != nil {
			return nil, "", err
		}
		next = info.NextCursor
		for _, d := range found {
			if !d.CreatedAt.After(since) {
				next = ""
				break
			}
			if !d.Test {
				ids = append(ids, d.ID)
			}
		}
		if next == "" {
			break
		}
		filter.Cursor = next
	}
	slices.Reverse(ids)
	return ids, next, nil
}

// retryAll makes deliveries due, one after the other, and counts them. What is no longer failed, or gone, is passed over.
func (p webhookPart) retryAll(ctx context.Context, webhookID string, ids []string) (count int, err error) {
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return count, err
		}
		_, err := p.service.RetryDelivery(ctx, webhookID, id)
		switch core.ErrorCode(err) {
		case "":
			count++
		case core.CodeNotFound, core.CodeConflict:
		default:
			return count, err
		}
	}
	return count, nil
}
