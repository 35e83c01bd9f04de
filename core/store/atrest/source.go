package atrest

import (
	"context"
	"errors"
)

// ErrKey marks a master key that is missing, malformed or another one than is needed. Its text is for the operator.
var ErrKey = errors.New("the master key cannot be used")

// Wrapped is a key that is encrypted by a master key.
type Wrapped struct {
	KeyID string `json:"keyId"` // of the master key
	Data  []byte `json:"data"`
}

// KeySource has master keys, which need not leave it. It may be slow and fail: it is asked when a store is opened, when keys
// are changed, and once for each dump and backup. All methods are safe for concurrent use.
type KeySource interface {
	// Wrap encrypts a key by the present master key. about says what it is for, and is authenticated along.
	Wrap(ctx context.Context, key []byte, about string) (Wrapped, error)
	// Unwrap returns what Wrap was given. The error wraps ErrKey when the source has not the master key that it needs.
	Unwrap(ctx context.Context, w Wrapped, about string) ([]byte, error)
	// String names the source in errors and in the status, and never shows a key.
	String() string
}
