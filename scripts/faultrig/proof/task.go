package proof

import (
	"slices"
	"time"
)

// tasks checks the agents' own records against the journals: an answer whose acknowledgement reached the
// agent is final, and every answer that counts was given.
func (p *prover) tasks() {
	entries := slices.Clone(p.Entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return int(min(max(a.At-b.At, -1), 1)) })
	given := map[holder][]Entry{} // answers, oldest first
	settled := map[string]Entry{} // the acknowledgement of the counted answer, by task
	owner := map[string]string{}  // execution by task
	journals := map[string]*journal{}
	silent := &prover{Evidence: p.Evidence} // executions reported on the journals already
	for id := range p.Executions {
		journals[id] = silent.readJournal(id)
	}
	for _, entry := range entries {
		switch entry.Kind {
		case EntryHandout:
			owner[entry.TaskID] = entry.ExecutionID
			if p.Executions[entry.ExecutionID] == nil {
				p.report(RuleRepeated, entry.ExecutionID, "agent %s got task %s of an execution that is not of this round",
					entry.Name, entry.TaskID)
			}
			if ack, done := settled[entry.TaskID]; done {
				p.report(RuleRepeated, entry.ExecutionID, "task %s handed to agent %s (attempt %d) %s after its answer was acknowledged to %s",
					entry.TaskID, entry.Name, entry.Attempt, time.Duration(entry.At-ack.At), ack.Name)
			}
		case EntryAnswer:
			who := holder{entry.TaskID, entry.AgentID}
			given[who] = append(given[who], entry)
		case EntryAck:
			answers := given[holder{entry.TaskID, entry.AgentID}]
			if len(answers) == 0 || len(answers[len(answers)-1].Result) == 0 {
				continue // an error: the task may well come again
			}
			if p.acknowledged(entry, owner[entry.TaskID], journals) {
				settled[entry.TaskID] = entry
			}
		}
	}
	for id, j := range journals {
		for taskID, d := range j.counted {
			p.wasGiven(id, taskID, d, given[holder{taskID, d.AgentID}])
		}
	}
}

// acknowledged checks that an acknowledged answer left its trace, and reports whether it is the one that counts.
func (p *prover) acknowledged(ack Entry, id string, journals map[string]*journal) (counts bool) {
	e, j := p.Executions[id], journals[id]
	if e == nil {
		return false
	}
	if d, done := j.counted[ack.TaskID]; done {
		return d.AgentID == ack.AgentID
	}
	if j.late[holder{ack.TaskID, ack.AgentID}] {
		return false
	}
	// Without a trace, the execution must have been over when the answer came.
	over, err := time.Parse(time.RFC3339, e.CompletedAt)
	if err != nil || over.Add(-p.Ahead).UnixNano() > ack.At {
		p.report(RuleAnswer, id, "the answer of agent %s to task %s was acknowledged and is not in the journal", ack.Name, ack.TaskID)
	}
	return false
}

// wasGiven checks that an agent has on record the answer that counts.
func (p *prover) wasGiven(id, taskID string, d eventData, answers []Entry) {
	for _, a := range answers {
		if len(a.Result) > 0 && Canonical(a.Result) == Canonical(d.Result) {
			return
		}
	}
	if len(answers) == 0 {
		p.report(RuleAnswer, id, "the journal has an answer of agent %s to task %s that the agent never gave", d.AgentID, taskID)
		return
	}
	p.report(RuleAnswer, id, "agent %s answered %s to task %s, the journal has %s",
		d.AgentID, clip(answers[len(answers)-1].Result), taskID, clip(d.Result))
}
