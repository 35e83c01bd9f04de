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
	"github.com/wardroom/wardroom/sdk/wire"
)

// codeValidation is the interface's code of a request that is wrong.
const codeValidation = "VALIDATION_ERROR"

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
	Code    string       `json:"code"`
	Message string       `json:"message"`
	Details errorDetails `json:"details"`
}

// errorDetails is the error as the runtime has it, with reason and errors of every VALIDATION_ERROR.
type errorDetails struct {
	*runtime.Error
	Reason string         `json:"reason,omitempty"`
	Errors []wire.Problem `json:"errors,omitempty"`
}

// body returns what is answered for an error.
func body(err error) (int, errorBody) {
	if own, ok := errors.AsType[*httpError](err); ok {
		return own.status, describe(own.code, own.err)
	}
	e := runtime.AsError(err)
	status := e.Code.HTTPStatus()
	return status, describe(publicCode(e.Code, status), e)
}

// describe makes the body of an error. Its message alone names the field that is wrong.
func describe(code string, e *runtime.Error) errorBody {
	d := errorDetail{Code: code, Message: e.Message, Details: errorDetails{Error: e}}
	if e.Field != "" {
		d.Message = e.Field + ": " + e.Message
	}
	if code == codeValidation {
		d.Details.Reason = e.Message
		d.Details.Errors = []wire.Problem{{Path: e.Field, Reason: e.Message}}
	}
	return errorBody{Error: d}
}

// publicCode is the code that the interface has for an error: one of those that it names for runtimes, or one that all
// servers have. The runtime's own is in the details.
func publicCode(code runtime.Code, status int) string {
	switch code {
	case runtime.CodeCLINotFound, runtime.CodeAuthRequired, runtime.CodeSpawnFailed, runtime.CodeImageNotFound, runtime.CodeNetworkError,
		runtime.CodeResourceLimit, runtime.CodeSocketError:
		return string(code)
	}
	switch status {
	case http.StatusBadRequest:
		return codeValidation
	case http.StatusForbidden:
		return string(runtime.CodeForbidden)
	case http.StatusNotFound:
		return string(runtime.CodeNotFound)
	case http.StatusRequestTimeout:
		return string(runtime.CodeTimeout)
	case http.StatusConflict:
		return "CONFLICT"
	}
	return "INTERNAL_ERROR"
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
			"code", body.Error.Details.Code, "error", body.Error.Message)
	}
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	_ = reply(w, status, body)
}

// refuse answers an error that another package found, for example at the upgrade of a WebSocket.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, status int, err *runtime.Error) {
	s.fail(w, r, &httpError{status, publicCode(err.Code, status), err})
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
