package engine

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
)

// keepOfChart picks the journal entries that a rerun of an org chart takes over: starts, ends and answers of the
// steps at the top level before fromStep, and with partial also of the first one that has no result and of the one
// after it: if that was begun at all, it refused an earlier round of the first, whose next round receives the reason.
func keepOfChart(chart *core.Chart, events []core.Event, fromStep string, partial bool) ([]core.Event, error) {
	type entry struct {
		Step  string `json:"step"`
		Round int    `json:"round"`
	}
	finished := map[int]bool{}
	entries := make([]entry, len(events))
	for i, ev := range events {
		switch ev.Type {
		case core.EventStepStarted, core.EventStepCompleted, core.EventTaskCompleted:
			if err := json.Unmarshal(ev.Data, &entries[i]); err != nil {
				return nil, err
			}
		}
		if index, top := topLevel(entries[i].Step); top {
			switch ev.Type {
			case core.EventStepStarted:
				delete(finished, index) // run again
			case core.EventStepCompleted:
				finished[index] = true
			}
		}
	}
	first := 0
	for finished[first] {
		first++
	}
	from := first
	if fromStep != "" {
		var ok bool
		if from, ok = topLevel(fromStep); !ok || from >= len(chart.Steps) {
			return nil, core.Invalid("fromStep", "the workflow has no step %q at its top level; its steps are 0 to %d", fromStep, len(chart.Steps)-1)
		}
		if from > first {
			return nil, core.Invalid("fromStep", "step %d has no finished result to build on; rerun from it or from an earlier step", first)
		}
	} else if first >= len(chart.Steps) {
		return nil, core.Invalid("fromStep", "every step has a finished result; name the step to run again")
	}
	bound := from
	if partial {
		bound += 2
	}
	var kept []core.Event
	for i, ev := range events {
		if entries[i].Step != "" && topOf(entries[i].Step) < bound {
			kept = append(kept, ev)
		}
	}
	return kept, nil
}
