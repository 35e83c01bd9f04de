package threads

import (
	"encoding/json"

	"github.com/wardroom/wardroom/core"
)

// NameOf is how a thread is called when nobody says.
var NameOf = nameOf

// Fold applies an event of an agent to a record and returns what became of it, with the events that follow.
func (s *Service) Fold(r *core.ThreadRecord, kind core.EventType, data json.RawMessage) (*core.ThreadRecord, []core.Event) {
	t := s.newThread(r)
	defer t.cancel()
	next := *r
	c := &change{t: t, now: s.clock.Now(), old: r, rec: &next}
	c.apply(kind, readSignal(data))
	return c.rec, c.events
}

// Kept returns how many entries are kept of threads and executions that are not over.
func (s *Service) Kept() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live) + len(s.roles) + len(s.spawns) + len(s.crew) + len(s.watches) + len(s.members) + s.spawned + s.starting
}
