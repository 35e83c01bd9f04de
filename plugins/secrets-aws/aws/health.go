package aws

import (
	"context"

	"github.com/wardroom/wardroom/sdk/plugin"
)

// health looks for credentials, and tells how the last call went: a call for nothing but health would cost money.
func (s *store) health(ctx context.Context) plugin.Health {
	health := plugin.Health{Status: plugin.StatusOK}
	note := func(name, status, text string) {
		health.Checks = append(health.Checks, plugin.Check{Name: name, Status: status, Text: text})
		if status == plugin.StatusFailed && health.Status != plugin.StatusFailed {
			health.Status, health.Reason = status, text
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.timeout)
	defer cancel()
	if _, err := s.credentials.Retrieve(ctx); err != nil {
		e := noCredentials()
		note("credentials", plugin.StatusFailed, e.Message+"; "+e.Hint)
		return health
	}
	note("credentials", plugin.StatusOK, "")
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	if last != nil {
		note("service", plugin.StatusFailed, last.Message+"; "+last.Hint)
	} else {
		note("service", plugin.StatusOK, "")
	}
	return health
}
