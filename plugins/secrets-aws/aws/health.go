package aws

import (
	"context"

	"github.com/wardroom/wardroom/sdk/plugin"
)

// health looks for credentials, and tells how the last call went: a call for nothing but health would cost money.
func (s *store) health(ctx context.Context) plugin.Health {
	health := plugin.Health{Status: plugin.StatusOK}
	ctx, cancel := context.WithTimeout(ctx, s.config.timeout)
	defer cancel()
	if _, err := s.credentials.Retrieve(ctx); err != nil {
		e := noCredentials()
		health.Note("credentials", plugin.StatusFailed, e.Message+"; "+e.Hint)
		return health
	}
	health.Note("credentials", plugin.StatusOK, "")
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if last != nil {
		health.Note("service", plugin.StatusFailed, last.Message+"; "+last.Hint)
	} else {
		health.Note("service", plugin.StatusOK, "")
	}
	return health
}
