package server

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// httpError is an error that HTTP has and the runtime has not.
type httpError struct {
	status int
	code   string
	err    *runtime.Error
}

// Error implements error.
func (e *httpError) Error() string { return fmt.Sprintf("%d: %s", e.status, e.err.Message) }

type errorBody struct {
	Error     errorDetail `json:"error"`
	RequestID string      `json:"requestId"`
}

type errorDetail struct {
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Details *runtime.Error `json:"details"`
}

// body returns what is answered for an error.
func body(err error) (int, errorBody) {
	var own *httpError
	if errors.As(err, &own) {
		return own.status, errorBody{Error: errorDetail{own.code, own.err.Message, own.err}}
	}
	e := runtime.AsError(err)
	return e.Code.HTTPStatus(), errorBody{Error: errorDetail{string(e.Code), e.Message, e}}
}

// headerRequestID names a request: what the caller sends, if it is a word of that sort, else one that is made here.
const headerRequestID = "X-Request-Id"

func requestID(r *http.Request) string {
	if id := r.Header.Get(headerRequestID); id != "" && len(id) <= 128 && !strings.ContainsFunc(id, notOfAnID) {
		return id
	}
	return "req_" + rand.Text()
}

func notOfAnID(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_.:", r)
}

// fail answers an error. Errors of the caller are no matter for the log.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, body := body(err)
	body.RequestID = w.Header().Get(headerRequestID)
	if status >= http.StatusInternalServerError {
		s.o.Logger.Warn("a call failed", "method", r.Method, "path", r.URL.Path, "status", status, "request", body.RequestID,
			"code", body.Error.Code, "error", body.Error.Message)
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	_ = reply(w, status, body)
}

// refuse answers an error that another package found, for example at the upgrade of a WebSocket.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, err *runtime.Error) {
	s.fail(w, r, &httpError{status, string(err.Code), err})
}

// reply answers JSON.
func reply(w http.ResponseWriter, status int, value any) error {
	data, err := encode(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(data, '\n')) // a caller that left is no error
	return nil
}

// encode writes JSON as people read it: nothing in it is escaped for the sake of HTML.
func encode(value any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}
