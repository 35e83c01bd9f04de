package proof

import "fmt"

// promises checks that what clients were told is so.
func (p *prover) promises() {
	keys := map[string]string{} // Idempotency-Key to id
	for _, told := range p.Promises {
		if told.Key != "" {
			if first, known := keys[told.Key]; known && first != told.ID {
				p.report(RuleTwice, told.ID, "key %s answered with %s before", told.Key, first)
			}
			keys[told.Key] = told.ID
		}
		if told.Kind == PromiseBatch {
			continue // batches checks them
		}
		e := p.Executions[told.ID]
		if e == nil {
			p.report(RuleLost, told.ID, "acknowledged (%s) and not in the store", told.Kind)
			continue
		}
		if told.Input != nil && Canonical(told.Input) != Canonical(e.Input) {
			p.report(RuleChanged, e.ID, "sent with input %s, stored with %s", clip(told.Input), clip(e.Input))
		}
		switch told.Kind {
		case PromiseExecution:
			p.answered(told, e)
		case PromiseCancel:
			if e.Status != "cancelled" || e.CancelledAt != told.CancelledAt {
				p.report(RuleChanged, e.ID, "cancel acknowledged with cancelledAt %s, stored %s with cancelledAt %s",
					told.CancelledAt, e.Status, e.CancelledAt)
			}
		case PromiseRetry:
			if e.RetryOf != told.RetryOf {
				p.report(RuleChanged, e.ID, "acknowledged as a retry of %s, stored as one of %q", told.RetryOf, e.RetryOf)
			}
		}
	}
}

// answered compares the answer of a sync execution with what is stored.
func (p *prover) answered(told Promise, e *Execution) {
	if told.Status == "" {
		return
	}
	if told.Status != e.Status || Canonical(told.Result) != Canonical(e.Result) && e.Status == "completed" {
		p.report(RuleChanged, e.ID, "answered %s with %s, stored %s with %s",
			told.Status, clip(told.Result), e.Status, clip(e.Result))
	}
}

// onlyOnce checks that no request, sent once or again with its key, made two executions.
func (p *prover) onlyOnce() {
	made := map[string]string{}
	for id, e := range p.Executions {
		nonce := e.Nonce()
		if nonce == "" || e.RetryOf != "" {
			continue
		}
		if e.BatchIndex != nil {
			nonce += fmt.Sprintf("[%d]", *e.BatchIndex)
		}
		if other, known := made[nonce]; known {
			p.report(RuleTwice, max(id, other), "request %s made %s too", nonce, min(id, other))
		}
		made[nonce] = id
	}
	retries := map[string]string{} // original to retry; the load retries an execution at most once
	for id, e := range p.Executions {
		if e.RetryOf == "" {
			continue
		}
		if other, known := retries[e.RetryOf]; known {
			p.report(RuleTwice, max(id, other), "the retry of %s made %s too", e.RetryOf, min(id, other))
		}
		retries[e.RetryOf] = id
	}
}
