package api

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/wardroom/wardroom/core"
)

// metaRoutes are about the service itself: its series and its description.
func (s *Server) metaRoutes() []Route {
	return []Route{
		{
			Method: http.MethodGet, Path: "/api/metrics", OperationID: "getMetrics",
			Summary: "Get the series in the text format of Prometheus.", Tag: "health", Resource: "metrics",
			Action: "metrics.read", Scope: core.ScopeRead, Public: metricsPublic,
			Responses: []Response{{Status: 200, Body: "", ContentType: "text/plain", Doc: "The series."}},
			Stream:    s.getMetrics,
		},
		{
			Method: http.MethodGet, Path: "/api/openapi.json", OperationID: "getOpenAPI",
			Summary: "Get this document.", Tag: "health", Resource: "openapi",
			Action: "openapi.read", Scope: "patterns:read", Public: always,
			Responses: []Response{{Status: 200, Body: map[string]any{}, Doc: "An OpenAPI 3.1 document."}},
			Handle: func(*call) (answer, error) {
				return answer{status: http.StatusOK, raw: s.document}, nil
			},
		},
	}
}

// Authenticates reports whether callers must prove who they are.
func (s *Server) Authenticates() bool { return s.opts.Authenticate != nil }

// Document returns the OpenAPI document. It is not to be changed.
func (s *Server) Document() []byte { return s.document }

func metricsHandler(g prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{
		ErrorHandling:      promhttp.ContinueOnError, // one broken collector must not hide the others
		DisableCompression: true,
	})
}

func (s *Server) getMetrics(c *call) error {
	s.metricsText.ServeHTTP(c.w, c.r)
	return nil
}
