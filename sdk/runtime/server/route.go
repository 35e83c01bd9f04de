package server

import (
	"bufio"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// handler answers a request, or returns the error to answer. It returns nil once it has begun to answer.
type handler func(w http.ResponseWriter, r *http.Request) error

// route is one path with its methods.
type route struct {
	path    string
	methods map[string]handler
	public  bool // needs no token
}

func (s *Server) table() []route {
	get := func(h handler) map[string]handler { return map[string]handler{http.MethodGet: h} }
	post := func(h handler) map[string]handler { return map[string]handler{http.MethodPost: h} }
	return []route{
		{path: "/health", methods: get(s.health), public: true},
		{path: "/capabilities", methods: get(s.capabilities)},
		{path: "/agents", methods: map[string]handler{http.MethodGet: s.listAgents, http.MethodPost: s.spawnAgent}},
		{path: "/agents/{id}", methods: map[string]handler{http.MethodGet: s.getAgent, http.MethodDelete: s.stopAgent}},
		{path: "/agents/{id}/restart", methods: post(s.restartAgent)},
		{path: "/agents/{id}/send", methods: post(s.send)},
		{path: "/agents/{id}/answer", methods: post(s.answer)},
		{path: "/agents/{id}/logs", methods: get(s.logs)},
		{path: "/agents/{id}/metrics", methods: get(s.metrics)},
		{path: "/events", methods: get(s.events)},
		{path: "/recover", methods: post(s.recover)},
		{path: "/prune", methods: post(s.prune)},
		{path: "/ws/agents/{id}/terminal", methods: get(s.terminal)},
		{path: "/ws/events", methods: get(s.eventSocket)},
	}
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for _, route := range s.table() {
		mux.Handle(route.path, s.serve(route))
		mux.Handle("/api"+route.path, s.serve(route))
	}
	unknown := s.serve(route{})
	mux.Handle("/", unknown)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The mux would redirect such a path, and not in JSON.
		if clean := path.Clean(r.URL.Path); clean != r.URL.Path && clean+"/" != r.URL.Path {
			unknown.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// serve is the edge of a route: who may call, which method, panics and errors.
func (s *Server) serve(route route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := &recorder{ResponseWriter: w}
		w.Header().Set(headerRequestID, requestID(r))
		defer func() {
			if reason := recover(); reason != nil {
				if reason == http.ErrAbortHandler { //nolint:errorlint // the very value, as net/http compares it
					panic(reason)
				}
				s.o.Logger.Error("a request panicked", "path", r.URL.Path, "panic", reason, "stack", string(debug.Stack()))
				if !out.begun {
					s.fail(out, r, runtime.Errorf(runtime.CodeInternal, "internal error of the runtime server"))
				}
			}
		}()
		if err := s.dispatch(out, r, route); err != nil && !out.begun {
			s.fail(out, r, err)
		}
	})
}

func (s *Server) dispatch(w http.ResponseWriter, r *http.Request, route route) error {
	if err := s.guard(r, route.public); err != nil {
		return err
	}
	if route.path == "" {
		return &httpError{http.StatusNotFound, "NOT_FOUND", runtime.Errorf(runtime.CodeUnimplemented, "there is no route %s", r.URL.Path)}
	}
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	handle, ok := route.methods[method]
	if !ok {
		allowed := slices.Sorted(maps.Keys(route.methods))
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return &httpError{http.StatusMethodNotAllowed, codeValidation, &runtime.Error{
			Code: runtime.CodeInvalidArgument, Field: "method",
			Message: fmt.Sprintf("%s does not have %s; it has %s", r.URL.Path, r.Method, strings.Join(allowed, ", ")),
		}}
	}
	return handle(w, r)
}

// recorder remembers whether the answer has begun, after which no error can be answered any more.
type recorder struct {
	http.ResponseWriter
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(p []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(p)
}

// Unwrap lets http.ResponseController find the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Hijack implements http.Hijacker, which the WebSocket library asks for by type.
func (w *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	w.begun = true
	return http.NewResponseController(w.ResponseWriter).Hijack()
}
