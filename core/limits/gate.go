package limits

import (
	"net/http"
	"net/netip"
	"sync/atomic"

	"github.com/wardroom/wardroom/core"
)

// Rules are what a Gate goes by. They are immutable.
type Rules struct {
	Limits  Options
	Holds   Holds
	Limited bool     // Limits and Holds are in force
	Allowed Networks // requests come from these only; nil: from anywhere
	Proxies Networks // whose X-Forwarded-For is believed
}

// Gate decides which requests may go on, by where they come from and how many there were. It is safe for concurrent use.
type Gate struct {
	limiter *Limiter
	refused func(client string)
	rules   atomic.Pointer[Rules]
	holds   holds
}

// NewGate makes a Gate. It calls refused for each request that was one too many.
func NewGate(rules Rules, clock core.Clock, refused func(client string)) *Gate {
	g := &Gate{limiter: New(rules.Limits, clock), refused: refused}
	g.rules.Store(&rules)
	return g
}

// Change puts other rules into force. Limits that stay as they are go on counting.
func (g *Gate) Change(rules Rules) {
	if former := g.rules.Swap(&rules); former.Limits != rules.Limits {
		g.limiter.Change(rules.Limits)
	}
}

// Origin returns the address that a request comes from; not valid where that cannot be told.
func (g *Gate) Origin(r *http.Request) netip.Addr { return Origin(r, g.rules.Load().Proxies) }

// Admit returns the address that a request comes from, as it is counted by; FORBIDDEN if nothing may come from there.
func (g *Gate) Admit(r *http.Request) (client string, err error) {
	rules := g.rules.Load()
	addr := Origin(r, rules.Proxies)
	if rules.Allowed != nil && !rules.Allowed.Hold(addr) && !local(r, addr) {
		return "", core.Errorf(core.CodeForbidden, "requests from this address are not allowed")
	}
	return Client(addr), nil
}

// local reports whether a request came over a socket file of this machine.
func local(r *http.Request, addr netip.Addr) bool {
	return !addr.IsValid() && (r.RemoteAddr == "" || r.RemoteAddr[0] == '@' || r.RemoteAddr[0] == '/')
}

// Take counts a request of a client.
func (g *Gate) Take(client string, kind core.RequestKind, pattern string) core.Quota {
	if !g.rules.Load().Limited {
		return core.Quota{Allowed: true}
	}
	q := g.limiter.Take(client, kind, pattern)
	if !q.Allowed {
		g.refused(client)
	}
	return q
}
