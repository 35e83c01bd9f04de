package limits

import (
	"cmp"
	"maps"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/wardroom/wardroom/core"
)

// kinds is how many kinds of requests there are.
const kinds = int(core.RequestExecute) + 1

// Rate is a token bucket: how many requests a second in the long run, and how many at once. A Rate of 0 a second is no
// limit.
type Rate struct {
	PerSecond float64
	Burst     int // at least 1 where there is a limit
}

// PerMinute returns the rate of n requests a minute, all of which may come at once.
func PerMinute(n int) Rate { return Rate{float64(n) / 60, n} }

// Standard are the limits of one client that the interface has, for when nothing else is said.
var Standard = Options{Kinds: [kinds]Rate{
	core.RequestRead: PerMinute(1000), core.RequestChange: PerMinute(200), core.RequestExecute: PerMinute(100),
}}

// Options are the limits; all that apply to a request have to let it pass.
type Options struct {
	Global     Rate        // of all requests
	PerClient  Rate        // of each client
	Kinds      [kinds]Rate // of each client, for requests of one kind
	PerPattern Rate        // of executions of each pattern, whoever starts them
	MaxClients int         // remembered at once, patterns included; 0: 100,000
}

const defaultClients = 100_000

// Limiter keeps the limits. It is safe for concurrent use.
type Limiter struct {
	clock core.Clock

	mu       sync.Mutex // guards all below
	opts     Options
	global   *rate.Limiter
	clients  map[string]*buckets
	patterns map[string]*rate.Limiter
	// crowd stands for the clients, and the patterns, that are not remembered because too many others are: they share.
	crowd        *buckets
	crowdPattern *rate.Limiter
	swept        time.Time
}

// buckets are those of one client. Buckets that are nil have no limit, or are not needed yet.
type buckets struct {
	all   *rate.Limiter
	kinds [kinds]*rate.Limiter
}

// New makes a Limiter.
func New(o Options, clock core.Clock) *Limiter {
	l := &Limiter{clock: clock}
	l.Change(o)
	return l
}

// Change puts other limits into force. Clients begin with full buckets.
func (l *Limiter) Change(o Options) {
	o.MaxClients = cmp.Or(o.MaxClients, defaultClients)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.opts = o
	l.global = bucket(o.Global)
	l.clients, l.patterns = map[string]*buckets{}, map[string]*rate.Limiter{}
	l.crowd, l.crowdPattern = l.newBuckets(), bucket(o.PerPattern)
}

func bucket(r Rate) *rate.Limiter {
	if r.PerSecond <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(r.PerSecond), max(r.Burst, 1))
}

func (l *Limiter) newBuckets() *buckets { return &buckets{all: bucket(l.opts.PerClient)} }

// Take counts a request of a client, and returns whether it may go on. One that may not has used up nothing. The
// pattern is that of an execution, empty for other requests.
func (l *Limiter) Take(client string, kind core.RequestKind, pattern string) core.Quota {
	now := l.clock.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.client(client, now)
	if b.kinds[kind] == nil {
		b.kinds[kind] = bucket(l.opts.Kinds[kind])
	}
	list := [...]struct {
		by string
		of *rate.Limiter
	}{{"global", l.global}, {"client", b.all}, {"client", b.kinds[kind]}, {"pattern", l.pattern(pattern, now)}}

	v := core.Quota{Allowed: true}
	var nearest *rate.Limiter
	least := math.Inf(1)
	for _, e := range list {
		if e.of == nil {
			continue
		}
		tokens := e.of.TokensAt(now)
		if tokens < 1 {
			if wait := after((1 - tokens) / float64(e.of.Limit())); wait > v.Retry || v.Allowed {
				v.Retry, v.By = wait, e.by
				nearest = e.of
			}
			v.Allowed = false
		} else if v.Allowed && tokens < least {
			nearest, least = e.of, tokens
		}
	}
	if v.Allowed {
		for _, e := range list {
			if e.of != nil {
				e.of.AllowN(now, 1)
			}
		}
	}
	if nearest != nil {
		tokens := nearest.TokensAt(now)
		v.Limit, v.Remaining = nearest.Burst(), max(int(tokens), 0)
		v.Window = after(float64(v.Limit) / float64(nearest.Limit()))
		v.Reset = now.Add(after((float64(v.Limit) - tokens) / float64(nearest.Limit())))
	}
	return v
}

// after returns a time in seconds as a duration, rounded up.
func after(seconds float64) time.Duration {
	return time.Duration(min(math.Ceil(seconds*float64(time.Second)), math.MaxInt64/2))
}

// client returns the buckets of a client. The caller holds mu.
func (l *Limiter) client(name string, now time.Time) *buckets {
	b, ok := l.clients[name]
	if ok {
		return b
	}
	if !l.room(now) {
		return l.crowd
	}
	b = l.newBuckets()
	l.clients[name] = b
	return b
}

// pattern returns the bucket of a pattern; nil if there is no such limit. The caller holds mu.
func (l *Limiter) pattern(name string, now time.Time) *rate.Limiter {
	if name == "" || l.crowdPattern == nil {
		return nil
	}
	b, ok := l.patterns[name]
	if ok {
		return b
	}
	if !l.room(now) {
		return l.crowdPattern
	}
	b = bucket(l.opts.PerPattern)
	l.patterns[name] = b
	return b
}

// room reports whether another client may be remembered. When there is none it forgets, at most once a second, those
// whose buckets are full again: they lose nothing by it. The caller holds mu.
func (l *Limiter) room(now time.Time) bool {
	if len(l.clients)+len(l.patterns) < l.opts.MaxClients {
		return true
	}
	if now.Sub(l.swept) < time.Second {
		return false
	}
	l.swept = now
	maps.DeleteFunc(l.clients, func(_ string, b *buckets) bool { return b.full(now) })
	maps.DeleteFunc(l.patterns, func(_ string, b *rate.Limiter) bool { return full(b, now) })
	return len(l.clients)+len(l.patterns) < l.opts.MaxClients
}

func (b *buckets) full(now time.Time) bool {
	for _, k := range b.kinds {
		if !full(k, now) {
			return false
		}
	}
	return full(b.all, now)
}

func full(b *rate.Limiter, now time.Time) bool {
	return b == nil || b.TokensAt(now) >= float64(b.Burst())
}
