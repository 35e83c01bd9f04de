package cluster

import (
	"context"
	"fmt"

	"github.com/wardroom/wardroom/sdk/plugin"
)

// health asks the cluster for its version, which every account may read, and tells what cannot be watched.
func (s *store) health(ctx context.Context) plugin.Health {
	health := plugin.Health{Status: plugin.StatusOK}
	note := func(name, status, text string) {
		health.Checks = append(health.Checks, plugin.Check{Name: name, Status: status, Text: text})
		if status == plugin.StatusFailed && health.Status != plugin.StatusFailed || status == plugin.StatusDegraded && health.Status == plugin.StatusOK {
			health.Status, health.Reason = status, text
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.timeout)
	defer cancel()
	err := s.ask(func(conn *connection) error { return conn.rest.Get().AbsPath("/version").Do(ctx).Error() })
	if err != nil {
		e := s.config.fault(ctx, err, "get", "/version")
		note("cluster", plugin.StatusFailed, e.Message+"; "+e.Hint)
	} else {
		note("cluster", plugin.StatusOK, "")
	}
	s.mu.Lock()
	unwatched := len(s.unwatched)
	s.mu.Unlock()
	if unwatched > 0 {
		note("watch", plugin.StatusDegraded, fmt.Sprintf("%d secrets are read every %s, because the verb watch is missing in the role of the provider", unwatched, s.config.poll))
	} else {
		note("watch", plugin.StatusOK, "")
	}
	return health
}
