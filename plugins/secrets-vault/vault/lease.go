package vault

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/vault/api"

	"github.com/wardroom/wardroom/sdk/secret/source"
)

// leastHold is how long a lease is held at least before it is renewed or made anew: a server that gives leases without a life
// would be asked for credentials without end.
const leastHold = time.Second

// maxLeases bounds the credentials that are held.
const maxLeases = 1_000

// leases are the credentials that Vault made for this provider. Each is kept alive by a goroutine of its own while
// somebody wants it. One that cannot be is let go, and whoever watches its place has to ask again.
type leases struct {
	config  Config
	client  *api.Client
	log     hclog.Logger
	changed func(place string)
	watched func(place string) bool
	now     func() time.Time
	refused func(generation int) // of a token that the server does not know any more
	ctx     context.Context      // ends with the provider
	running sync.WaitGroup

	mu   sync.Mutex // guards all below, and the leases
	held map[string]*lease
}

type lease struct {
	place      string
	id         string
	entry      source.Entry // its NotAfter is the end of the lease
	lifetime   time.Duration
	renewable  bool
	generation int // of the token that it was given to
	asked      time.Time
	lost       chan struct{} // closed when it is let go
}

// get returns the credential of a place, if one is held.
func (l *leases) get(place string, t token) (source.Entry, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.held[place]
	now := l.now()
	if held == nil || held.generation != t.generation || left(held.entry.NotAfter, now) <= 0 {
		return source.Entry{}, false
	}
	held.asked = now
	return until(held.entry, t), true
}

// left returns how long it is until a moment, by the clock that is further: that of the machine stands still while it is suspended, and
// the time of day may be set back.
func left(at, now time.Time) time.Duration {
	return min(at.Sub(now), at.Round(0).Sub(now.Round(0)))
}

// until bounds the end of a credential by that of its token, with which it is taken back.
func until(e source.Entry, t token) source.Entry {
	if !t.expires.IsZero() && t.expires.Before(e.NotAfter) {
		e.NotAfter = t.expires
	}
	return e
}

// add holds a credential that was asked for at a time.
func (l *leases) add(place string, t token, answer *api.Secret, entry source.Entry, at time.Time) source.Entry {
	held := &lease{
		place: place, id: answer.LeaseID, renewable: answer.Renewable, generation: t.generation, asked: at,
		lifetime: time.Duration(answer.LeaseDuration) * time.Second, lost: make(chan struct{}),
	}
	entry.NotAfter = at.Add(held.lifetime)
	entry.Version = at.UTC().Format(time.RFC3339Nano) // the lease's own name would let others end it
	held.entry = entry
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ctx.Err() != nil || len(l.held) >= maxLeases {
		return until(entry, t) // it ends by itself
	}
	if former := l.held[place]; former != nil {
		close(former.lost)
	}
	l.held[place] = held
	l.running.Go(func() { l.keep(held) })
	return until(entry, t)
}

// number returns how many are held.
func (l *leases) number() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.held)
}

// replaced lets go of what former tokens were given.
func (l *leases) replaced(generation int) {
	var places []string
	l.mu.Lock()
	for place, held := range l.held {
		if held.generation < generation {
			delete(l.held, place)
			close(held.lost)
			places = append(places, place)
		}
	}
	l.mu.Unlock()
	for _, place := range places {
		l.log.Info("a credential is made anew, with the new token", "path", place)
		l.changed(place)
	}
}

// drop lets go of a lease. It returns false if somebody else did.
func (l *leases) drop(held *lease) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[held.place] != held {
		return false
	}
	delete(l.held, held.place)
	close(held.lost)
	return true
}

// keep renews a lease when a third of its life is left, until it is let go.
func (l *leases) keep(held *lease) {
	pause, tried := leastHold, time.Now()
	for {
		l.mu.Lock()
		wait := max(left(held.entry.NotAfter, l.now())-held.lifetime/3, pause-time.Since(tried))
		l.mu.Unlock()
		timer := time.NewTimer(min(wait, lookEvery))
		select {
		case <-l.ctx.Done():
			timer.Stop()
			return
		case <-held.lost:
			timer.Stop()
			return
		case <-timer.C:
			if wait > lookEvery {
				continue
			}
		}
		l.mu.Lock()
		unwanted := l.now().Sub(held.asked) > 2*held.lifetime
		rest := left(held.entry.NotAfter, l.now())
		l.mu.Unlock()
		why := ""
		switch {
		case unwanted && !l.watched(held.place):
			if l.drop(held) {
				l.revoke(l.ctx, held)
			}
			return
		case rest <= 0:
			why = "it has ended"
		case !held.renewable:
			why = "it cannot be renewed and is about to end"
		default:
			var failed bool
			tried = time.Now()
			if failed, why = l.renew(held); failed {
				pause = min(longer(true, pause), max(rest/2, 100*time.Millisecond))
			} else {
				pause = 0
			}
		}
		if why != "" {
			if l.drop(held) {
				l.log.Info("a credential is made anew", "path", held.place, "why", why)
				l.changed(held.place)
			}
			return
		}
	}
}

// renew asks for a longer life of a lease; why says that there is no more of it.
func (l *leases) renew(held *lease) (failed bool, why string) {
	at := l.now()
	answer, err := l.client.Sys().RenewWithContext(l.ctx, held.id, int(held.lifetime/time.Second))
	switch {
	case l.ctx.Err() != nil:
		return false, ""
	case invalidToken(err):
		l.refused(held.generation) // the session gets another one, which replaces this lease
		return true, ""
	case refusedFor(err):
		return false, "Vault does not renew it any more"
	case err != nil:
		l.log.Warn("cannot renew a credential", "path", held.place, "error", l.config.fault(l.ctx, err, "renew "+held.place).Message)
		return true, ""
	case answer == nil:
		return true, ""
	}
	life := time.Duration(answer.LeaseDuration) * time.Second
	l.mu.Lock()
	held.entry.NotAfter = at.Add(life)
	l.mu.Unlock()
	if life <= held.lifetime/2 {
		return false, "it is near the end of its longest life"
	}
	return false, ""
}

// revoke gives a lease back.
func (l *leases) revoke(ctx context.Context, held *lease) {
	if err := l.client.Sys().RevokeWithContext(ctx, held.id); err != nil && l.ctx.Err() == nil {
		l.log.Info("cannot give a credential back: it ends by itself", "path", held.place, "error", l.config.fault(ctx, err, "revoke "+held.place).Message)
	}
}

// end gives all back, one after the other; revokes says that the end of the token does not do so. The context of the
// provider has ended before.
func (l *leases) end(ctx context.Context, revokes bool) {
	l.running.Wait()
	l.mu.Lock()
	held := l.held
	l.held = nil
	l.mu.Unlock()
	for _, h := range held {
		if revokes && ctx.Err() == nil {
			l.revoke(ctx, h)
		}
	}
}

// places returns where credentials are held.
func (l *leases) places() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.held))
}
