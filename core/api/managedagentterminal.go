package api

import (
	"github.com/wardroom/wardroom/core"
)

// managedAgentTerminal hands the connection to the service, which upgrades it. Who may only read gets a
// terminal that takes no input.
func (s *Server) managedAgentTerminal(c *call) error {
	if s.streams.draining() {
		return core.Unavailable("stopping", "the service is stopping")
	}
	id := c.param("agentId")
	readOnly, err := c.looksOnly(c.query.boolean("readonly") || c.watching)
	if err != nil {
		return err
	}
	request := c.entry("")
	r := c.r.WithContext(core.WithAuditRequest(c.ctx, &request))
	// Its origin was checked by the rule of the whole API; the terminal's own rule does not know the
	// configured origins.
	r.Header = r.Header.Clone()
	r.Header.Del("Origin")
	return s.opts.ManagedAgents.ServeTerminal(c.w, r, id, readOnly)
}

// looksOnly reports whether a terminal of the caller takes no input: because none is wanted, or because they may not type.
func (c *call) looksOnly(wanted bool) (bool, error) {
	if wanted {
		return true, nil
	}
	err := c.mayAlso(actionInput)
	if err != nil && core.ErrorCode(err) == core.CodeForbidden {
		return true, nil
	}
	return false, err
}
