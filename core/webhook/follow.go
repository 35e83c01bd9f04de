package webhook

import (
	"context"
	"errors"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

// Notify reports that public events were committed. It does not block.
func (s *Service) Notify() { pause.Wake(s.wake) }

// runReader follows the log until ctx ends.
func (s *Service) runReader(ctx context.Context) {
	retry := pause.Backoff{First: firstRetry, Most: maxRetry}
	for {
		err := s.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if retry.Fresh() {
				s.log.Warn("events cannot be turned into deliveries yet", "error", err)
			}
			s.pause(ctx, retry.Next())
			continue
		}
		retry.Reset()
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
	}
}

func (s *Service) follow(ctx context.Context) error {
	for {
		s.reading.Lock()
		more, err := s.page(ctx)
		s.reading.Unlock()
		if err != nil || !more {
			return err
		}
	}
}

// catchUp turns all events that are committed into deliveries. Who adds or changes an endpoint calls it first, in the
// same critical section: the endpoint gets what is written from then on. reading is held.
func (s *Service) catchUp(ctx context.Context) error {
	for until := s.opts.Store.LastSeq(); s.position.Load() < until; {
		if _, err := s.page(ctx); err != nil {
			return err
		}
	}
	return nil
}

// page turns the next events of the log into deliveries, and reports whether there may be more. reading is held.
func (s *Service) page(ctx context.Context) (more bool, err error) {
	if s.fanning != nil { // else what is stored is stored again, under other ids
		if _, err := s.fanning.known(ctx, s.opts.Store); err != nil {
			return false, err
		}
		s.fanning = nil
	}
	if err := s.clearNow(ctx); err != nil { // one that is deleted takes none
		return false, err
	}
	last := s.opts.Store.LastSeq()
	from := s.position.Load()
	if last <= from {
		return false, nil
	}
	var enabled []*endpoint
	var recs []*core.WebhookRecord
	s.mu.Lock()
	for _, ep := range s.endpoints {
		if ep.rec.Enabled {
			enabled, recs = append(enabled, ep), append(recs, ep.rec)
		}
	}
	s.mu.Unlock()
	if len(enabled) == 0 {
		s.position.Store(last)
		return false, nil
	}
	events, more, err := s.opts.Store.Log(ctx, from, pageEvents)
	if err != nil {
		return false, err
	}
	now := s.clock.Now().Round(0) // as it is stored
	if !now.After(s.fanned) {
		now = s.fanned.Add(1) // so that what comes later is due later
	}
	s.fanned = now
	var rows []*core.Delivery
	var to []*endpoint
	begin := 0
	for i := range events {
		e := &events[i]
		on := subject{event: e}
		for n, rec := range recs {
			ok, err := s.wants(ctx, &rec.Webhook, &on)
			if err != nil {
				return false, err
			}
			if ok {
				rows, to = append(rows, s.newDelivery(rec.ID, e, now)), append(to, enabled[n])
			}
		}
		if len(rows) >= pageRows {
			if err := s.fanOut(ctx, events[begin:i+1], rows, to, now); err != nil {
				return false, err
			}
			begin, rows, to = i+1, nil, nil
		}
	}
	if len(rows) > 0 {
		if err := s.fanOut(ctx, events[begin:], rows, to, now); err != nil {
			return false, err
		}
	}
	if more {
		s.position.Store(events[len(events)-1].Seq)
	} else {
		s.position.Store(max(last, s.position.Load()))
	}
	return s.position.Load() < s.opts.Store.LastSeq(), nil
}

func (s *Service) newDelivery(webhookID string, e *core.Event, now time.Time) *core.Delivery {
	return &core.Delivery{
		ID: s.opts.IDs.New(core.PrefixDelivery), WebhookID: webhookID, EventID: e.ID, Event: e.Type, Seq: e.Seq, Subject: e.Subject,
		Status: core.DeliveryPending, CreatedAt: now, NextAt: &now,
	}
}

// fanOut stores deliveries with how far the log was read, and offers them to their windows.
func (s *Service) fanOut(ctx context.Context, events []core.Event, rows []*core.Delivery, to []*endpoint, now time.Time) error {
	seq := events[len(events)-1].Seq
	s.mu.Lock()
	for _, ep := range to {
		ep.storing++
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, ep := range to {
			ep.storing--
			if ep.unsettle() {
				s.look(ep)
			}
		}
	}()
	err := s.opts.Store.Update(ctx, func(tx core.Tx) error {
		for _, d := range rows {
			if err := tx.PutDelivery(d); err != nil {
				return err
			}
		}
		return tx.SetCursor(cursorName, seq)
	})
	if errors.Is(err, core.ErrInDoubt) {
		s.fanning = &unsure{
			stored: func(ctx context.Context) (bool, error) {
				stored, err := s.opts.Store.Cursor(ctx, cursorName)
				return stored >= seq, err
			},
			then: func() { s.reread(seq, to) },
		}
	}
	if err != nil {
		return err
	}
	s.position.Store(seq)
	s.kept = seq
	s.tellOf(to)
	next := 0
	for _, d := range rows { // in the order of events
		for next < len(events) && events[next].Seq < d.Seq {
			next++
		}
		if next < len(events) && events[next].Seq == d.Seq {
			e := &events[next]
			s.bodies.put(d.Seq, s.bodyOf(e))
			next++
		}
	}
	s.opts.Observer.EventsFanned(len(events), len(rows), max(0, now.Sub(events[0].Time)))
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, d := range rows {
		s.offer(to[i], d)
	}
	s.dispatch()
	return nil
}

// reread has deliveries that are stored up to a position of the log read from the store. reading is held.
func (s *Service) reread(seq uint64, to []*endpoint) {
	s.position.Store(seq)
	s.kept = seq
	s.tellOf(to)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, ep := range to {
		s.look(ep)
	}
}

// keepCursor stores how far the log was read, where that is beyond what the last deliveries told: the log is kept from
// there on. reading is held.
func (s *Service) keepCursor(ctx context.Context) error {
	seq := s.position.Load()
	if seq == s.kept || s.fanning != nil {
		return nil
	}
	if err := s.opts.Store.Update(ctx, func(tx core.Tx) error { return tx.SetCursor(cursorName, seq) }); err != nil {
		return err
	}
	s.kept = seq
	return nil
}
