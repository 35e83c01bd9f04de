package pluginhost

import (
	"math/rand/v2"
	"time"
)

// Policy says how a plugin that fails is treated.
type Policy struct {
	// Backoff is the wait after the first failure; each further one waits Factor times longer, up to Max. A
	// random part of up to Jitter (a share, 0.2 is a fifth) is added or taken away.
	Backoff, Max time.Duration
	Factor       float64
	Jitter       float64
	// Quarantine is how many crashes within Window put the plugin into quarantine. A binary that is missing
	// or wrong and settings that are refused are no crashes: they are tried again for ever.
	Quarantine int
	Window     time.Duration
	// Healthy is how long the plugin must be ready for its failures to be forgotten.
	Healthy time.Duration
}

// DefaultPolicy is that of the appliance: an accident costs 50 ms, so that agents are adopted again before anybody looks; a crash loop
// ends after 8 crashes, a little over two minutes.
func DefaultPolicy() Policy {
	return Policy{
		Backoff: 50 * time.Millisecond, Max: time.Minute, Factor: 4, Jitter: 0.2,
		Quarantine: 8, Window: 30 * time.Minute, Healthy: 10 * time.Minute,
	}
}

// breaker counts the failures of one plugin. It is not safe for concurrent use.
type breaker struct {
	policy  Policy
	crashes []time.Time // within the window, oldest first
	streak  int         // failures since the last success that lasted
	random  func() float64
}

func newBreaker(p Policy) *breaker { return &breaker{policy: p, random: rand.Float64} }

// fail records a failure and returns how long to wait, or that the plugin is to be put into quarantine.
func (b *breaker) fail(now time.Time, crash bool) (wait time.Duration, quarantine bool) {
	b.streak++
	if crash {
		from := 0
		for from < len(b.crashes) && now.Sub(b.crashes[from]) > b.policy.Window {
			from++
		}
		b.crashes = append(b.crashes[from:], now)
		if len(b.crashes) >= b.policy.Quarantine {
			return 0, true
		}
	}
	next := float64(b.policy.Backoff)
	for i := 1; i < b.streak && next < float64(b.policy.Max); i++ {
		next *= b.policy.Factor
	}
	next = min(next, float64(b.policy.Max))
	next += next * b.policy.Jitter * (2*b.random() - 1)
	return time.Duration(next), false
}

// reset forgets all failures: an operator took the matter up, or the plugin was well for long.
func (b *breaker) reset() { b.crashes, b.streak = nil, 0 }

// failures is how many crashes count at present.
func (b *breaker) failures() int { return len(b.crashes) }
