package agents

import (
	"slices"

	"github.com/wardroom/wardroom/core"
)

// maxNamed bounds how many agents of preferred names one reservation looks at: many agents may share a
// name, and the index is locked meanwhile.
const maxNamed = 256

// reserve takes up to n slots on distinct agents; see core.TaskDispatcher.Reserve.
func (x *index) reserve(need core.TaskNeed, n int) []string {
	if n <= 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	picked := make([]string, 0, min(n, len(x.agents)))
	if len(need.Prefer.Names) > 0 {
		picked = x.reserveNamed(need, n, picked)
	}
	fitting := x.fitting(need.Capabilities)
	if need.Prefer.Region == "" && need.Prefer.Model == "" {
		picked = x.reserveBest(fitting, need, -1, n, picked)
	} else {
		for score := 3; score >= 0 && len(picked) < n; score-- {
			picked = x.reserveBest(fitting, need, score, n, picked)
		}
	}
	for i, a := range x.skipped {
		x.settle(a)
		x.skipped[i] = nil
	}
	x.skipped = x.skipped[:0]
	return picked
}

// reserveBest takes the best agents of the classes whose score is that (-1: of all). Agents it takes or
// must pass over leave their heaps and gather in x.skipped, so that none is met twice.
func (x *index) reserveBest(fitting []*class, need core.TaskNeed, score, n int, picked []string) []string {
	for len(picked) < n {
		var best *class
		for _, c := range fitting {
			if len(c.ready) == 0 || (score >= 0 && c.score(need.Prefer) != score) {
				continue
			}
			if best == nil || before(c.ready[0], best.ready[0]) {
				best = c
			}
		}
		if best == nil {
			break
		}
		a := best.pull(0)
		x.skipped = append(x.skipped, a)
		if !need.Exclude[a.id] {
			x.take(a)
			picked = append(picked, a.id)
		}
	}
	return picked
}

// reserveNamed takes agents of the preferred names.
func (x *index) reserveNamed(need core.TaskNeed, n int, picked []string) []string {
	var found []*agent
	looked := 0
	for _, name := range need.Prefer.Names {
		same := x.names[name]
		for i := range same {
			if looked++; looked > maxNamed {
				break
			}
			a := same[(i+int(x.used%uint64(len(same))))%len(same)]
			if a.slots.pos >= 0 && !need.Exclude[a.id] && a.slots.class.fits(need.Capabilities) && !slices.Contains(found, a) {
				found = append(found, a)
			}
		}
	}
	slices.SortFunc(found, func(a, b *agent) int {
		if d := b.slots.class.score(need.Prefer) - a.slots.class.score(need.Prefer); d != 0 {
			return d
		}
		switch {
		case before(a, b):
			return -1
		case before(b, a):
			return 1
		}
		return 0
	})
	for _, a := range found[:min(n, len(found))] {
		a.slots.class.pull(a.slots.pos)
		x.skipped = append(x.skipped, a)
		x.take(a)
		picked = append(picked, a.id)
	}
	return picked
}

func (x *index) take(a *agent) {
	x.used++
	a.slots.reserved++
	a.slots.lastUse = x.used
}

// count counts the agents that fit; see core.TaskDispatcher.CountCapable.
func (x *index) count(need core.TaskNeed) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	total := 0
	for _, c := range x.fitting(need.Capabilities) {
		total += c.counted
	}
	for id, excluded := range need.Exclude {
		if a := x.agents[id]; excluded && a != nil && a.slots.counted && a.slots.class.fits(need.Capabilities) {
			total--
		}
	}
	return total
}

// slots lists the agents that fit, with how many tasks they take; see core.TaskDispatcher.Slots.
func (x *index) slots(need core.TaskNeed) map[string]int {
	x.mu.Lock()
	defer x.mu.Unlock()
	out := map[string]int{}
	for id, a := range x.agents {
		if a.slots.counted && !need.Exclude[id] && a.slots.class.fits(need.Capabilities) {
			out[id] = a.slots.max
		}
	}
	return out
}
