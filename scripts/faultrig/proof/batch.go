package proof

// batches checks that each promised batch ended and that its figures add up.
func (p *prover) batches() {
	items := map[string]map[int]*Execution{}
	for _, e := range p.Executions {
		if e.BatchID == "" || e.BatchIndex == nil || e.RetryOf != "" {
			continue
		}
		if items[e.BatchID] == nil {
			items[e.BatchID] = map[int]*Execution{}
		}
		items[e.BatchID][*e.BatchIndex] = e
	}
	checked := map[string]bool{}
	for _, told := range p.Promises {
		if told.Kind != PromiseBatch || checked[told.ID] {
			continue
		}
		checked[told.ID] = true
		b := p.Batches[told.ID]
		switch {
		case b == nil:
			p.report(RuleLost, told.ID, "acknowledged and not in the store")
		case !terminal(b.Status):
			p.report(RuleLost, b.ID, "%s, never ended", b.Status)
		case b.Total != len(told.Inputs):
			p.report(RuleBatch, b.ID, "total is %d, %d inputs were sent", b.Total, len(told.Inputs))
		default:
			p.addsUp(b, told, items[b.ID])
		}
	}
}

// addsUp compares a batch with its items.
func (p *prover) addsUp(b *Batch, told Promise, items map[int]*Execution) {
	if b.Completed+b.Failed+b.Cancelled != b.Total {
		p.report(RuleBatch, b.ID, "completed %d, failed %d and cancelled %d are not the total %d", b.Completed, b.Failed, b.Cancelled, b.Total)
	}
	seen := map[int]bool{}
	counts := map[string]int{}
	for _, r := range b.Results {
		if seen[r.Index] || r.Index < 0 || r.Index >= b.Total {
			p.report(RuleBatch, b.ID, "index %d is there twice or out of range", r.Index)
			continue
		}
		seen[r.Index] = true
		counts[r.Status]++
		if !terminal(r.Status) {
			p.report(RuleBatch, b.ID, "item %d is %s in a batch that is %s", r.Index, r.Status, b.Status)
		}
		p.item(b, r, told, items[r.Index])
		delete(items, r.Index)
	}
	if len(seen) != b.Total {
		p.report(RuleBatch, b.ID, "%d of %d items have a result", len(seen), b.Total)
	}
	for status, n := range map[string]int{"completed": b.Completed, "failed": b.Failed, "cancelled": b.Cancelled} {
		if counts[status] != n {
			p.report(RuleBatch, b.ID, "%s is %d, %d items are", status, n, counts[status])
		}
	}
	for index, e := range items {
		p.report(RuleBatch, b.ID, "execution %s ran for item %d, which has no result", e.ID, index)
	}
}

// item compares an item with its execution.
func (p *prover) item(b *Batch, r BatchEntry, told Promise, e *Execution) {
	switch {
	case r.ExecutionID == "":
		if e != nil {
			p.report(RuleBatch, b.ID, "item %d names no execution, and %s ran for it", r.Index, e.ID)
		}
		if r.Status == "completed" {
			p.report(RuleBatch, b.ID, "item %d completed without an execution", r.Index)
		}
	case e == nil || e.ID != r.ExecutionID:
		p.report(RuleBatch, b.ID, "item %d names %s, which is not its execution", r.Index, r.ExecutionID)
	case e.Status != r.Status || r.Status == "completed" && Canonical(e.Result) != Canonical(r.Result):
		p.report(RuleBatch, b.ID, "item %d is %s with %s, its execution %s %s with %s",
			r.Index, r.Status, clip(r.Result), e.ID, e.Status, clip(e.Result))
	case Canonical(told.Inputs[r.Index]) != Canonical(e.Input):
		p.report(RuleChanged, e.ID, "item %d was sent as %s, stored as %s", r.Index, clip(told.Inputs[r.Index]), clip(e.Input))
	}
}
