package api

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/schema"
)

// buildRouter mounts the table.
func (s *Server) buildRouter(routes []Route) {
	gin.SetMode(gin.ReleaseMode) // the router's debug mode prints to stdout
	e := gin.New()
	e.RedirectTrailingSlash = false
	e.RedirectFixedPath = false
	e.HandleMethodNotAllowed = true
	// Segments are matched as they were escaped, so that %2F in a name does not split it. The router would
	// take "+" for a space when it unescapes; call.param does it properly.
	e.UseRawPath = true
	e.UnescapePathValues = false
	for i := range routes {
		b := &boundRoute{
			Route: routes[i], paramNames: routes[i].params(),
			observe: s.opts.Metrics.Route(routes[i].OperationID),
		}
		s.table = append(s.table, b)
		e.Handle(b.Method, b.routerPath(), func(gc *gin.Context) { s.serve(gc, b) })
	}
	s.unmatched = s.pseudoRoute("unmatched", func(c *call) (answer, error) {
		return answer{}, routeNotFound(c)
	})
	s.refused = s.pseudoRoute("refused", func(c *call) (answer, error) {
		allow := c.w.Header().Get("Allow")
		return answer{}, withStatus(http.StatusMethodNotAllowed, &core.Error{
			Code:    core.CodeValidation,
			Message: "method " + schema.Clip(c.r.Method) + " is not allowed here; allowed are " + allow,
			Details: map[string]any{"field": "method", "reason": "must be one of " + allow},
		})
	})
	e.NoRoute(func(gc *gin.Context) { s.serve(gc, s.unmatched) })
	e.NoMethod(func(gc *gin.Context) { s.serve(gc, s.refused) })
	s.engine = e
}

func routeNotFound(c *call) error {
	return core.NotFound("route", schema.Clip(c.r.Method+" "+strings.ToValidUTF8(c.r.URL.Path, "\uFFFD")))
}

// pseudoRoute returns a route for requests that are answered without one of the table.
func (s *Server) pseudoRoute(name string, handle func(c *call) (answer, error)) *boundRoute {
	return &boundRoute{
		Route:   Route{OperationID: name, Public: always, Handle: handle},
		observe: s.opts.Metrics.Route(name),
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodGet:
		// A client may offer its subprotocols on several lines (RFC 6455, section 11.3.4), of which only the first would be read.
		if lines := r.Header.Values(subprotocolHeader); len(lines) > 1 {
			r.Header.Set(subprotocolHeader, strings.Join(lines, ", "))
		}
	case http.MethodOptions:
		if r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != "" {
			s.preflight(w, r)
			return
		}
	case http.MethodHead:
		// Answered as a GET whose body net/http leaves out, since it goes by its own request's method.
		get := r.WithContext(r.Context())
		get.Method = http.MethodGet
		w.Header()[headHeader] = nil
		r = get
	}
	s.engine.ServeHTTP(w, r)
}

const subprotocolHeader = "Sec-WebSocket-Protocol"

// headHeader marks the answer to a HEAD request; a nil value is never sent.
const headHeader = "X-Wardroom-Head"

// isHead reports whether the client sent HEAD, which has no body and so no stream.
func isHead(h http.Header) bool {
	_, ok := h[headHeader]
	return ok
}

// Operations lists method and path of every route, for tests that compare the table with its uses.
func (s *Server) Operations() []string {
	var list []string
	for _, b := range s.table {
		list = append(list, strings.ToUpper(b.Method)+" "+b.Path)
	}
	return list
}
