package api

import (
	"slices"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
)

// Bounds of what the log tells of requests that are refused.
const (
	refusalsShown = 10          // of one kind within refusalWindow; more are counted
	refusalWindow = time.Minute // after it, how many more there were
	refusalKinds  = 1024        // that are counted apart
)

// refusal is a kind of refused request: what, why and who. Nothing in it is a text of the caller.
type refusal struct {
	operation string
	status    int
	code      core.Code
	principal string
	address   string
}

// refusalCount counts the requests of a kind since the first one.
type refusalCount struct {
	refusal
	since time.Time
	count int
}

// refusals keep a client that goes on being refused from filling the log. They are safe for concurrent use.
type refusals struct {
	mu    sync.Mutex // guards all below
	of    map[refusal]*refusalCount
	swept time.Time
}

// add counts a request. It reports whether the log shows it, and returns the kinds whose window has ended since with
// requests that it did not show.
func (r *refusals) add(kind refusal, now time.Time) (shown bool, ended []*refusalCount) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if since := now.Sub(r.swept); since < 0 || since >= refusalWindow/4 {
		ended = r.end(func(c *refusalCount) bool { return now.Sub(c.since) >= refusalWindow || now.Before(c.since) })
		r.swept = now
	}
	c := r.of[kind]
	if c == nil {
		if len(r.of) >= refusalKinds {
			kind = refusal{status: kind.status, code: kind.code} // one of many: they share
			c = r.of[kind]
		}
		if c == nil {
			if r.of == nil {
				r.of = map[refusal]*refusalCount{}
			}
			c = &refusalCount{refusal: kind, since: now}
			r.of[kind] = c
		}
	}
	c.count++
	return c.count <= refusalsShown, ended
}

// rest returns the kinds with requests that were not shown, and forgets all.
func (r *refusals) rest() []*refusalCount {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.end(func(*refusalCount) bool { return true })
}

// end forgets kinds, and returns those of them with requests that were not shown. The caller holds mu.
func (r *refusals) end(which func(*refusalCount) bool) (list []*refusalCount) {
	for kind, c := range r.of {
		if which(c) {
			delete(r.of, kind)
			if c.count > refusalsShown {
				list = append(list, c)
			}
		}
	}
	slices.SortFunc(list, func(a, b *refusalCount) int { return a.since.Compare(b.since) })
	return list
}

// logRefused writes the line of a refused request. Of a kind that comes again and again the log has the first ones, and
// then how many more there were; at debug it has each.
func (s *Server) logRefused(id string, kind refusal) {
	shown, ended := s.refusals.add(kind, s.opts.Clock.Now())
	s.logRepeated(ended)
	args := append([]any{"request", id}, kind.args()...)
	if shown {
		s.log.Info("request refused", args...)
	} else {
		s.log.Debug("request refused", args...)
	}
}

func (s *Server) logRepeated(list []*refusalCount) {
	for _, c := range list {
		s.log.Info("more requests were refused", append(c.args(), "count", c.count-refusalsShown)...)
	}
}

func (k *refusal) args() []any {
	args := []any{"operation", k.operation, "status", k.status, "code", string(k.code), "principal", k.principal}
	if k.address != "" {
		args = append(args, "address", k.address)
	}
	return args
}
