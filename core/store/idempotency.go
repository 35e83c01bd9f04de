package store

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/store/kv"
)

// ClaimIdempotency implements core.Tx.
func (t *tx) ClaimIdempotency(claim *core.IdempotencyClaim, resourceID string, now time.Time) error {
	if claim == nil {
		return nil
	}
	hash := idempotencyHash(claim.Scope, claim.Key)
	key := t.take(func(b []byte) []byte { return appendIdempotencyKey(b, hash) })
	old, err := t.idempotency(key, claim.Key)
	if err != nil {
		return err
	}
	if old != nil {
		if !t.w.s.forgotten(old.ClaimedAt, now) {
			return core.Conflict("idempotency key", claim.Key, "", "the idempotency key was used before")
		}
		t.delete(t.take(func(b []byte) []byte { return appendIdempotencyIndex(b, claimedMs(old.ClaimedAt), hash) }))
	}
	rec := core.IdempotencyRecord{IdempotencyClaim: *claim, ResourceID: resourceID, ClaimedAt: now}
	if err := t.set(t.take(func(b []byte) []byte { return appendIdempotencyIndex(b, claimedMs(now), hash) }), nil); err != nil {
		return err
	}
	return t.setJSON(key, &rec)
}

// AnswerIdempotency implements core.Tx. The first answer stays: a second one changes nothing. NOT_FOUND if
// the key was never claimed, or so long ago that it was forgotten.
func (t *tx) AnswerIdempotency(rec *core.IdempotencyRecord) error {
	hash := idempotencyHash(rec.Scope, rec.Key)
	key := t.take(func(b []byte) []byte { return appendIdempotencyKey(b, hash) })
	old, err := t.idempotency(key, rec.Key)
	if err != nil {
		return err
	}
	if old == nil {
		return core.NotFound("idempotency key", rec.Key)
	}
	if old.Status != 0 {
		return nil
	}
	old.Status, old.Headers, old.Body = rec.Status, rec.Headers, rec.Body
	return t.setJSON(key, old)
}

func (t *tx) idempotency(key []byte, name string) (*core.IdempotencyRecord, error) {
	value, err := t.get(key)
	if err != nil || value == nil {
		return nil, err
	}
	rec := new(core.IdempotencyRecord)
	return rec, decodeJSON("idempotency key", name, value, rec)
}

// FindIdempotency implements core.IdempotencyReader.
func (s *Store) FindIdempotency(ctx context.Context, scope, key string, now time.Time) (*core.IdempotencyRecord, error) {
	var rec *core.IdempotencyRecord
	err := s.view(ctx, func(txn kv.Snapshot) error {
		value, err := get(txn, appendIdempotencyKey(nil, idempotencyHash(scope, key)))
		if err != nil || value == nil {
			return err
		}
		found := new(core.IdempotencyRecord)
		if err := decodeJSON("idempotency key", key, value, found); err != nil {
			return err
		}
		if !s.forgotten(found.ClaimedAt, now) {
			rec = found
		}
		return nil
	})
	return rec, err
}

// forgotten reports whether a key that was claimed then counts no more. A step of the clock ends no key: what was made with it
// would be made again.
func (s *Store) forgotten(claimed, now time.Time) bool {
	if now.Sub(claimed) < core.IdempotencyTTL {
		return false
	}
	s.clock.observe(s.opts.Clock.Now()) // the step may be younger than the last look of RunMaintenance
	return cutoff{before: now.Add(1 - core.IdempotencyTTL), now: now, steps: s.clock.all()}.passed(claimed)
}

func claimedMs(t time.Time) uint64 { return uint64(max(t.UnixMilli(), 0)) }
