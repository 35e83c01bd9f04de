package core

import (
	"context"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What is public of secrets.
type (
	SecretProvider = wire.SecretProvider
	SecretTest     = wire.SecretTest
)

// SecretService describes the providers of secrets. It gives out no values. Methods are safe for concurrent use.
type SecretService interface {
	// FindSecretProviders lists the providers, the built-in ones first, then by name.
	FindSecretProviders(ctx context.Context) ([]SecretProvider, error)
	// TestSecret asks for a secret anew, and reports whether there is one. VALIDATION_ERROR for text that is no reference.
	TestSecret(ctx context.Context, reference string) (*SecretTest, error)
}
