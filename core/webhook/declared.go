package webhook

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oklog/ulid/v2"

	"github.com/wardroom/wardroom/core"
)

func declaredConflict(id string) error {
	return core.Conflict("webhook", id, "", "webhook %s is declared in the configuration file: change it there", id)
}

// declaredID is the id of an endpoint of the configuration. It follows from URL and events, so that the deliveries of
// an endpoint stay with it whatever else changes. n tells apart those that have both in common.
func declaredID(spec *core.WebhookSpec, n int) string {
	events := make([]string, len(spec.Events))
	for i, t := range spec.Events {
		events[i] = string(t)
	}
	slices.Sort(events)
	sum := sha256.Sum256([]byte(fmt.Sprintf("%s\n%s\n%d", spec.URL, strings.Join(events, ","), n)))
	var id ulid.ULID
	copy(id[6:], sum[:]) // the time stays 0
	return core.PrefixWebhook + id.String()
}

// declaredIDs returns the ids of all endpoints of the configuration, in their order.
func declaredIDs(specs []core.WebhookSpec) []string {
	ids := make([]string, 0, len(specs))
	for i := range specs {
		n := 0
		id := declaredID(&specs[i], n)
		for slices.Contains(ids, id) {
			n++
			id = declaredID(&specs[i], n)
		}
		ids = append(ids, id)
	}
	return ids
}

// checkDeclared checks the endpoints of a configuration. Paths begin with endpoints[i].
func checkDeclared(c *Config) error {
	guard := c.withDefaults().Guard
	var all []core.Problem
	for i, spec := range c.Declared {
		w := newWebhook(spec, core.SystemClock{}.Now())
		found := checkWebhook(&w, spec.ClientKey, guard)
		checkSecret(&found, spec.Secret)
		if spec.Secret == "" {
			found.add("secret", "must be given: nobody could learn one that is made")
		}
		for _, p := range found {
			p.Path = fmt.Sprintf("webhooks.endpoints[%d].%s", i, p.Path)
			all = append(all, p)
		}
	}
	return core.InvalidAll("webhooks.endpoints", all)
}

// declare makes the endpoints of the configuration what it says, and deletes those that are in it no longer.
func (s *Service) declare(ctx context.Context, specs []core.WebhookSpec) error {
	if err := checkDeclared(s.config.Load()); err != nil {
		return err
	}
	ids := declaredIDs(specs)
	for i, id := range ids {
		if err := s.declareOne(ctx, id, specs[i]); err != nil {
			return err
		}
	}
	for _, id := range s.ids() {
		rec, err := s.record(id)
		if err != nil || !rec.Declared || slices.Contains(ids, id) {
			continue
		}
		if err := s.remove(ctx, id, true); err != nil && core.ErrorCode(err) != core.CodeNotFound {
			return err
		}
	}
	return nil
}

func (s *Service) declareOne(ctx context.Context, id string, spec core.WebhookSpec) error {
	made := &core.WebhookRecord{Webhook: newWebhook(spec, s.clock.Now())}
	made.ID, made.Declared, made.CreatedBy = id, true, core.System.ID
	if _, err := s.complete(made, spec); err != nil {
		return err
	}
	s.mu.Lock()
	ep := s.endpoints[id]
	var have *core.WebhookRecord
	var secrets []secret
	if ep != nil {
		have, secrets = ep.rec, ep.secrets
	}
	s.mu.Unlock()
	if have == nil {
		return s.add(ctx, made)
	}
	sameSecret := len(secrets) > 0 && secrets[0].Text == spec.Secret
	key, err := s.openKey(id, have.SealedKey)
	if sameSecret && err == nil && key == spec.ClientKey && sameSettings(&have.Webhook, &made.Webhook) {
		return nil
	}
	enabled := false
	err = s.change(ctx, id, func(rec *core.WebhookRecord, secrets []secret) error {
		enabled = !rec.Enabled && made.Enabled
		w := made.Webhook
		w.CreatedAt, w.Statistics, w.RotatesAt = rec.CreatedAt, rec.Statistics, rec.RotatesAt
		rec.Webhook, rec.SealedKey, rec.SealedHeaders = w, made.SealedKey, made.SealedHeaders
		if enabled {
			rec.FailingSince = nil
		}
		if sameSecret {
			return nil
		}
		return s.setSecret(rec, secrets, spec.Secret, s.config.Load().RotationOverlap)
	})
	if err == nil && enabled {
		err = s.redrive(ctx, id)
	}
	return err
}

// sameSettings reports whether what the configuration says of an endpoint is the same.
func sameSettings(a, b *core.Webhook) bool {
	return a.URL == b.URL && slices.Equal(a.Events, b.Events) && maps.Equal(a.Headers, b.Headers) && a.Enabled == b.Enabled &&
		a.Retries == b.Retries && a.TimeoutMs == b.TimeoutMs && a.Ordered == b.Ordered && a.ClientCert == b.ClientCert &&
		a.CA == b.CA && slices.Equal(a.Filters.Pattern, b.Filters.Pattern) && maps.Equal(a.Filters.Metadata, b.Filters.Metadata) &&
		a.Declared == b.Declared && a.DisabledReason == b.DisabledReason
}
