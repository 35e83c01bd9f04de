package api

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/core"
)

// Limits decides which requests may go on. *limits.Gate is one.
type Limits interface {
	// Admit returns the address that a request comes from, as it is counted by; FORBIDDEN if nothing may come from there.
	Admit(r *http.Request) (client string, err error)
	// Take counts a request of a client. The pattern is that of an execution, empty for others.
	Take(client string, kind core.RequestKind, pattern string) core.Quota
	// Hold counts a stream or socket that a client opens, until release is called, once. ok is false when it has as many as
	// it may, which is limit.
	Hold(client string, kind core.HoldKind) (release func(), limit int, ok bool)
}

// admitOrigin refuses a request that comes from where none may come from.
func (c *call) admitOrigin() (err error) {
	if c.s.opts.Limits == nil {
		return nil
	}
	c.origin, err = c.s.opts.Limits.Admit(c.r)
	return err
}

// takeQuota counts the request for who sends it: a principal, or an address for requests without a credential.
// Probes of the machine's supervisor are not counted.
func (c *call) takeQuota() error {
	if c.s.opts.Limits == nil || c.route.Probe {
		return nil
	}
	client := c.client()
	kind, pattern := core.RequestChange, ""
	switch {
	case c.r.Method == http.MethodGet || c.r.Method == http.MethodHead:
		kind = core.RequestRead
	case c.route.Action == "executions.create" && strings.HasPrefix(c.route.Path, "/api/patterns/{name}/"):
		kind = core.RequestExecute
		pattern, _ = c.unescaped(c.route.paramNames[0])
	}
	q := c.s.opts.Limits.Take(client, kind, pattern)
	if q.Limit > 0 {
		h := c.w.Header()
		h["X-RateLimit-Limit"] = []string{strconv.Itoa(q.Limit)}
		h["X-RateLimit-Remaining"] = []string{strconv.Itoa(q.Remaining)}
		h["X-RateLimit-Reset"] = []string{strconv.FormatInt(ceil(q.Reset), 10)}
	}
	if q.Allowed {
		return nil
	}
	e := core.RateLimited(int64(q.Limit), q.Window, max(q.Retry, time.Second), "too many requests: %s", limitTexts[q.By])
	e.Details["by"] = q.By
	return e
}

// client returns the id that the request is counted under.
func (c *call) client() string {
	if c.principal.Kind != core.PrincipalAnonymous {
		return "principal " + c.principal.ID
	}
	return "address " + c.origin
}

// hold counts the stream or socket that the request opens, until the function that it returns is called.
func (c *call) hold() (release func(), err error) {
	if c.s.opts.Limits == nil || c.route.Detached {
		return func() {}, nil
	}
	kind, what := core.HoldStream, "streams"
	if c.route.Socket {
		kind, what = core.HoldSocket, "terminals"
	}
	release, limit, ok := c.s.opts.Limits.Hold(c.client(), kind)
	if !ok {
		e := core.RateLimited(int64(limit), 0, retryHeld, "this client has as many %s open as one client may", what)
		e.Details["by"] = "client"
		return nil, e
	}
	return release, nil
}

// retryHeld is when a client that has too much open may look again.
const retryHeld = 5 * time.Second

var limitTexts = map[string]string{
	"global":  "all clients together send more than this server takes",
	"client":  "this client sends more than one client may",
	"pattern": "this pattern is executed more often than it may be",
}

// ceil returns a time in seconds since 1970, rounded up.
func ceil(t time.Time) int64 { return t.Add(time.Second - 1).Unix() }
