package secrets

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/pause"
	"github.com/wardroom/wardroom/sdk/secret"
)

// changes counts the reports of changes by a provider. The zero value has none.
type changes struct {
	until time.Time // of the present moment
	n     int       // in it
}

// pass reports whether a report is followed at once: a provider that makes them without end would be asked without end.
func (c *changes) pass(now time.Time) bool {
	if left := c.until.Sub(now); left <= 0 || left > changesTime { // a clock that is set back begins anew
		*c = changes{until: now.Add(changesTime)}
	}
	c.n++
	return c.n <= mostChanges
}

// touch asks anew for references that changed; nil: for all of the provider.
func (s *Service) touch(p *provider, refs []secret.Ref) {
	changed := map[secret.Ref]bool{}
	for _, ref := range refs {
		changed[ref] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*entry
	for _, e := range s.entries {
		switch {
		case e.from != p || refs != nil && !changed[secret.Ref{Path: e.ref.Path, Key: e.ref.Key}]:
		case e.flight != nil: // its answer may be from before
			e.again = true
		default:
			list = append(list, e)
		}
	}
	for chunk := range slices.Chunk(list, maxBatch) {
		s.fetch(p, refresh, chunk)
	}
}

// report follows changes of what is watched at once, or with the next look where the provider reports too many.
func (s *Service) report(p *provider, changed []secret.Ref, watched map[secret.Ref]bool) {
	changed = slices.DeleteFunc(changed, func(ref secret.Ref) bool { return !watched[ref] })
	if len(changed) > 0 && p.follows(changed, s.clock.Now()) {
		s.touch(p, changed)
	}
}

// follows reports whether a report of changes is followed now. Else they are pending.
func (p *provider) follows(changed []secret.Ref, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reports.pass(now) {
		return true
	}
	if p.pending == nil {
		p.pending = map[secret.Ref]bool{}
	}
	for _, ref := range changed {
		p.pending[ref] = true
	}
	return false
}

// takePending returns what changed and was not followed, and forgets it.
func (p *provider) takePending() []secret.Ref {
	p.mu.Lock()
	defer p.mu.Unlock()
	refs := slices.Collect(maps.Keys(p.pending))
	p.pending = nil
	return refs
}

// watch follows the secrets of a provider that are in use, until the service is closed.
func (s *Service) watch(p *provider, watcher secret.Watcher) {
	defer p.watched.Store(false)
	again := pause.Backoff{First: retryFirst, Most: rewatch}
	for p.ctx.Err() == nil {
		refs := s.refs(p)
		if len(refs) == 0 {
			select {
			case <-p.changed:
				continue
			case <-p.ctx.Done():
				return
			}
		}
		ctx, cancel := context.WithCancel(p.ctx)
		stream, err := watcher.Watch(ctx, refs)
		if err != nil {
			cancel()
			pause.For(p.ctx, s.clock, rewatch)
			continue
		}
		if !p.watched.Swap(true) { // else only the set of secrets is another one
			s.touch(p, nil) // what changed before the watch
		}
		watched := make(map[secret.Ref]bool, len(refs))
		for _, ref := range refs {
			watched[ref] = true
		}
		began := core.NewStopwatch(s.clock)
		ended := make(chan struct{})
		go func() { // joined below
			defer close(ended)
			for {
				changed, err := stream.Next()
				if err != nil {
					return
				}
				s.report(p, changed, watched)
			}
		}()
		others := s.follow(p, refs, ended)
		_ = stream.Close()
		cancel()
		<-ended
		if lasted := time.Duration(began.At(s.clock.Now())); lasted >= watchedWell {
			again.Reset()
		}
		if !others {
			p.watched.Store(false)
			pause.For(p.ctx, s.clock, again.Next())
		}
	}
}

// follow waits until the secrets in use are others than refs, or the watch ended; then it returns false.
func (s *Service) follow(p *provider, refs []secret.Ref, ended <-chan struct{}) bool {
	for {
		select {
		case <-p.ctx.Done():
			return true
		case <-ended:
			return false
		case <-p.changed:
			if !pause.For(p.ctx, s.clock, waitFirst) { // more come together
				return true
			}
			if !slices.Equal(s.refs(p), refs) {
				return true
			}
		}
	}
}
