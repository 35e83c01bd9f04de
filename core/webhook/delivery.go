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

// FindDelivery implements core.WebhookService.
func (s *Service) FindDelivery(ctx context.Context, webhookID, id string) (*core.Delivery, *core.DeliveryRequest, error) {
	rec, err := s.record(webhookID)
	if err != nil {
		return nil, nil, err
	}
	d, err := s.opts.Store.FindDelivery(ctx, id)
	if err == nil && d.WebhookID != webhookID {
		err = core.NotFound("delivery", id)
	}
	if err != nil {
		return nil, nil, err
	}
	body, err := s.body(ctx, d)
	if core.ErrorCode(err) == core.CodeNotFound {
		return d, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	shown := *d
	if d.Status != core.DeliveryPending { // as of its last attempt
		shown.Attempts = max(0, d.Attempts-1)
		if shown.Attempts+shown.Manual == 0 {
			shown.FirstAt = nil
		}
	}
	req := &core.DeliveryRequest{URL: rec.URL, Headers: map[string]string{}, Body: body}
	for name, values := range requestHeader(shownHeaders(&rec.Webhook), nil, &shown, body, "Wardroom/"+s.opts.Version, s.clock.Now()) {
		if name != headerSignature && name != headerTimestamp {
			req.Headers[name] = values[0]
		}
	}
	return d, req, nil
}

// RetryDelivery implements core.WebhookService. One that failed begins anew; one that waits has its next attempt now.
func (s *Service) RetryDelivery(ctx context.Context, webhookID, id string) (*core.Delivery, error) {
	s.records.Lock()
	defer s.records.Unlock()
	if err := s.clear(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	ep := s.endpoints[webhookID]
	if ep == nil {
		s.mu.Unlock()
		return nil, core.NotFound("webhook", webhookID)
	}
	was := ep.rec
	due := ep.window[id] != nil // it is under way, or about to be
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
		now := s.clock.Now()
		if d.Status == core.DeliveryPending { // it waits for its next attempt, which is made now
			made, rec = d, was
			if due || d.NextAt == nil || !d.NextAt.After(now) {
				return nil
			}
			d.NextAt = &now
			return tx.PutDelivery(d)
		}
		if d.Status != core.DeliveryFailed {
			return core.Conflict("delivery", id, string(d.Status), "delivery %s is %s; one that failed or waits is retried", id, d.Status)
		}
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
	if made == nil { // it was refused
		return nil, err
	}
	if err := s.outcome(err, &unsure{stored: s.hasDelivery(made), then: func() { s.retried(ep, rec, made) }}); err != nil {
		return nil, err
	}
	copied := *made
	return &copied, nil
}

// retried takes over a delivery that is due again, and the record of its endpoint. records is held.
func (s *Service) retried(ep *endpoint, rec *core.WebhookRecord, made *core.Delivery) {
	s.tell(ep.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	ep.rec = rec
	if h, ok := ep.held[made.Subject]; ok && h.id == made.ID {
		h.next = s.clock.Now()
		ep.held[made.Subject] = h
	}
	if ep.timer != nil {
		ep.timer.Stop()
		ep.timer = nil
	}
	s.look(ep)
	s.dispatch()
}
