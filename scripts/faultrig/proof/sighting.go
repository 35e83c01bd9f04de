package proof

import "slices"

// stage is how far along a status is.
func stage(status string) int {
	switch status {
	case "pending":
		return 0
	case "running":
		return 1
	}
	return 2
}

// sightings checks that nothing a client saw was taken back: neither by a later sighting nor by the store.
func (p *prover) sightings() {
	byID := map[string][]Sighting{}
	for _, s := range p.Sightings {
		byID[s.ID] = append(byID[s.ID], s)
	}
	for id, list := range byID {
		slices.SortStableFunc(list, func(a, b Sighting) int { return a.Got.Compare(b.Got) })
		for i, later := range list {
			for _, earlier := range list[:i] {
				if later.Sent.Before(earlier.Got) {
					continue // the requests overlapped
				}
				if !p.follows(earlier, later) {
					break // one finding for each sighting says enough
				}
			}
		}
		if e := p.Executions[id]; e != nil {
			last := Sighting{ID: id, Status: e.Status, CompletedAt: e.CompletedAt, CancelledAt: e.CancelledAt, Result: e.Result}
			p.follows(list[len(list)-1], last)
		}
		if b := p.Batches[id]; b != nil {
			p.follows(list[len(list)-1], Sighting{ID: id, Status: b.Status, Done: b.Completed + b.Failed + b.Cancelled})
		}
	}
}

// follows reports whether one state may come after another, and reports it when not.
func (p *prover) follows(earlier, later Sighting) bool {
	switch {
	case stage(later.Status) < stage(earlier.Status),
		terminal(earlier.Status) && later.Status != earlier.Status:
		p.report(RuleBackwards, later.ID, "seen %s, then %s", earlier.Status, later.Status)
	case later.Done < earlier.Done && later.Done+earlier.Done > 0:
		p.report(RuleBackwards, later.ID, "seen with %d items done, then %d", earlier.Done, later.Done)
	case !terminal(earlier.Status):
		return true
	case earlier.CompletedAt != later.CompletedAt || earlier.CancelledAt != later.CancelledAt:
		p.report(RuleBackwards, later.ID, "seen %s with completedAt %q cancelledAt %q, then %q %q", earlier.Status,
			earlier.CompletedAt, earlier.CancelledAt, later.CompletedAt, later.CancelledAt)
	case Canonical(earlier.Result) != Canonical(later.Result):
		p.report(RuleBackwards, later.ID, "seen with result %s, then %s", clip(earlier.Result), clip(later.Result))
	default:
		return true
	}
	return false
}
