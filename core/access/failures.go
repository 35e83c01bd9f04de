package access

import (
	"maps"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// Bounds of failed attempts.
const (
	maxFailures   = 20 // of an address within failureWindow
	failureWindow = time.Minute
	maxAddresses  = 10_000 // that are kept; beyond that the oldest half goes
	spareTries    = 10     // a second, of an address with too many, at what costs more than a look to be known as good
)

// failures counts failed attempts by address.
type failures struct {
	clock core.Clock

	mu    sync.Mutex // guards below
	since map[netip.Prefix]*attempts
}

type attempts struct {
	began time.Time
	count int

	second time.Time // that spared are of
	spared int
}

// addressOf returns what attempts are counted under: an IPv4 address, or the network of an IPv6 one, of which every
// customer has as many addresses as they like.
func addressOf(addr netip.Addr) netip.Prefix {
	if !addr.IsValid() {
		return netip.Prefix{} // a socket of this machine: all of them together
	}
	ip := addr.Unmap().WithZone("")
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	prefix, _ := ip.Prefix(bits) // bits fit
	return prefix
}

// connectionOf returns the address of a request's connection.
func connectionOf(r *http.Request) netip.Addr {
	addr, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return addr.Addr()
}

// exceeded returns how long an address has to wait before it may try keys that are not known to be good; 0: it may.
func (f *failures) exceeded(from netip.Prefix) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	a := f.since[from]
	if a == nil || a.count < maxFailures {
		return 0
	}
	return max(0, failureWindow-f.clock.Now().Sub(a.began))
}

// spare reports whether an address that exceeds the limit may try all the same: a good caller among others behind it gets in
// within seconds.
func (f *failures) spare(from netip.Prefix) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	a, now := f.since[from], f.clock.Now()
	if a == nil {
		return true
	}
	if now.Sub(a.second) >= time.Second {
		a.second, a.spared = now, 0
	}
	a.spared++
	return a.spared <= spareTries
}

// add counts a failed attempt.
func (f *failures) add(from netip.Prefix) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	if a := f.since[from]; a != nil && now.Sub(a.began) < failureWindow {
		a.count++
		return
	}
	if f.since == nil {
		f.since = map[netip.Prefix]*attempts{}
	}
	if len(f.since) >= maxAddresses {
		f.tidy(now)
	}
	f.since[from] = &attempts{began: now, count: 1}
}

// tidy makes room: what is over goes, and if that is little, any addresses that are not over the limit.
func (f *failures) tidy(now time.Time) {
	maps.DeleteFunc(f.since, func(_ netip.Prefix, a *attempts) bool { return now.Sub(a.began) >= failureWindow })
	for pass := range 2 {
		for from, a := range f.since {
			if len(f.since) <= maxAddresses/2 {
				return
			}
			if pass == 1 || a.count < maxFailures {
				delete(f.since, from)
			}
		}
	}
}
