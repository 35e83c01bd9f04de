package engine

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := newPace()
	p.most = 8
	begin := func(owner string, want bool) *youth {
		t.Helper()
		y, wait := p.begin(owner, now)
		if (y != nil) != want || !want && (wait <= 0 || wait > youngFor) {
			t.Fatalf("%s: began %t, waits %v", owner, y != nil, wait)
		}
		return y
	}
	for range 100 { // one alone has no bound
		begin("flood", true)
	}
	ann := begin("ann", true)
	begin("flood", false)
	for range 3 {
		begin("ann", true)
	}
	begin("ann", false) // an equal share
	p.end(ann)
	p.end(ann)
	p.end(nil)
	begin("ann", true)
	begin("ann", false)

	// Those that go on for longer count no more, nor does a caller who began nothing for a moment.
	now = now.Add(youngFor)
	for range 4 {
		begin("flood", true)
	}
	begin("flood", true) // ann is not at work
	begin("ann", true)
	begin("flood", false)

	// One that did not begin after all leaves its caller as it was.
	now = now.Add(youngFor)
	for range 8 {
		p.undo(begin("bob", true))
	}
	for range 100 {
		begin("flood", true)
	}
	if len(p.owners) > 2 {
		t.Errorf("%d callers are kept", len(p.owners))
	}
}

// However many callers there are, each begins something.
func TestPaceOfMany(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := newPace()
	for i := range 1000 {
		for range leastYoung {
			if y, _ := p.begin(string(rune('a'+i)), now); y == nil {
				t.Fatalf("caller %d waits", i)
			}
		}
	}
	for now = now.Add(youngFor); len(p.owners) > 1; {
		p.begin("a", now)
		now = now.Add(youngFor)
	}
}
