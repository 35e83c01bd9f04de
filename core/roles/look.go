package roles

import (
	"strings"

	"github.com/wardroom/wardroom/core"
)

// lookOften looks at what no event tells of: runtimes that come and go, and reports that were not settled.
func (s *Service) lookOften() {
	for s.pause(s.ctx, lookInterval) {
		s.lookAtRuntimes()
		s.lookAtAgents()
	}
}

func (s *Service) lookAtRuntimes() {
	now := s.readiness()
	s.mu.Lock()
	changed := now != s.ready
	s.ready = now
	s.mu.Unlock()
	if changed && s.opts.Changed != nil {
		s.opts.Changed()
	}
}

// readiness is which runtimes are ready, with their types, as text to compare.
func (s *Service) readiness() string {
	var b strings.Builder
	for _, info := range s.agents.Runtimes(s.ctx) {
		if info.Ready {
			b.WriteString(info.Name)
			b.WriteByte('=')
			b.WriteString(strings.Join(info.Types, ","))
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// lookAtAgents reports again what the sink could not store, and finds agents whose end no event told.
func (s *Service) lookAtAgents() {
	now := s.opts.Clock.Now()
	var again []core.TaskReport
	var agents []*agent
	s.mu.Lock()
	for _, a := range s.crew {
		agents = append(agents, a)
		if j := a.task; j != nil && j.report != nil && now.Sub(j.reportedAt) >= unsettledTime {
			j.reportedAt = now
			again = append(again, *j.report)
		}
	}
	s.mu.Unlock()
	for _, report := range again {
		s.sink.TaskReported(report)
	}
	for _, a := range agents {
		found, err := s.agents.FindManagedAgent(s.ctx, a.id)
		ended := core.ErrorCode(err) == core.CodeNotFound || err == nil && found.Gone()
		s.mu.Lock()
		lost := ended && a.ended && a.state.read
		a.ended = ended
		s.mu.Unlock()
		if lost { // twice: its last events had their time
			s.lost(a)
		}
	}
}
