package fakemodel

import (
	"errors"
	"net/http"
	"regexp"
	"strings"
)

// dialect is one API: how to read its requests and write its answers.
type dialect struct {
	api string
	// read finds the last user text and the tool results after it.
	read func(b node) (user string, results []string)
	// side is the schema of a question beside the conversation.
	side func(b node) (schema node, ok bool)
	// offers returns which tools of its own the program has: a shell, and asking the user.
	offers func(b node) (shell, ask bool)
	// write answers with the step that was decided.
	write func(x *exchange)
}

// geminiPath is .../models/<model>:<method>.
var geminiPath = regexp.MustCompile(`/models/([^:/]+):(\w+)$`)

// harmless are paths of telemetry and feature flags, which get an empty answer.
var harmless = regexp.MustCompile(`(?i)(event|log|metric|trace|telemetry|statsig|track|flags)`)

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, controlPrefix) {
		s.serveControl(w, r) // not limited: a release has to come through when every place is held
		return
	}
	x := &exchange{
		server: s, request: r, w: w, control: http.NewResponseController(w),
		entry: &Request{Method: r.Method, Path: r.URL.Path, API: "other"},
	}
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	default:
		x.refuse(s.overloaded("too many requests at once"))
		return
	}
	if n := s.model.Add(1); s.options.MaxRequests > 0 && n > s.options.MaxRequests {
		x.refuse(s.overloaded("no more requests are answered"))
		return
	}
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		x.get()
	} else {
		x.post()
	}
	if x.err != nil {
		panic(http.ErrAbortHandler) // else half an answer, or none, ends like a whole one
	}
}

func (s *Server) overloaded(why string) error {
	return &refusal{http.StatusServiceUnavailable, "overloaded_error", "fakemodel limit: " + why}
}

// get answers what the programs look up besides: whether the endpoint is there, and its models.
func (x *exchange) get() {
	x.begin()
	defer x.end()
	path := x.entry.Path
	switch {
	case strings.EqualFold(x.request.Header.Get("Upgrade"), "websocket"):
		x.mark(func() { x.entry.API = "websocket" })
		x.fail(&refusal{http.StatusUpgradeRequired, "invalid_request_error", "fakemodel: websockets are not offered"})
	case strings.HasSuffix(path, "/models") || strings.Contains(path, "/models/"):
		if strings.Contains(path, "/v1beta/") {
			x.reply(http.StatusOK, geminiModels)
		} else {
			x.reply(http.StatusOK, openModels)
		}
	case path == "/" || path == "/health" || path == "/v1" || path == "/v1beta":
		x.reply(http.StatusOK, object{"ok": true})
	default:
		x.fail(noSuchPath(path))
	}
}

// post answers what carries a body.
func (x *exchange) post() {
	var err error
	if x.body, err = x.server.readBody(x.w, x.request); err != nil {
		x.refuse(err)
		return
	}
	x.entry.Model = x.body.get("model").text()
	x.entry.Stream = x.body.get("stream").isTrue()
	x.entry.Tools = len(x.body.get("tools").list())
	path := x.entry.Path
	gemini := geminiPath.FindStringSubmatch(path)
	switch {
	case strings.HasSuffix(path, "/messages/count_tokens"):
		x.entry.API = "anthropic-count"
		x.only(object{"input_tokens": x.inputTokens()})
	case strings.HasSuffix(path, "/v1/messages"):
		x.converse(anthropic)
	case strings.HasSuffix(path, "/chat/completions"):
		x.converse(chat)
	case strings.HasSuffix(path, "/responses"):
		x.converse(responses)
	case gemini != nil:
		x.entry.Model = gemini[1]
		x.gemini(gemini[2], x.request.URL.Query().Get("alt") == "sse")
	case harmless.MatchString(path):
		x.only(object{})
	default:
		x.refuse(noSuchPath(path))
	}
}

func noSuchPath(path string) error {
	return &refusal{http.StatusNotFound, "not_found_error", "fakemodel: no such path " + path}
}

// begin puts the request into the log, end completes its entry.
func (x *exchange) begin() {
	x.entry.ReceivedNs = x.server.now()
	x.server.log.add(x.entry)
}

func (x *exchange) end() {
	x.server.log.end(x.entry, func() {
		x.entry.DoneNs = x.server.now()
		if x.err != nil && x.entry.Note == "" {
			x.entry.Note = "client gone"
			if errors.Is(x.err, errCut) {
				x.entry.Note = "cut"
			}
		}
	})
}

func (x *exchange) mark(f func()) { x.server.log.mark(f) }

// only answers with one document.
func (x *exchange) only(v any) {
	x.begin()
	defer x.end()
	x.reply(http.StatusOK, v)
}

// refuse logs a request and answers with an error.
func (x *exchange) refuse(err error) {
	x.begin()
	defer x.end()
	x.fail(err)
}

// fail answers with an error in a shape that all programs read. It closes the connection after a body that was
// not read to its end.
func (x *exchange) fail(err error) {
	var why *refusal
	if !errors.As(err, &why) {
		why = &refusal{http.StatusInternalServerError, "api_error", err.Error()}
	}
	x.mark(func() { x.entry.Note = truncate(why.message, maxLogged) })
	if why.status == http.StatusRequestEntityTooLarge {
		x.w.Header().Set("Connection", "close")
	}
	var code any = why.kind
	if strings.HasPrefix(x.entry.API, "gemini") {
		code = why.status
	}
	x.reply(why.status, object{"type": "error", "error": object{
		"type": why.kind, "code": code, "status": googleStatus(why.status), "message": why.message,
	}})
}
