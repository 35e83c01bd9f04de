package access

// Addresses returns how many addresses are kept for their failed attempts.
func (s *Service) Addresses() int {
	s.failures.mu.Lock()
	defer s.failures.mu.Unlock()
	return len(s.failures.since)
}
