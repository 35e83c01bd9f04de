package config

import (
	"net/netip"
	"net/url"
	"time"
)

// Observability is what other systems receive about how the work goes, beside metrics.
type Observability struct {
	// Traces of requests, executions, tasks, turns of agents and deliveries, by OpenTelemetry's protocol over HTTP.
	Tracing Tracing `json:"tracing"`
}

// Tracing is where traces go, and which.
type Tracing struct {
	// Whether there are traces. Requests, tasks of agents and deliveries then carry a traceparent.
	Enabled bool `json:"enabled"`
	// Address of the collector; /v1/traces is added where it has no path.
	Endpoint string `json:"endpoint" default:"http://127.0.0.1:4318" check:"is=url"`
	// Headers of each request to the collector, such as one with a token. Their values are never shown; they are sent over
	// https, or to this machine.
	Headers Headers `json:"headers,omitempty"`
	// Certificates that the collector's must come from, in PEM. Empty: those that the machine trusts.
	CAFile string `json:"caFile" check:"path"`
	// How many of a million traces that begin here are kept: 10000 is one in a hundred. A trace that a caller began is kept
	// where the caller keeps it.
	SamplePerMillion int `json:"samplePerMillion" default:"10000" check:"min=0,max=1000000"`
	// Spans that wait for the collector. Beyond that they are dropped, and counted in service_trace_spans_total.
	Queue int `json:"queue" default:"2048" check:"min=128,max=1000000"`
	// How long the collector may take for one batch, repeats included. What it does not take by then is dropped.
	Timeout time.Duration `json:"timeout" default:"10s" check:"min=1s,max=1m"`
}

// tracing reports a collector that cannot be reached as it is configured.
func (r *ruling) tracing(t *Tracing) {
	const section = "observability.tracing"
	u, err := url.Parse(t.Endpoint)
	if err != nil || r.isWrong(section) {
		return
	}
	host, _ := netip.ParseAddr(u.Hostname())
	switch {
	case t.Enabled && t.Endpoint == "":
		r.refuse(section, "endpoint", "is missing: say where the collector is, such as http://127.0.0.1:4318")
	case u.User != nil:
		r.refuse(section, "endpoint", "holds a password: give the collector a header in %s.headers", section)
	case len(t.Headers) > maxHeaders || t.Headers.size() > maxHeaderBytes:
		r.refuse(section, "headers", "are %d of %d bytes; at most %d of %d bytes together are allowed", len(t.Headers), t.Headers.size(), maxHeaders, maxHeaderBytes)
	case u.Scheme == "http" && len(t.Headers) > 0 && !host.IsLoopback() && u.Hostname() != "localhost":
		r.refuse(section, "headers", "would be readable on the way: they go to a collector under https://, or on this machine")
	case u.Scheme == "http" && t.CAFile != "":
		r.refuse(section, "caFile", "is of no use: the endpoint begins with http://")
	}
}
