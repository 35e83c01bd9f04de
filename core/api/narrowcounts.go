package api

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Bounds of the numbers that are counted anew for streams whose readers may not read everything. They are counted of what there is, which
// costs the more the more there is.
const (
	narrowPause = 5 * time.Second // the least time between two counts for one caller
	narrowShare = 4               // counts take one part in so many of the time of one processor
	narrowRetry = time.Second     // when a stream that found another one counting looks again
)

// narrowCounts has the streams of one caller share what was counted for them, and lets one count at a time. The zero value is ready.
type narrowCounts struct {
	first editing // one first count of a caller at a time

	mu     sync.Mutex // guards all below
	busy   bool
	free   time.Time              // when the next count may begin
	newest map[string]narrowCount // by caller, of the last narrowPause
}

// narrowCount holds the numbers that were counted for a caller.
type narrowCount struct {
	began, ended time.Time
	counts       *wire.OverviewCounts
}

// callerOf names those who may read the same.
func callerOf(p core.Principal) string {
	return fmt.Sprintf("%q", []any{p.Kind, p.ID, p.Name, p.KeyID, p.Groups, p.Roles, p.Scopes, p.ScopesByDefault})
}

// recent returns what was counted for a caller within narrowPause; its counts are nil if nothing was.
func (n *narrowCounts) recent(caller string, now time.Time) narrowCount {
	n.mu.Lock()
	defer n.mu.Unlock()
	if one := n.newest[caller]; now.Sub(one.ended) < narrowPause {
		return one
	}
	return narrowCount{}
}

// begin returns what was counted for a caller after what a stream has; or else how long to wait; or else neither, and the stream counts,
// and calls end.
func (n *narrowCounts) begin(caller string, has, now time.Time) (one narrowCount, wait time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	one = n.newest[caller]
	switch {
	case one.began.After(has):
		return one, 0
	case now.Sub(one.ended) < narrowPause:
		return narrowCount{}, narrowPause - now.Sub(one.ended)
	case n.busy:
		return narrowCount{}, narrowRetry
	case now.Before(n.free):
		return narrowCount{}, max(n.free.Sub(now), narrowRetry)
	}
	n.busy = true
	return narrowCount{}, 0
}

// end stores what was counted, nil for nothing; turn reports whether begin let the caller count.
func (n *narrowCounts) end(caller string, turn bool, one narrowCount) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if turn {
		n.busy, n.free = false, one.ended.Add((narrowShare-1)*one.ended.Sub(one.began))
	}
	maps.DeleteFunc(n.newest, func(_ string, other narrowCount) bool { return one.ended.Sub(other.ended) >= narrowPause })
	if one.counts == nil {
		return
	}
	if n.newest == nil {
		n.newest = map[string]narrowCount{}
	}
	n.newest[caller] = one
}
