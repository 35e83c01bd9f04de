package secrets

import (
	"context"
	"encoding/json"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/secret"
)

// TaskConfig returns the settings of a task with secrets in place of references.
func (o *Source) TaskConfig(ctx context.Context, task *core.Task) (json.RawMessage, error) {
	return o.SecretJSON(ctx, task.Config, secret.Caller{Pattern: task.PatternName, ExecutionID: task.ExecutionID})
}

// CheckSecret refuses a reference that a user wrote and that could never be resolved: no plugin is configured for it, or
// security.secrets.allow does not list it. It asks no provider.
func (s *Service) CheckSecret(ref core.SecretRef) error {
	if _, e := s.providerOf(ref); e != nil {
		return explain(ref, e)
	}
	if !s.config.Load().allows(ref) {
		return notAllowed(ref)
	}
	return nil
}
