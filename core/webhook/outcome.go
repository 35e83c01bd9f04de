package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
)

type outcomeKind int

const (
	attempted outcomeKind = iota
	claimed               // the last attempt begins
	postponed             // it waits behind another one
)

// outcome is a change of a delivery that has to be stored.
type outcome struct {
	job    *job
	kind   outcomeKind
	result result
	counts bool // a request was made
	at     time.Time
}

// row returns the delivery as it is stored.
func (o *outcome) row() *core.Delivery {
	d := o.job.d
	if o.kind == claimed {
		c := *d
		c.Attempts++
		return &c
	}
	return d
}

// write queues an outcome. mu is held.
func (s *Service) write(o *outcome) {
	s.outcomes = append(s.outcomes, o)
	pause.Wake(s.writeWake)
}

// runWriter stores outcomes until stop is closed and all there are were tried.
func (s *Service) runWriter(stop <-chan struct{}) {
	retry := pause.Backoff{First: firstRetry, Most: maxRetry}
	for {
		s.mu.Lock()
		batch := s.outcomes[:min(len(s.outcomes), maxOutcomes)]
		s.mu.Unlock()
		if len(batch) == 0 {
			select {
			case <-s.writeWake:
				continue
			default:
			}
			select {
			case <-s.writeWake:
				continue
			case <-stop:
				return
			}
		}
		err := s.store(batch)
		if refused(err) {
			err = s.storeEach(batch)
		}
		if err == nil || errors.Is(err, errAnew) {
			retry.Reset()
			continue
		}
		if retry.Fresh() {
			s.log.Warn("outcomes of deliveries cannot be stored yet", "count", len(batch), "error", err)
		}
		select {
		case <-stop:
			return // the attempts are made again after the next start
		case <-s.after(retry.Next()):
		}
	}
}

// errAnew asks for another look at the queue of outcomes: those of a commit that was in doubt were taken from it.
var errAnew = errors.New("the queue is another one")

// refused reports whether the store will never take what it was given.
func refused(err error) bool {
	switch core.ErrorCode(err) {
	case core.CodeValidation, core.CodeConflict, core.CodeNotFound:
		return true
	}
	return false
}

// storeEach is store for each outcome alone. Those that the store refuses are given up: they must not hold up the others.
func (s *Service) storeEach(batch []*outcome) error {
	for _, o := range batch {
		err := s.store([]*outcome{o})
		if refused(err) {
			s.log.Error("the outcome of a delivery is refused", "delivery", o.job.d.ID, "error", err)
			s.stored([]*outcome{o}, err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// store writes outcomes, the oldest of the queue, with the statistics that follow from them, in one transaction, and
// takes them from the queue. errAnew where the batch is not the head of the queue, or may not be.
func (s *Service) store(batch []*outcome) error {
	s.records.Lock()
	defer s.records.Unlock()
	if s.doubted.Load() != nil {
		if err := s.clear(context.Background()); err != nil {
			return err
		}
		return errAnew
	}
	var live []*outcome
	changed := map[*endpoint]*core.WebhookRecord{}
	var alerts []core.Event
	s.mu.Lock()
	if len(s.outcomes) == 0 || s.outcomes[0] != batch[0] {
		s.mu.Unlock()
		return errAnew
	}
	config := s.config.Load()
	for _, o := range batch {
		ep := o.job.ep
		if ep.gone {
			continue
		}
		live = append(live, o)
		if o.kind != attempted || o.job.d.Test {
			continue
		}
		rec := changed[ep]
		if rec == nil {
			copied := *ep.rec
			rec = &copied
			changed[ep] = rec
		}
		if reason := account(rec, ep, o, config.DisableAfter); reason != "" && rec.Enabled {
			at := o.at
			rec.Enabled, rec.DisabledReason, rec.DisabledAt, rec.UpdatedAt = false, reason, &at, at
			alerts = append(alerts, s.disabledAlert(rec), endpointEvent(core.EventWebhookDisabled, rec, at))
		}
	}
	s.mu.Unlock()
	then := func() { s.accounted(batch, live, changed, len(alerts) > 0) }
	if len(live) == 0 {
		then()
		return nil
	}
	err := s.opts.Store.Update(context.Background(), func(tx core.Tx) error {
		for _, o := range live {
			if err := tx.PutDelivery(o.row()); err != nil {
				return fmt.Errorf("delivery %s: %w", o.job.d.ID, err)
			}
		}
		for _, rec := range changed {
			if err := tx.PutWebhook(rec); err != nil {
				return err
			}
		}
		tx.AfterCommit(func() { s.replace(changed) })
		if len(alerts) > 0 {
			return tx.Append(alerts...)
		}
		return nil
	})
	return s.landed(err, &unsure{stored: s.hasDelivery(live[0].row()), then: then})
}

// accounted takes over outcomes that are stored, those of endpoints that are still there with their records. records is held.
func (s *Service) accounted(batch, live []*outcome, changed map[*endpoint]*core.WebhookRecord, alerts bool) {
	s.replace(changed) // they are already, unless it was in doubt
	s.stored(batch, nil)
	if alerts {
		s.Notify()
	}
	var of []*endpoint
	for _, o := range live {
		of = append(of, o.job.ep)
	}
	s.tellOf(of)
}

// replace makes stored records of endpoints the present ones.
func (s *Service) replace(changed map[*endpoint]*core.WebhookRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ep, rec := range changed {
		was := ep.rec.Enabled
		ep.rec = rec
		if was && !rec.Enabled {
			ep.forget()
			s.log.Warn("a webhook was disabled", "webhook", rec.ID, "reason", rec.DisabledReason)
			s.opts.Observer.EndpointDisabled()
		}
	}
}

// account adds an attempt to the statistics of an endpoint. It returns why the endpoint is to be disabled, or "".
func account(rec *core.WebhookRecord, ep *endpoint, o *outcome, after time.Duration) string {
	switch o.job.d.Status {
	case core.DeliverySucceeded:
		rec.Statistics.Succeeded++
		rec.Statistics.Total++
		rec.LatencySumMs += float64(o.result.took) / float64(time.Millisecond)
	case core.DeliveryFailed:
		rec.Statistics.Failed++
		rec.Statistics.Total++
	}
	if !o.counts {
		return ""
	}
	if o.result.ok {
		rec.FailingSince = nil
		return ""
	}
	if rec.FailingSince == nil {
		since := o.result.began
		rec.FailingSince = &since
	}
	switch {
	case o.result.final && o.result.code != 0:
		return "the receiver answered 410: it is gone"
	case after > 0 && ep.failures+1 >= minFailures && o.at.Sub(*rec.FailingSince) >= after:
		return fmt.Sprintf("every attempt failed since %s; the last one: %s", rec.FailingSince.UTC().Format(time.RFC3339), o.result.why)
	}
	return ""
}

// hostOf returns the host of a url, with its port; "" if it cannot be read.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return u.Host
}

// disabledAlert tells people that an endpoint was disabled. Only the host of its URL is named: the rest may be secret.
func (s *Service) disabledAlert(rec *core.WebhookRecord) core.Event {
	host := hostOf(rec.URL)
	data, _ := json.Marshal(core.Alert{ // texts always have a JSON text
		Severity: core.SeverityWarning,
		Message:  "Webhook " + rec.ID + " to " + host + " was disabled: " + rec.DisabledReason,
		Details:  map[string]any{"webhookId": rec.ID, "host": host, "reason": rec.DisabledReason},
	})
	return core.Event{ID: s.opts.IDs.New(core.PrefixEvent), Type: core.EventSystemAlert, Time: *rec.DisabledAt, Subject: rec.ID, Data: data}
}

// stored takes over what was written, or refused.
func (s *Service) stored(batch []*outcome, refusal error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.outcomes = s.outcomes[len(batch):]; len(s.outcomes) == 0 {
		s.outcomes = nil
	}
	for _, o := range batch {
		ep, d := o.job.ep, o.job.d
		switch {
		case o.kind == claimed:
			err := refusal
			if ep.gone {
				err = core.NotFound("webhook", ep.id)
			}
			o.job.claimed <- err
			continue
		case o.kind == attempted && o.counts && !d.Test:
			ep.failures++
			if o.result.ok {
				ep.failures = 0
			}
		}
		ep.drop(d.ID)
		if o.kind == attempted && d.Status != core.DeliveryPending {
			s.opts.Observer.DeliveryEnded(d.Status)
		}
		if d.Status == core.DeliveryPending && !ep.gone && ep.rec.Enabled {
			s.wakeAt(ep, *d.NextAt)
		}
		s.refill(ep)
		s.list(ep)
	}
	s.dispatch()
}
