package trigger

// Received returns how many requests to a trigger are worked on or wait.
func (s *Service) Received(id string) int {
	e, _ := s.peek(id)
	return int(e.received.Load())
}

// MaxReceived is the bound of it.
const MaxReceived = maxReceived
