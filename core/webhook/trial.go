package webhook

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// TestWebhook implements core.WebhookService. An empty type is the first one of the endpoint.
func (s *Service) TestWebhook(ctx context.Context, id string, kind core.EventType) (*core.Delivery, error) {
	s.mu.Lock()
	ep := s.endpoints[id]
	if ep == nil {
		s.mu.Unlock()
		return nil, core.NotFound("webhook", id)
	}
	p := s.planOf(ep)
	s.mu.Unlock()
	if kind == "" {
		if kind = p.rec.Events[0]; kind == core.AllEvents {
			kind = core.EventExecutionCompleted
		}
	}
	if !slices.Contains(core.PublicEvents, kind) {
		return nil, core.Invalid("event", "%q is not an event type; they are %s", kind, eventNames())
	}
	select {
	case s.tests <- struct{}{}:
		defer func() { <-s.tests }()
	default:
		return nil, core.RateLimited(testsAtOnce, 0, time.Second, "%d tests are under way: wait for one to end", testsAtOnce)
	}
	now := s.clock.Now()
	data, err := json.Marshal(sample(kind, now))
	if err != nil {
		return nil, err
	}
	d := &core.Delivery{
		ID: s.opts.IDs.New(core.PrefixDelivery), WebhookID: id, EventID: s.opts.IDs.New(core.PrefixEvent), Event: kind,
		Status: core.DeliveryPending, Test: true, CreatedAt: now,
	}
	d.Body = envelope(d.EventID, kind, now, data)
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	r := s.send(within, p, d)
	if r.aborted {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return nil, core.Unavailable("stopping", "the service is being stopped")
	}
	s.opts.Observer.AttemptEnded(r.code, r.ok, r.took)
	s.settle(d, p.rec, &r, true, s.clock.Now())
	err = s.opts.Store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error { return tx.PutDelivery(d) })
	if err != nil {
		return nil, err
	}
	s.tell(id)
	copied := *d
	return &copied, nil
}
