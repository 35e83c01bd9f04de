package webhook

import (
	"context"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
)

// FindWebhooks implements core.WebhookService. The cursor is the id of the last row.
func (s *Service) FindWebhooks(ctx context.Context, filter core.WebhookFilter) ([]*core.Webhook, core.PageInfo, error) {
	ids := s.ids()
	if filter.CreatedBy != "" {
		s.mu.Lock()
		ids = slices.DeleteFunc(ids, func(id string) bool {
			e := s.endpoints[id]
			return e == nil || e.rec.CreatedBy != filter.CreatedBy
		})
		s.mu.Unlock()
	}
	ids, info, err := core.PageOf(ids, filter.Page, core.PrefixWebhook, func(id string) string { return id })
	if err != nil {
		return nil, core.PageInfo{}, err
	}
	rows := make([]*core.Webhook, 0, len(ids))
	for _, id := range ids {
		w, err := s.FindWebhook(ctx, id)
		if core.ErrorCode(err) == core.CodeNotFound {
			continue // deleted meanwhile
		}
		if err != nil {
			return nil, core.PageInfo{}, err
		}
		rows = append(rows, w)
	}
	return rows, info, nil
}

// FindWebhook implements core.WebhookService.
func (s *Service) FindWebhook(ctx context.Context, id string) (*core.Webhook, error) {
	rec, err := s.record(id)
	if err != nil {
		return nil, err
	}
	return s.view(ctx, rec, "")
}

func (s *Service) record(id string) (*core.WebhookRecord, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ep := s.endpoints[id]
	if ep == nil {
		return nil, core.NotFound("webhook", id)
	}
	return ep.rec, nil
}

// view is a record as others see it.
func (s *Service) view(ctx context.Context, rec *core.WebhookRecord, secret string) (*core.Webhook, error) {
	w := rec.Webhook
	w.Secret = secret
	w.Headers = shownHeaders(&w)
	if w.Statistics.Succeeded > 0 {
		w.Statistics.AverageLatency = rec.LatencySumMs / float64(w.Statistics.Succeeded)
	}
	filter := core.DeliveryFilter{WebhookID: rec.ID, Status: core.DeliveryPending, Page: core.Page{Limit: 1}}
	_, info, err := s.opts.Store.FindDeliveries(ctx, filter)
	if err != nil {
		return nil, err
	}
	w.Statistics.Pending = int64(info.Total)
	return &w, nil
}

// CreateWebhook implements core.WebhookService.
func (s *Service) CreateWebhook(ctx context.Context, spec core.WebhookSpec) (*core.Webhook, error) {
	rec := &core.WebhookRecord{Webhook: newWebhook(spec, s.clock.Now())}
	rec.ID = s.opts.IDs.New(core.PrefixWebhook)
	rec.CreatedBy = core.PrincipalFrom(ctx).ID
	text, err := s.complete(rec, spec)
	if err != nil {
		return nil, err
	}
	if err := s.add(ctx, rec); err != nil {
		return nil, err
	}
	return s.view(ctx, rec, text)
}

// complete checks a new record and seals its secrets. It returns the secret.
func (s *Service) complete(rec *core.WebhookRecord, spec core.WebhookSpec) (string, error) {
	found := checkWebhook(&rec.Webhook, spec.ClientKey, s.config.Load().Guard)
	checkSecret(&found, spec.Secret)
	if err := core.InvalidAll("webhook", found); err != nil {
		return "", err
	}
	text := spec.Secret
	if text == "" {
		text = newSecret()
	}
	var err error
	rec.SealedKey = s.sealKey(rec.ID, spec.ClientKey)
	if rec.SealedHeaders, err = s.sealHeaders(rec.ID, rec.Headers); err != nil {
		return "", err
	}
	rec.Sealed, err = s.sealSecrets(rec.ID, []secret{{Text: text}})
	return text, err
}

// add stores a new endpoint. All events before are dealt with by then, so that it gets none of them.
func (s *Service) add(ctx context.Context, rec *core.WebhookRecord) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	s.records.Lock()
	defer s.records.Unlock()
	if err := s.clear(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	full := len(s.endpoints) >= maxEndpoints
	s.mu.Unlock()
	if full {
		return core.RateLimited(maxEndpoints, 0, 0, "there are %d webhooks, more are not taken: delete some", maxEndpoints)
	}
	return s.save(ctx, rec, core.EventWebhookCreated, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.put(rec)
	})
}

// save stores a record with the event that tells of it and how far the log was read, and calls then, which takes it over. reading and
// records are held. Once begun it is awaited, and a commit in doubt is found out about: what is stored and what is known never differ.
func (s *Service) save(ctx context.Context, rec *core.WebhookRecord, kind core.EventType, then func()) error {
	seq := s.position.Load()
	err := s.opts.Store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		if err := tx.PutWebhook(rec); err != nil {
			return err
		}
		if err := tx.ClaimIdempotency(core.IdempotencyFrom(ctx), rec.ID, s.clock.Now()); err != nil {
			return err
		}
		if err := tx.Append(endpointEvent(kind, rec, s.clock.Now())); err != nil {
			return err
		}
		return tx.SetCursor(cursorName, seq)
	})
	if err == nil {
		s.kept = seq
	}
	return s.outcome(err, &unsure{stored: s.hasRecord(rec), then: then})
}

// change stores what fn makes of a copy of an endpoint's record. fn replaces what it points to. secrets are nil when
// they cannot be read.
func (s *Service) change(ctx context.Context, id string, fn func(rec *core.WebhookRecord, secrets []secret) error) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	if err := s.catchUp(ctx); err != nil {
		return err
	}
	s.records.Lock()
	defer s.records.Unlock()
	if err := s.clear(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	ep := s.endpoints[id]
	if ep == nil {
		s.mu.Unlock()
		return core.NotFound("webhook", id)
	}
	rec, secrets := *ep.rec, ep.secrets
	s.mu.Unlock()
	if err := fn(&rec, secrets); err != nil {
		return err
	}
	return s.save(ctx, &rec, core.EventWebhookUpdated, func() { s.changed(ep, &rec) })
}

// changed takes over the new record of an endpoint. records is held.
func (s *Service) changed(ep *endpoint, rec *core.WebhookRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ep.closeTransport()
	if rec.Enabled && !ep.rec.Enabled {
		ep.failures, ep.allowed = 0, startAllowance
	}
	if rec.Ordered && !ep.rec.Ordered {
		ep.known = false
	}
	s.put(rec)
	if !rec.Enabled {
		ep.forget()
	}
	s.look(ep)
	s.list(ep)
	s.dispatch()
}

// UpdateWebhook implements core.WebhookService.
func (s *Service) UpdateWebhook(ctx context.Context, id string, patch core.WebhookPatch) (*core.Webhook, error) {
	text, enabled := "", false
	err := s.change(ctx, id, func(rec *core.WebhookRecord, secrets []secret) (err error) {
		if rec.Declared {
			return declaredConflict(id)
		}
		enabled = patch.Enabled != nil && *patch.Enabled && !rec.Enabled
		text, err = s.patch(rec, secrets, patch)
		return err
	})
	if err != nil {
		return nil, err
	}
	if enabled {
		if err := s.redrive(ctx, id); err != nil {
			s.log.Warn("what waits for a webhook that was enabled keeps its times", "webhook", id, "error", err)
		}
	}
	rec, err := s.record(id)
	if err != nil {
		return nil, err
	}
	return s.view(ctx, rec, text)
}

// redrive makes what waits for an endpoint due.
func (s *Service) redrive(ctx context.Context, id string) error {
	return s.replan(ctx, id, func(_ *core.Delivery, now time.Time) time.Time { return now })
}

// patch changes a record, and returns its new secret if it got one.
func (s *Service) patch(rec *core.WebhookRecord, secrets []secret, p core.WebhookPatch) (string, error) {
	now := s.clock.Now()
	former := rec.URL
	rec.UpdatedAt = now
	set(&rec.URL, p.URL)
	set(&rec.Events, p.Events)
	var given map[string]string
	if p.Headers != nil {
		if given = *p.Headers; given == nil {
			given = map[string]string{}
		}
	}
	headers, kept := keepHidden(given, rec.Headers)
	if p.Headers != nil {
		rec.Headers = headers
		var err error
		if rec.SealedHeaders, err = s.sealHeaders(rec.ID, rec.Headers); err != nil {
			return "", err
		}
	}
	set(&rec.Retries, p.Retries)
	set(&rec.TimeoutMs, p.TimeoutMs)
	set(&rec.Filters, p.Filters)
	set(&rec.Ordered, p.Ordered)
	set(&rec.ClientCert, p.ClientCert)
	set(&rec.CA, p.CA)
	if p.Enabled != nil {
		rec.Enabled = *p.Enabled
		rec.DisabledReason, rec.DisabledAt, rec.FailingSince = "", nil, nil
	}
	key, err := s.openKey(rec.ID, rec.SealedKey)
	switch {
	case p.ClientKey != nil:
		key = *p.ClientKey
		rec.SealedKey = s.sealKey(rec.ID, key)
	case p.ClientCert != nil && *p.ClientCert == "":
		key, rec.SealedKey = "", nil
	case err != nil:
		return "", err
	}
	var found problems
	if p.URL != nil {
		found = checkWebhook(&rec.Webhook, key, s.config.Load().Guard)
	} else { // one that a later configuration refuses may still be changed otherwise
		found = checkSettings(&rec.Webhook, key)
	}
	if !sameServer(former, rec.URL) { // else who may change an endpoint, but not see what it sends, would be sent it
		for _, name := range kept {
			found.add("headers."+name, "has a value that is not shown, which was given for %s: give it again for another server, or leave the header out", hostOf(former))
		}
	}
	overlap := s.config.Load().RotationOverlap
	if p.Overlap != nil {
		overlap = *p.Overlap
	}
	if overlap < 0 || overlap > maxOverlap {
		found.add("overlap", "must be between 0 and %d milliseconds", maxOverlap.Milliseconds())
	}
	if p.Secret != nil {
		checkSecret(&found, *p.Secret)
	}
	if err := core.InvalidAll("webhook", found); err != nil || p.Secret == nil {
		return "", err
	}
	text := *p.Secret
	if text == "" {
		text = newSecret()
	}
	return text, s.setSecret(rec, secrets, text, overlap)
}

// setSecret makes a secret the newest one; the one before it signs as well for overlap.
func (s *Service) setSecret(rec *core.WebhookRecord, secrets []secret, text string, overlap time.Duration) (err error) {
	now := s.clock.Now()
	list := rotate(secrets, text, now, now.Add(overlap))
	rec.RotatesAt = lastUntil(list)
	rec.Sealed, err = s.sealSecrets(rec.ID, list)
	return err
}

func set[T any](to *T, from *T) {
	if from != nil {
		*to = *from
	}
}

// DeleteWebhook implements core.WebhookService.
func (s *Service) DeleteWebhook(ctx context.Context, id string) error {
	return s.remove(ctx, id, false)
}

func (s *Service) remove(ctx context.Context, id string, declared bool) error {
	s.reading.Lock()
	defer s.reading.Unlock()
	s.records.Lock()
	defer s.records.Unlock()
	if err := s.clear(ctx); err != nil {
		return err
	}
	rec, err := s.record(id)
	if err != nil {
		return err
	}
	if rec.Declared && !declared {
		return declaredConflict(id)
	}
	err = s.opts.Store.Update(context.WithoutCancel(ctx), func(tx core.Tx) error {
		if err := tx.DeleteWebhook(id); err != nil {
			return err
		}
		return tx.Append(endpointEvent(core.EventWebhookDeleted, rec, s.clock.Now()))
	})
	return s.outcome(err, &unsure{stored: s.lacksRecord(id), then: func() { s.removed(id) }})
}

// removed forgets an endpoint that was deleted. records is held.
func (s *Service) removed(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ep := s.endpoints[id]
	delete(s.endpoints, id)
	ep.gone = true
	ep.forget()
	for j := range s.running {
		if j.ep == ep && j.cancel != nil {
			j.cancel()
		}
	}
	ep.closeTransport()
}
