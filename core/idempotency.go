package core

import (
	"context"
	"time"
)

// IdempotencyTTL is how long the first answer to a key is kept.
const IdempotencyTTL = 24 * time.Hour

// IdempotencyClaim is a client's Idempotency-Key on a request that creates work. The service that creates
// the work claims the key in the same transaction, so that a crash can lose neither or both.
type IdempotencyClaim struct {
	Scope    string `json:"scope"`    // principal id and route: keys of others never collide
	Key      string `json:"key"`      // as the client sent it
	BodyHash string `json:"bodyHash"` // hex SHA-256 of the request's query and body
}

// IdempotencyRecord is a claimed key.
type IdempotencyRecord struct {
	IdempotencyClaim
	ResourceID string    `json:"resourceId"` // what the first request made
	ClaimedAt  time.Time `json:"claimedAt"`
	// The first answer, once it was given; Status 0 before.
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Body    []byte            `json:"body,omitempty"`
}

type idempotencyKey struct{}

// WithIdempotency returns a context whose next creation claims the key.
func WithIdempotency(ctx context.Context, claim *IdempotencyClaim) context.Context {
	return context.WithValue(ctx, idempotencyKey{}, claim)
}

// IdempotencyFrom returns the claim of ctx, or nil.
func IdempotencyFrom(ctx context.Context) *IdempotencyClaim {
	claim, _ := ctx.Value(idempotencyKey{}).(*IdempotencyClaim)
	return claim
}
