package webhook

// MetadataBytes returns how much is kept of metadata for filters. The log is read to its end.
func (s *Service) MetadataBytes() int {
	s.reading.Lock()
	defer s.reading.Unlock()
	return s.metadataBytes
}
