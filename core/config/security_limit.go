package config

import (
	"net/netip"
	"net/url"
)

// RateLimit bounds how often requests may come.
type RateLimit struct {
	// Count requests. Without numbers below, each client may send 1000 reads, 200 other requests and 100 executions of
	// patterns a minute. A client is who the credential says, else an address. Requests beyond that get 429.
	Enabled bool `json:"enabled"`
	// All clients together.
	Global Rate `json:"global"`
	// Each client.
	PerClient Rate `json:"perClient"`
	// Executions of each pattern, whoever starts them.
	PerPattern PerPattern `json:"perPattern"`
	// What each client may have open at once.
	Open OpenLimits `json:"open"`
}

// Rate is how many requests may come.
type Rate struct {
	// Requests a second in the long run. 0: no limit.
	RequestsPerSecond int `json:"requestsPerSecond" check:"min=0,max=1000000"`
	// Requests at once, after a rest. 0: those of two seconds.
	BurstSize int `json:"burstSize" check:"min=0,max=1000000"`
}

// PerPattern is how often one pattern may be executed.
type PerPattern struct {
	// Executions a minute. 0: no limit.
	RequestsPerMinute int `json:"requestsPerMinute" check:"min=0,max=1000000"`
}

// OpenLimits are what one client may have open at once. A client is who the credential says, else an address.
type OpenLimits struct {
	// Streams of events, logs and threads. 0: no limit but server.maxConnections.
	Streams int `json:"streams" check:"min=0,max=1000000"`
	// Terminals. 0: no limit.
	Terminals int `json:"terminals" check:"min=0,max=1000000"`
	// Connections of agents, by who made them. 0: no limit.
	Agents int `json:"agents" check:"min=0,max=1000000"`
	// Executions that wait or run, and inputs of batches that are not over: a batch is refused in whole where there is no room
	// for all of its inputs. It counts for callers with a credential. 0: no limit but that of the queue.
	Executions int `json:"executions" check:"min=0,max=1000000"`
}

// Numbers reports whether any limit is given.
func (l RateLimit) Numbers() bool {
	return l.Global.RequestsPerSecond > 0 || l.PerClient.RequestsPerSecond > 0 || l.PerPattern.RequestsPerMinute > 0
}

// Network is where requests may come from.
type Network struct {
	// Addresses that are served.
	IPAllowlist IPAllowlist `json:"ipAllowlist"`
	// Networks (CIDR) of proxies before this server. Their X-Forwarded-For is believed, that of others is not.
	TrustedProxies []string `json:"trustedProxies" check:"is=cidr"`
}

// IPAllowlist is the addresses that are served.
type IPAllowlist struct {
	// Refuse requests from addresses that are not in ranges, before their credentials are looked at.
	Enabled bool `json:"enabled"`
	// Networks (CIDR).
	Ranges []string `json:"ranges" check:"is=cidr"`
}

// limits reports what contradicts itself in the two sections.
func (r *ruling) limits(l *RateLimit, n *Network) {
	for name, rate := range map[string]Rate{"global": l.Global, "perClient": l.PerClient} {
		if rate.BurstSize > 0 && rate.RequestsPerSecond == 0 {
			r.refuse("security.rateLimit."+name, "burstSize", "is given without requestsPerSecond")
		}
	}
	if n.IPAllowlist.Enabled && len(n.IPAllowlist.Ranges) == 0 {
		r.refuse("security.network.ipAllowlist", "ranges", "is missing: name at least one network; without any nobody is served")
	}
}

// secureOrLoopback reports whether what is sent to an address cannot be read or changed on its way.
func secureOrLoopback(text string) bool {
	u, err := url.Parse(text)
	if err != nil {
		return false
	}
	if u.Scheme == "https" || u.Hostname() == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return err == nil && addr.IsLoopback()
}
