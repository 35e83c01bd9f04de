package proof

// executions checks each execution against its own journal and the answers in it.
func (p *prover) executions() {
	for id, e := range p.Executions {
		j := p.readJournal(id)
		if !terminal(e.Status) {
			p.report(RuleLost, id, "%s, never ended", e.Status)
			continue
		}
		if want := ends[j.end]; want != e.Status {
			p.report(RuleJournal, id, "stored %s, and its journal ends with %q", e.Status, j.end)
		}
		switch e.Status {
		case "completed":
			p.completed(e, j)
		case "failed":
			code, message := "", ""
			if e.Error != nil {
				code, message = e.Error.Code, e.Error.Message
			}
			p.report(RuleUnexpected, id, "failed with %s: %s", code, message)
		}
	}
}

// completed checks that an outcome follows from the counted answers.
func (p *prover) completed(e *Execution, j *journal) {
	if j.started == 0 {
		p.report(RuleJournal, e.ID, "completed and never started")
	}
	p.silent(e.ID, &j.talk)
	type given struct{ agent, step, result string }
	answers := map[given]int{}
	for _, d := range j.counted {
		answers[given{d.AgentID, d.Step, Canonical(d.Result)}]++
	}
	for _, a := range e.Agents {
		if a.Status != "completed" {
			continue
		}
		key := given{a.ID, a.Step, Canonical(a.Result)}
		if answers[key] == 0 {
			p.report(RuleAnswer, e.ID, "agent %s is said to have answered %s in step %q, and the journal has no such answer",
				a.ID, clip(a.Result), a.Step)
			continue
		}
		answers[key]--
	}
	for left, n := range answers {
		if n > 0 {
			p.report(RuleAnswer, e.ID, "the answer %s of agent %s in step %q is in the journal and not in the execution",
				clip(left.result), left.agent, left.step)
		}
	}
	if p.Expect == nil {
		return
	}
	if want := p.Expect(e.Pattern.Name, e.Input); want != nil && Canonical(want) != Canonical(e.Result) {
		p.report(RuleAnswer, e.ID, "the result is %s, the answers come to %s", clip(e.Result), clip(want))
	}
}
