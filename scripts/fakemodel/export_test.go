package fakemodel

import "net/http"

// Serve answers a request without a network, for fuzzing: goroutines of a network make coverage change by
// itself.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request) { s.serve(w, r) }
