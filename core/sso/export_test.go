package sso

import "time"

// AnswerInVain notes an attempt that was answered and led to nothing.
func (s *Service) AnswerInVain(state string, ends, now time.Time) {
	s.answered.once(state, ends, now)
	s.answered.failed(state)
}

// InVain returns how many attempts are remembered that led to nothing, and how many others.
func (s *Service) InVain() (failed, others int) {
	s.answered.mu.Lock()
	defer s.answered.mu.Unlock()
	for _, one := range s.answered.states {
		if one.failed {
			failed++
		} else {
			others++
		}
	}
	return failed, others
}
