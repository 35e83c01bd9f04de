package api

import (
	"encoding/json"
	"time"
)

// accessLine is the line of the access log about a request. The route is as it is declared: ids and queries are not in
// it.
type accessLine struct {
	Time       time.Time `json:"time"`
	Log        string    `json:"log"` // always "access"
	RequestID  string    `json:"requestId"`
	Principal  string    `json:"principal,omitempty"`
	Address    string    `json:"address,omitempty"`
	Method     string    `json:"method"`
	Route      string    `json:"route"` // empty: there is none
	Operation  string    `json:"operation"`
	Status     int       `json:"status"`
	Code       string    `json:"code,omitempty"` // of the error
	DurationMs float64   `json:"durationMs"`     // of a stream until it ended
	Bytes      int       `json:"bytes"`          // of the answer's body
}

// logAccess writes the line of a request in the access log, where there is one.
func (s *Server) logAccess(c *call, took time.Duration) {
	if !c.config.AccessLog || s.opts.AccessLog == nil {
		return
	}
	method := c.route.Method
	if method == "" || isHead(c.w.Header()) {
		method = methodName(c)
	}
	line, err := json.Marshal(accessLine{
		Time: s.opts.Clock.Now().UTC(), Log: "access", RequestID: c.id, Principal: c.principal.ID, Address: c.origin, Method: method,
		Route: c.route.Path, Operation: c.route.OperationID, Status: c.w.Status(), Code: string(c.code),
		DurationMs: float64(took.Microseconds()) / 1000, Bytes: max(c.w.Size(), 0) + c.streamed,
	})
	if err != nil {
		return // texts and numbers: it does not happen
	}
	_, _ = s.opts.AccessLog.Write(append(line, '\n')) // who keeps the log says so if it cannot
}

// methodName is the method of a request, as far as it is one that HTTP has.
func methodName(c *call) string {
	switch {
	case isHead(c.w.Header()):
		return "HEAD"
	case len(c.r.Method) > 16:
		return c.r.Method[:16]
	}
	return c.r.Method
}
