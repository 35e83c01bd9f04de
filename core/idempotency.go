package core

import (
	"context"
	"strings"
	"time"
)

// IdempotencyTTL is how long the first answer to a key is kept.
const IdempotencyTTL = 24 * time.Hour

// IdempotencyClaim is a client's Idempotency-Key on a request that creates work. The service that creates
// the work claims the key in the same transaction, so that a crash can lose neither or both.
type IdempotencyClaim struct {
	Scope    string `json:"scope"`    // see RequestScope: keys of others never collide
	Key      string `json:"key"`      // as the client sent it
	BodyHash string `json:"bodyHash"` // hex SHA-256 of the request's query and body
}

// RequestScope returns the scope of keys that a principal gives with requests to a route. method and path have no spaces,
// so that no two principals share a scope.
func RequestScope(principal, method, path string) string {
	return principal + " " + method + " " + path
}

// Principal returns the id of whoever made the request, and "" for a scope that is not of RequestScope.
func (c *IdempotencyClaim) Principal() string {
	path := strings.LastIndexByte(c.Scope, ' ')
	if path < 0 {
		return ""
	}
	return c.Scope[:max(strings.LastIndexByte(c.Scope[:path], ' '), 0)]
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
