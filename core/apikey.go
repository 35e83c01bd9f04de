package core

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// PrefixAPIKey begins the ids of API keys.
const PrefixAPIKey = "key_"

// What is public of API keys.
type (
	APIKey    = wire.APIKey
	NewAPIKey = wire.NewAPIKey
)

// KeyHash is what is kept of the secret of a key.
type KeyHash struct {
	MAC   []byte     `json:"mac"`             // HMAC-SHA256 of id and secret under the server's pepper
	Until *time.Time `json:"until,omitempty"` // of a former secret: when it ends; nil: with the key
}

// GoodAt reports whether the secret is taken at a time, as long as its key is.
func (h KeyHash) GoodAt(now time.Time) bool { return h.Until == nil || now.Before(*h.Until) }

// APIKeyRecord is a key as it is stored: without Status, which follows from the time, and without a place for a secret in
// clear. Values are snapshots.
type APIKeyRecord struct {
	APIKey
	Hashes []KeyHash `json:"hashes"` // the newest first
}

// StatusAt returns how the key is at a time.
func (r *APIKeyRecord) StatusAt(now time.Time) wire.APIKeyStatus {
	switch {
	case r.RevokedAt != nil:
		return wire.APIKeyRevoked
	case r.ExpiresAt != nil && !now.Before(*r.ExpiresAt):
		return wire.APIKeyExpired
	}
	return wire.APIKeyActive
}

// APIKeySpec describes an API key to create.
type APIKeySpec struct {
	Name   string
	Owner  string // "": the name
	Scopes []string
	Roles  []string
	Life   time.Duration // 0: DefaultKeyLife
	Never  bool          // it never expires; Life is 0 then
}

// Lives of keys, and how long a former secret may be valid after a rotation.
const (
	DefaultKeyLife = 90 * 24 * time.Hour
	MaxKeyLife     = 3650 * 24 * time.Hour
	MaxKeyOverlap  = 30 * 24 * time.Hour
)

// KeyService keeps API keys. Methods are safe for concurrent use.
type KeyService interface {
	// CreateKey stores a key and returns it with its secret, this once. Whoever does not hold the scope admin gives no
	// scope, role or owner that is not their own: FORBIDDEN. VALIDATION_ERROR; CONFLICT for a name that is taken.
	CreateKey(ctx context.Context, spec APIKeySpec) (*NewAPIKey, error)
	// FindKeys lists keys, newest first.
	FindKeys(ctx context.Context, filter APIKeyFilter) ([]*APIKey, PageInfo, error)
	// FindKey returns one. NOT_FOUND.
	FindKey(ctx context.Context, id string) (*APIKey, error)
	// RotateKey gives a key another secret and returns it, this once. The former one is valid for overlap, 0 to
	// MaxKeyOverlap, as long as the key is; what it began ends with it. NOT_FOUND; CONFLICT for a key that is over; VALIDATION_ERROR.
	RotateKey(ctx context.Context, id string, overlap time.Duration) (*NewAPIKey, error)
	// RevokeKey ends a key at once, and for good; one that was revoked stays as it is. NOT_FOUND.
	RevokeKey(ctx context.Context, id string) error
}

// APIKeyFilter selects keys of a list. Zero values select all.
type APIKeyFilter struct {
	Owner     string
	CreatedBy string
	Page
}

// APIKeyReader reads stored keys.
type APIKeyReader interface {
	// FindAPIKey returns one. NOT_FOUND.
	FindAPIKey(ctx context.Context, id string) (*APIKeyRecord, error)
	// FindAPIKeys lists keys, newest first.
	FindAPIKeys(ctx context.Context, filter APIKeyFilter) ([]*APIKeyRecord, PageInfo, error)
}
