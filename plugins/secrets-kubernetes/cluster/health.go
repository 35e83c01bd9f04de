package cluster

import (
	"context"
	"fmt"

	"github.com/wardroom/wardroom/sdk/plugin"
)

// health asks the cluster for its version, which every account may read, and tells what cannot be watched.
func (s *store) health(ctx context.Context) plugin.Health {
	health := plugin.Health{Status: plugin.StatusOK}
	ctx, cancel := context.WithTimeout(ctx, s.config.timeout)
	defer cancel()
	err := s.ask(func(conn *connection) error { return conn.rest.Get().AbsPath("/version").Do(ctx).Error() })
	if err != nil {
		e := s.config.fault(ctx, err, "get", "/version")
		health.Note("cluster", plugin.StatusFailed, e.Message+"; "+e.Hint)
	} else {
		health.Note("cluster", plugin.StatusOK, "")
	}
	s.mu.Lock()
	unwatched := len(s.unwatched)
	s.mu.Unlock()
	if unwatched > 0 {
		health.Note("watch", plugin.StatusDegraded, fmt.Sprintf("%d secrets are read every %s, because the verb watch is missing in the role of the provider", unwatched, s.config.poll))
	} else {
		health.Note("watch", plugin.StatusOK, "")
	}
	return health
}
