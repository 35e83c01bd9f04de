package schedule

// Idle reports whether nothing is due or worked on.
func (s *Service) Idle() bool {
	if s.looked.Load() != s.asked.Load() {
		return false
	}
	now := s.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.working != [lanes]int{} {
		return false
	}
	for _, e := range s.entries {
		if !e.due.IsZero() && !e.due.After(now) {
			return false
		}
	}
	return true
}
