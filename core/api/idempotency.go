package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"sync"

	"github.com/wardroom/wardroom/core"
)

// maxIdempotencyKey bounds an Idempotency-Key, in characters.
const maxIdempotencyKey = 255

// idempotencyKey returns the request's key, or "".
func (c *call) idempotencyKey() (string, error) {
	key, one := single(c.r.Header, "Idempotency-Key")
	if _, given := c.r.Header["Idempotency-Key"]; !given {
		return "", nil
	}
	if !one {
		return "", core.Invalid("Idempotency-Key", "must be given once")
	}
	if key == "" || len(key) > maxIdempotencyKey {
		return "", core.Invalid("Idempotency-Key", "must be 1 to %d characters", maxIdempotencyKey)
	}
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return "", core.Invalid("Idempotency-Key", "must be printable ASCII")
		}
	}
	return key, nil
}

// claim returns the claim that the service stores beside what it creates. The scope holds the path as it was sent, so
// that one key on two patterns is two keys.
func (c *call) claim(key string) *core.IdempotencyClaim {
	h := sha256.New()
	h.Write([]byte(c.r.URL.RawQuery))
	h.Write([]byte{'\n'})
	h.Write(c.body)
	return &core.IdempotencyClaim{
		Scope:    core.RequestScope(c.principal.ID, c.r.Method, c.r.URL.EscapedPath()),
		Key:      key,
		BodyHash: hex.EncodeToString(h.Sum(nil)),
	}
}

func keyConflict(key string) error {
	return core.Conflict("idempotencyKey", key, "", "this Idempotency-Key was used with another request")
}

// once runs a creating handler at most once per key: a second request gets the first one's answer, waiting
// for it if need be.
func (c *call) once(key string) error {
	claim := c.claim(key)
	release, err := c.s.flights.enter(c.ctx, claim)
	if err != nil {
		return err
	}
	defer release()
	rec, err := c.claimed(claim)
	if err != nil {
		return err
	}
	if rec != nil {
		return c.replay(rec)
	}
	c.ctx = core.WithIdempotency(c.ctx, claim)
	a, err := c.route.Handle(c)
	if err == nil {
		err = c.done()
	}
	if err != nil {
		return err
	}
	a = c.remember(claim, a)
	c.respond(a)
	return nil
}

// claimed returns the record of a claim that was made before, or nil.
func (c *call) claimed(claim *core.IdempotencyClaim) (*core.IdempotencyRecord, error) {
	rec, err := c.s.opts.Idempotency.FindIdempotency(c.ctx, claim.Scope, claim.Key, c.s.opts.Clock.Now())
	if err != nil || rec == nil {
		return nil, err
	}
	if rec.BodyHash != claim.BodyHash {
		return nil, keyConflict(claim.Key)
	}
	return rec, nil
}

// replay gives the first answer again. When there is none, the process died or the client left before it
// was given: it is rendered from the resource.
func (c *call) replay(rec *core.IdempotencyRecord) error {
	if rec.Status != 0 {
		c.respond(answer{
			status: rec.Status, location: rec.Headers["Location"], raw: rec.Body, replayed: true,
		})
		return nil
	}
	a, err := c.route.Recover(c, rec.ResourceID)
	if err != nil {
		return err
	}
	a = c.remember(&rec.IdempotencyClaim, a)
	a.replayed = true
	c.respond(a)
	return nil
}

// remember keeps the first answer beside the key and returns it rendered. A failure to keep it is no
// failure of the request: the answer can be rendered from the resource.
func (c *call) remember(claim *core.IdempotencyClaim, a answer) answer {
	a.raw = a.bytesOf()
	rec := &core.IdempotencyRecord{IdempotencyClaim: *claim, Status: a.status, Body: a.raw}
	if a.kept != nil {
		rec.Body = answer{body: a.kept}.bytesOf()
	}
	if a.location != "" {
		rec.Headers = map[string]string{"Location": a.location}
	}
	err := c.s.opts.Idempotency.Update(c.detached(), func(tx core.Tx) error { return tx.AnswerIdempotency(rec) })
	if err != nil {
		c.s.log.Warn("answer to an idempotency key not kept", "request", c.id, "error", err)
	}
	return a
}

// flights lets one request per key through at a time. The zero value is ready.
type flights struct {
	mu    sync.Mutex // guards byKey
	byKey map[flightKey]*flight
}

type flightKey struct{ scope, key string }

type flight struct {
	hash string
	done chan struct{} // closed when the request that holds the key is through
}

// enter takes a key, waiting for whoever holds it. CONFLICT at once when they sent another body.
func (f *flights) enter(ctx context.Context, claim *core.IdempotencyClaim) (release func(), err error) {
	key := flightKey{claim.Scope, claim.Key}
	for {
		f.mu.Lock()
		other := f.byKey[key]
		if other == nil {
			own := &flight{hash: claim.BodyHash, done: make(chan struct{})}
			if f.byKey == nil {
				f.byKey = map[flightKey]*flight{}
			}
			f.byKey[key] = own
			f.mu.Unlock()
			return func() {
				f.mu.Lock()
				delete(f.byKey, key)
				f.mu.Unlock()
				close(own.done)
			}, nil
		}
		f.mu.Unlock()
		if other.hash != claim.BodyHash {
			return nil, keyConflict(claim.Key)
		}
		select {
		case <-other.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
