package appliance

import (
	"cmp"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/config"
	"github.com/wardroom/wardroom/core/limits"
)

// burstOf is how many seconds of requests may come at once where the configuration does not say.
const burstOf = 2

// limitRules returns the limits of rate and of origin that the configuration has.
func limitRules(c *config.Config) (limits.Rules, error) {
	rates, network := &c.Security.RateLimit, &c.Security.Network
	rules := limits.Rules{
		Limited: rates.Enabled, Limits: limits.Standard, Holds: limits.Holds{Streams: rates.Open.Streams, Sockets: rates.Open.Terminals},
	}
	if rates.Numbers() {
		rules.Limits = limits.Options{
			Global: rateOf(rates.Global), PerClient: rateOf(rates.PerClient),
			PerPattern: limits.PerMinute(rates.PerPattern.RequestsPerMinute),
		}
	}
	var err error
	if network.IPAllowlist.Enabled {
		if rules.Allowed, err = prefixes(network.IPAllowlist.Ranges); err != nil {
			return rules, core.Invalid("security.network.ipAllowlist.ranges", "%s", err)
		}
	}
	if rules.Proxies, err = prefixes(network.TrustedProxies); err != nil {
		return rules, core.Invalid("security.network.trustedProxies", "%s", err)
	}
	return rules, nil
}

func rateOf(r config.Rate) limits.Rate {
	burst := cmp.Or(r.BurstSize, burstOf*r.RequestsPerSecond)
	return limits.Rate{PerSecond: float64(r.RequestsPerSecond), Burst: burst}
}
