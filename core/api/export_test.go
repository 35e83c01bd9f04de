package api

import (
	"bytes"
	"cmp"
)

// What tests of the package's own parsers and encoders need.
var (
	EncodeFrame       = encodeFrame
	EncodeThreadFrame = encodeThreadFrame
	ParseMemory       = parseMemory
)

// Encode returns a body as it is answered.
func Encode(body any) string {
	var buf bytes.Buffer
	encodeBody(&buf, body)
	return buf.String()
}

// Table returns the routes of a server.
func (s *Server) Table() []Route {
	list := make([]Route, len(s.table))
	for i, bound := range s.table {
		list[i] = bound.Route
	}
	return list
}

// CheckRoutes is checkRoutes of routes that no Part has.
func CheckRoutes(routes []Route) error { return checkRoutes(routes, resources) }

// Contents reports whether what is read of a resource is content.
func (s *Server) Contents(resource string) bool { return s.resources[resource].content }

// CreatedIDs returns the prefix of the ids by which records name what an operation creates.
func (s *Server) CreatedIDs(r Route) string {
	return cmp.Or(auditIDs[r.OperationID], s.resources[r.Resource].ids)
}

// Editors returns how many hold or want the lock of a path.
func (s *Server) Editors(path string) int {
	s.editing.mu.Lock()
	defer s.editing.mu.Unlock()
	if one := s.editing.held[path]; one != nil {
		return one.n
	}
	return 0
}

// BodyGate counts request bodies that are being sent.
type BodyGate = bodyGate

// Take is take.
func (g *bodyGate) Take(client string, n, largest int64) error { return g.take(client, n, largest) }

// Give is give.
func (g *bodyGate) Give(client string, n int64) { g.give(client, n) }

// Sending returns how many bytes of bodies that are being sent are counted, and of how many clients.
func (s *Server) Sending() (bytes int64, clients int) {
	s.bodies.mu.Lock()
	defer s.bodies.mu.Unlock()
	return s.bodies.all, len(s.bodies.byClient)
}
