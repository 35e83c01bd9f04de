package engine

import (
	"encoding/json"
	"strings"

	"github.com/wardroom/wardroom/core"
)

// finishedSteps reads from a journal which steps came to a result.
func finishedSteps(events []core.Event) (map[string]bool, error) {
	finished := map[string]bool{}
	for _, ev := range events {
		switch ev.Type {
		case core.EventStepCompleted:
			var d stepData
			if err := json.Unmarshal(ev.Data, &d); err != nil {
				return nil, err
			}
			finished[d.Step] = true
		case core.EventExecutionCompleted:
			finished[""] = true // the one step of a pattern without steps
		}
	}
	return finished, nil
}

// keepEvents picks the journal entries that a rerun takes over: answers and ends of the kept steps, and
// with partial also the answers that an unfinished step got.
func keepEvents(events []core.Event, keep map[string]bool, partial bool) ([]core.Event, error) {
	finished, err := finishedSteps(events)
	if err != nil {
		return nil, err
	}
	rounds := map[string]int{}
	type entry struct {
		ev    core.Event
		step  string
		round int
	}
	var picked []entry
	for _, ev := range events {
		var d struct {
			Step  string `json:"step"`
			Round int    `json:"round"`
		}
		switch ev.Type {
		case core.EventTaskCompleted, core.EventStepCompleted:
			if err := json.Unmarshal(ev.Data, &d); err != nil {
				return nil, err
			}
		default:
			continue
		}
		top, _, _ := strings.Cut(d.Step, "/")
		if !keep[top] && (!partial || finished[top]) {
			continue
		}
		if ev.Type == core.EventTaskCompleted {
			rounds[d.Step] = max(rounds[d.Step], d.Round)
		} else {
			d.Round = -1 // ends are of the last round by nature
		}
		picked = append(picked, entry{ev, d.Step, d.Round})
	}
	kept := make([]core.Event, 0, len(picked))
	for _, p := range picked {
		if p.round < 0 || p.round == rounds[p.step] {
			kept = append(kept, p.ev)
		}
	}
	return kept, nil
}
