package memory

// BreakIndex closes the index below the service, so that whatever needs it next fails.
func (s *Service) BreakIndex() error {
	s.indexMu.RLock()
	defer s.indexMu.RUnlock()
	return s.index.bleve.Close()
}
