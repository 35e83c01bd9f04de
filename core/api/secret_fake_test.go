package api_test

import (
	"context"

	"github.com/wardroom/wardroom/core"
)

// fakeSecrets is a core.SecretService of one provider, which has one secret.
type fakeSecrets struct{}

func (fakeSecrets) FindSecretProviders(context.Context) ([]core.SecretProvider, error) {
	return []core.SecretProvider{{Name: "env", Status: "ok"}, {Name: "vault", Plugin: "secrets-vault", Status: "failed", Reason: "it is sealed"}}, nil
}

func (fakeSecrets) TestSecret(_ context.Context, reference string) (*core.SecretTest, error) {
	switch reference {
	case "vault:db#p":
		return &core.SecretTest{Reference: reference, Resolves: true, Provider: "vault", Plugin: "secrets-vault", Version: "7", Size: "16 to 63 bytes"}, nil
	case "vault:db#q":
		return &core.SecretTest{Reference: reference, Provider: "vault", Plugin: "secrets-vault", Code: "NOT_FOUND", Reason: "there is no q"}, nil
	}
	return nil, core.Invalid("reference", "is no reference to a secret")
}
