package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// watches knows what goes on for callers: streams and sockets. The zero value is ready.
type watches struct {
	mu   sync.Mutex // guards open
	open map[*watch]struct{}
}

// watch is one stream or socket.
type watch struct {
	principal core.Principal
	granted   []Access // what it needs
	end       context.CancelFunc

	revision uint64 // at which it was allowed; only Recheck changes it
}

// watch has the request end when its caller loses the right to it. The function that it returns is called at its end.
func (c *call) watch() func() {
	o := &c.s.opts
	if o.Refresh == nil || o.Revision == nil || len(c.granted) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(c.ctx)
	w := &watch{principal: c.principal, end: cancel, revision: c.revision}
	c.ctx, c.watched = ctx, w
	set := &c.s.watches
	set.mu.Lock()
	defer set.mu.Unlock()
	if set.open == nil {
		set.open = map[*watch]struct{}{}
	}
	w.granted = slices.Clone(c.granted)
	set.open[w] = struct{}{}
	return func() {
		set.mu.Lock()
		defer set.mu.Unlock()
		delete(set.open, w)
		cancel()
	}
}

// also adds to what a stream or socket needs.
func (set *watches) also(w *watch, a Access) {
	set.mu.Lock()
	defer set.mu.Unlock()
	w.granted = append(w.granted, a)
}

// Recheck ends the streams and sockets whose callers may not have them any more. It costs next to nothing while nothing
// changed; whoever runs the server calls it every second or so, never twice at once.
func (s *Server) Recheck(ctx context.Context) {
	o := &s.opts
	if o.Refresh == nil || o.Revision == nil {
		return
	}
	revision, now := o.Revision(), o.Clock.Now()
	for _, w := range s.watches.due(revision, now) {
		switch may, known := s.still(ctx, w); {
		case !known: // the next look asks again
		case may:
			w.revision = revision
		default:
			w.end()
			s.opts.Metrics.StreamDropped("access")
		}
	}
}

// due returns what was allowed at another revision, or by a credential that is over.
func (set *watches) due(revision uint64, now time.Time) []*watch {
	set.mu.Lock()
	defer set.mu.Unlock()
	var list []*watch
	for w := range set.open {
		if w.revision != revision || !w.principal.Expires.IsZero() && !now.Before(w.principal.Expires) {
			list = append(list, w)
		}
	}
	return list
}

// still reports whether a caller may go on, and whether that could be found out: a failure to is no reason to end what goes on.
// What is hidden from the caller by now is not there for them. What a stream shows goes by the principal that it began with, so it
// ends for one whose scopes are fewer now, and who may begin anew.
func (s *Server) still(ctx context.Context, w *watch) (may, known bool) {
	p, err := s.opts.Refresh(ctx, w.principal)
	if err == nil && fewer(w.principal, p) {
		return false, true
	}
	s.watches.mu.Lock()
	granted := slices.Clone(w.granted)
	s.watches.mu.Unlock()
	for _, a := range granted {
		if err == nil {
			err = s.opts.Authorize(core.WithPrincipal(ctx, p), p, a)
		}
	}
	switch core.ErrorCode(err) {
	case core.CodeUnauthorized, core.CodeForbidden, core.CodeNotFound:
		return false, true
	}
	return err == nil, err == nil
}

// fewer reports whether scopes that a principal had are not there any more, or are no more than what everybody has.
func fewer(before, now core.Principal) bool {
	return now.ScopesByDefault && !before.ScopesByDefault ||
		slices.ContainsFunc(before.Scopes, func(scope string) bool { return !core.Grants(now.Scopes, scope) })
}
