package core

import "time"

// RequestKind is the kind of a request that limits of rate tell apart.
type RequestKind int

// Kinds of requests.
const (
	RequestRead    RequestKind = iota // GET and HEAD
	RequestChange                     // all others
	RequestExecute                    // the start of an execution of a pattern
)

// HoldKind is the kind of a thing that a principal holds open, and that limits count.
type HoldKind int

// Kinds of what lasts.
const (
	HoldStream HoldKind = iota // of server-sent events
	HoldSocket                 // a WebSocket of a terminal
)

// Quota is the decision of the limits of rate about a request. Limit, Remaining and Reset are those of the limit that
// is nearest to exhaustion.
type Quota struct {
	Allowed   bool
	Limit     int           // requests at once; 0: no limit applies
	Remaining int           // of them
	Window    time.Duration // in which all of them come again
	Reset     time.Time     // when all of them are there again, if no more requests come
	Retry     time.Duration // after which the request would be allowed; 0 if it is
	By        string        // which limit refused: global, client or pattern; empty if none did
}
