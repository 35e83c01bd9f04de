package webhook

import (
	"context"

	"github.com/wardroom/wardroom/core"
)

// FindDeliveries implements core.WebhookService.
func (s *Service) FindDeliveries(ctx context.Context, filter core.DeliveryFilter) ([]*core.Delivery, core.PageInfo, error) {
	if _, err := s.record(filter.WebhookID); err != nil {
		return nil, core.PageInfo{}, err
	}
	return s.opts.Store.FindDeliveries(ctx, filter)
}

// RetryDelivery implements core.WebhookService.
func (s *Service) RetryDelivery(ctx context.Context, webhookID, id string) (*core.Delivery, error) {
	s.records.Lock()
	defer s.records.Unlock()
	s.mu.Lock()
	ep := s.endpoints[webhookID]
	if ep == nil {
		s.mu.Unlock()
		return nil, core.NotFound("webhook", webhookID)
	}
	was := ep.rec
	s.mu.Unlock()
	var made *core.Delivery
	var rec *core.WebhookRecord
	err := s.opts.Store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		d, err := tx.FindDelivery(id)
		if err != nil {
			return err
		}
		if d.WebhookID != webhookID {
			return core.NotFound("delivery", id)
		}
		if d.Status != core.DeliveryFailed {
			return core.Conflict("delivery", id, string(d.Status), "delivery %s is %s; only one that failed is retried", id, d.Status)
		}
		now := s.clock.Now()
		d.Status, d.NextAt, d.Attempts = core.DeliveryPending, &now, 0
		d.Manual++
		made, rec = d, was
		if err := tx.PutDelivery(d); err != nil || d.Test {
			return err
		}
		changed := *was
		changed.Statistics.Failed = max(0, was.Statistics.Failed-1)
		changed.Statistics.Total = max(0, was.Statistics.Total-1)
		rec = &changed
		return tx.PutWebhook(rec)
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	ep.rec = rec
	s.look(ep)
	s.dispatch()
	copied := *made
	return &copied, nil
}
