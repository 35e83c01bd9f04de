package api

import (
	"net/http"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// checkOrigin refuses what a browser sends on behalf of another site, unless the operator listed it. With
// no authentication on loopback this is what keeps a web page from driving the service.
func (c *call) checkOrigin() error {
	origin := c.r.Header.Get("Origin")
	if origin == "" || sameOrigin(origin, c.r) {
		return nil
	}
	if !allowedOrigin(c.config, origin) {
		return &core.Error{
			Code:    core.CodeForbidden,
			Message: "requests from the origin " + schema.Clip(origin) + " are refused; server.cors.origins lists those that are not",
			Details: map[string]any{"action": c.route.Action},
		}
	}
	h := c.w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers",
		"ETag, Location, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id, "+
			"X-Service-Version, Idempotent-Replayed")
	h.Add("Vary", "Origin")
	return nil
}

// preflight answers a browser that asks whether it may send a request.
func (s *Server) preflight(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if s.opts.Authenticate == nil {
		h["X-Service-Version"] = s.versionHeader
	}
	h["X-Content-Type-Options"] = nosniff
	h["Cache-Control"] = noStore
	h.Add("Vary", "Origin, Access-Control-Request-Method, Access-Control-Request-Headers")
	origin, config := r.Header.Get("Origin"), s.config.Load()
	err := s.checkHost(config, r)
	if err == nil && !sameOrigin(origin, r) && !allowedOrigin(config, origin) {
		err = &core.Error{
			Code:    core.CodeForbidden,
			Message: "requests from the origin " + schema.Clip(origin) + " are refused",
			Details: map[string]any{"action": "preflight"},
		}
	}
	if err != nil {
		id := s.opts.IDs.New(core.PrefixRequest)
		h["X-Request-Id"] = []string{id}
		a := errorAnswer(err, id)
		s.logRefused(id, refusal{operation: "preflight", status: a.status, code: core.ErrorCode(err), principal: core.Anonymous.ID})
		writeAnswer(w, nil, a)
		return
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH, DELETE")
	h.Set("Access-Control-Allow-Headers",
		"Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, X-Request-Id")
	h.Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}

// sameOrigin reports whether an origin is the host that the request was sent to. Over TLS a page of plain http is another
// site: whoever is on the way can write it, and the browser adds the certificate of its user. Without TLS the scheme proves
// nothing, since a proxy may speak https to the browser.
func sameOrigin(origin string, r *http.Request) bool {
	scheme, host, ok := strings.Cut(origin, "://")
	return ok && strings.EqualFold(host, r.Host) && (r.TLS == nil || strings.EqualFold(scheme, "https"))
}

func allowedOrigin(config *Config, origin string) bool {
	return slices.ContainsFunc(config.CORSOrigins, func(o string) bool {
		return o == "*" || strings.EqualFold(o, origin)
	})
}
