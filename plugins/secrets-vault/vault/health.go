package vault

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/wardroom/wardroom/sdk/plugin"
)

// health looks at the server, and tells how the token and the leases are.
func (s *store) health(ctx context.Context) plugin.Health {
	health := plugin.Health{Status: plugin.StatusOK}
	ctx, cancel := context.WithTimeout(ctx, s.config.timeout)
	defer cancel()
	answer, err := s.session.reader.Sys().HealthWithContext(ctx)
	switch {
	case err != nil:
		e := s.config.fault(ctx, err, "say how it is")
		health.Note("server", plugin.StatusFailed, e.Message+"; "+e.Hint)
	case !answer.Initialized:
		health.Note("server", plugin.StatusFailed, "Vault is not initialized; do so with `vault operator init`")
	case answer.Sealed:
		health.Note("server", plugin.StatusFailed, "Vault is sealed; unseal it with `vault operator unseal`")
	default:
		health.Note("server", plugin.StatusOK, "version "+answer.Version)
	}
	t, problem := s.session.current()
	now := s.session.now()
	switch {
	case !t.usable(now) && problem != nil:
		health.Note("token", plugin.StatusFailed, problem.Message+"; "+problem.Hint)
	case !t.usable(now):
		health.Note("token", plugin.StatusDegraded, "there is no token yet; logging in")
	case problem != nil:
		text := problem.Message + "; the present token is used on"
		if !t.expires.IsZero() {
			text += ", and ends in " + left(t.expires, now).Round(time.Second).String()
		}
		health.Note("token", plugin.StatusDegraded, text)
	case t.expires.IsZero():
		health.Note("token", plugin.StatusOK, "it does not end")
	case s.config.Auth.Method == methodToken && !t.renewable:
		text := fmt.Sprintf("the token cannot be renewed and ends in %s; write another one to %s", left(t.expires, now).Round(time.Second), s.config.Auth.TokenFile)
		health.Note("token", plugin.StatusDegraded, text)
	default:
		health.Note("token", plugin.StatusOK, fmt.Sprintf("ends in %s, unless it is renewed before", left(t.expires, now).Round(time.Second)))
	}
	health.Note("leases", plugin.StatusOK, strconv.Itoa(s.leases.number())+" credentials are kept alive")
	return health
}
