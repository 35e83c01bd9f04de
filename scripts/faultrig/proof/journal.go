package proof

import "encoding/json"

// Types of journal events that the rules look at.
const (
	eventStarted       = "execution.started"
	eventCompleted     = "execution.completed"
	eventFailed        = "execution.failed"
	eventCancelled     = "execution.cancelled"
	eventAssigned      = "task.assigned"
	eventTaskCompleted = "task.completed"
	eventLate          = "task.late"
	eventStepCompleted = "step.completed"
)

// ends maps the event that ends a journal to the status that it stands for.
var ends = map[string]string{eventCompleted: "completed", eventFailed: "failed", eventCancelled: "cancelled"}

// eventData is the union of the data of those events.
type eventData struct {
	talkData
	TaskID  string          `json:"taskId"`
	AgentID string          `json:"agentId"`
	Attempt int             `json:"attempt"`
	Step    string          `json:"step"`
	Round   int             `json:"round"`
	Result  json.RawMessage `json:"result"`
	Tasks   []struct {
		TaskID  string `json:"taskId"`
		AgentID string `json:"agentId"`
		Attempt int    `json:"attempt"`
	} `json:"tasks"`
}

// holder is a task at an agent.
type holder struct{ taskID, agentID string }

// journal is the state of one execution, folded from its events.
type journal struct {
	counted map[string]eventData // the answer that counts, by task id
	late    map[holder]bool
	steps   map[string]bool // finished
	started int
	end     string   // type of the terminal event
	shown   []Frame  // the events that streams show
	order   []string // tasks in the order in which their answers counted
	talk    talk
}

// readJournal folds the events of an execution, and reports what cannot follow what.
func (p *prover) readJournal(id string) *journal {
	j := &journal{counted: map[string]eventData{}, late: map[holder]bool{}, steps: map[string]bool{},
		talk: talk{waiting: map[string]bool{}, questions: map[string]bool{}}}
	var last uint64
	attempts := map[string]int{}
	for _, ev := range p.Journals[id] {
		if ev.Sequence <= last {
			p.report(RuleJournal, id, "event %d (%s) comes after event %d", ev.Sequence, ev.Type, last)
		}
		last = ev.Sequence
		if j.end != "" {
			p.report(RuleJournal, id, "event %d (%s) comes after the end (%s)", ev.Sequence, ev.Type, j.end)
		}
		var d eventData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			p.report(RuleJournal, id, "event %d (%s): %v", ev.Sequence, ev.Type, err)
			continue
		}
		if name := chartFrames[ev.Type]; name != "" {
			j.show(ev, name)
			p.said(id, ev, d.talkData, &j.talk)
		}
		switch ev.Type {
		case eventStarted:
			j.show(ev, "started")
			if j.started++; j.started > 1 {
				p.report(RuleJournal, id, "event %d: started twice", ev.Sequence)
			}
		case eventAssigned:
			p.assigned(id, ev, d, j, attempts)
		case eventTaskCompleted:
			j.show(ev, "agent_result")
			if _, known := j.counted[d.TaskID]; known {
				p.report(RuleRepeated, id, "event %d: task %s completed twice", ev.Sequence, d.TaskID)
			}
			if j.steps[d.Step] {
				p.report(RuleRepeated, id, "event %d: answer to step %q, which is finished", ev.Sequence, d.Step)
			}
			j.counted[d.TaskID] = d
			j.order = append(j.order, d.TaskID)
		case eventLate:
			j.late[holder{d.TaskID, d.AgentID}] = true
		case eventStepCompleted:
			if d.Step != "" {
				j.show(ev, "step_completed")
			}
			if j.steps[d.Step] {
				p.report(RuleRepeated, id, "event %d: step %q finished twice", ev.Sequence, d.Step)
			}
			j.steps[d.Step] = true
		case eventCompleted, eventFailed, eventCancelled:
			j.show(ev, ends[ev.Type])
			j.end = ev.Type
		}
	}
	return j
}

func (j *journal) show(ev Event, name string) {
	j.shown = append(j.shown, Frame{ev.Sequence, name})
}

// assigned checks a hand-out: never of finished work, always with a higher fencing token.
func (p *prover) assigned(id string, ev Event, d eventData, j *journal, attempts map[string]int) {
	if j.steps[d.Step] {
		p.report(RuleRepeated, id, "event %d: step %q is finished and handed out again", ev.Sequence, d.Step)
	}
	for _, t := range d.Tasks {
		if _, done := j.counted[t.TaskID]; done {
			p.report(RuleRepeated, id, "event %d: task %s is answered and handed out again", ev.Sequence, t.TaskID)
		}
		if t.Attempt <= attempts[t.TaskID] {
			p.report(RuleJournal, id, "event %d: task %s handed out with attempt %d after attempt %d",
				ev.Sequence, t.TaskID, t.Attempt, attempts[t.TaskID])
		}
		attempts[t.TaskID] = t.Attempt
	}
}
