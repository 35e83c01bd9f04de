package engine

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/wardroom/wardroom/core"
)

// team is the agents that got tasks of a run so far, for lists. Any goroutine may read it.
type team struct {
	mu    sync.Mutex // guards all below
	known map[string]struct{}
	team  core.Team
}

// join takes in an agent that gets a task.
func (t *team) join(agent, name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.known[agent]; ok {
		return
	}
	if t.known == nil {
		t.known = map[string]struct{}{}
	}
	t.known[agent] = struct{}{}
	t.team.Add(agent, name)
}

// replay takes in the agents that the journal names.
func (t *team) replay(events []core.Event, name func(agent string) string) {
	for i := range events {
		if events[i].Type != core.EventTaskAssigned {
			continue
		}
		var d assignedData
		if json.Unmarshal(events[i].Data, &d) != nil {
			continue // whoever resumes by the journal says so
		}
		for _, a := range d.Tasks {
			t.join(a.AgentID, name(a.AgentID))
		}
	}
}

// now returns the team as it is.
func (t *team) now() core.Team {
	t.mu.Lock()
	defer t.mu.Unlock()
	return core.Team{Count: t.team.Count, Names: slices.Clone(t.team.Names)}
}
