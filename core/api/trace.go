package api

import (
	"net/http"
	"time"

	"github.com/wardroom/wardroom/core"
)

// enterTrace puts the request into the trace of its caller, or one of its own. Only callers who are known have traces: what
// strangers send ends nowhere.
func (c *call) enterTrace() {
	if given := c.r.Header["Traceparent"]; len(given) == 1 {
		c.caller = core.ParseTraceparent(given[0])
	}
	if c.trace = c.s.opts.Tracer.Begin(c.caller); !c.trace.IsZero() {
		c.ctx = core.WithTrace(c.ctx, c.trace)
	}
}

// leaveTrace reports a request that is over. Ids, queries and names of callers are not in it.
func (c *call) leaveTrace(began time.Time, took time.Duration) {
	if !c.trace.Sampled {
		return
	}
	span := core.Span{
		Trace: c.trace, Parent: c.caller.SpanID, Name: c.route.OperationID, Kind: core.SpanServer, Start: began, End: began.Add(took),
		Attributes: []core.SpanAttribute{
			{Key: "http.request.method", Text: methodName(c)}, {Key: "http.route", Text: c.route.Path},
			{Key: "http.response.status_code", Number: int64(c.w.Status())},
		},
	}
	if c.w.Status() >= http.StatusInternalServerError {
		if span.Failed = string(c.code); span.Failed == "" {
			span.Failed = string(core.CodeInternal)
		}
	}
	c.s.opts.Tracer.Record(span)
}
