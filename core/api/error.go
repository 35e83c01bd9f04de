package api

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strconv"

	"github.com/wardroom/wardroom/core"
)

// statuses maps the closed set of codes to HTTP. The codes of failed executions alone never reach it.
var statuses = map[core.Code]int{
	core.CodeValidation:   http.StatusBadRequest,
	core.CodeUnauthorized: http.StatusUnauthorized,
	core.CodeForbidden:    http.StatusForbidden,
	core.CodeNotFound:     http.StatusNotFound,
	core.CodeTimeout:      http.StatusRequestTimeout,
	core.CodeConflict:     http.StatusConflict,
	core.CodeRateLimited:  http.StatusTooManyRequests,
	core.CodeInternal:     http.StatusInternalServerError,
	core.CodeNoAgents:     http.StatusServiceUnavailable,
}

// runtimeStatuses are the statuses of failures that a runtime tells by details.runtimeCode. Their messages are
// written for callers, so they are shown although the code may be INTERNAL_ERROR.
var runtimeStatuses = map[string]int{
	"CLI_NOT_FOUND":   http.StatusUnprocessableEntity,
	"IMAGE_NOT_FOUND": http.StatusUnprocessableEntity,
	"AUTH_REQUIRED":   http.StatusConflict,
	"SPAWN_FAILED":    http.StatusInternalServerError,
	"NETWORK_ERROR":   http.StatusBadGateway,
	"RESOURCE_LIMIT":  http.StatusServiceUnavailable,
	"SOCKET_ERROR":    http.StatusServiceUnavailable,
	"UNIMPLEMENTED":   http.StatusInternalServerError,
}

// statusError is an error whose status differs from that of its code.
type statusError struct {
	status int
	err    *core.Error
}

// Error implements error.
func (e *statusError) Error() string { return e.err.Error() }

// Unwrap lets core.AsError find the error inside.
func (e *statusError) Unwrap() error { return e.err }

func withStatus(status int, err *core.Error) error { return &statusError{status, err} }

// errorBody is the error answer.
type errorBody struct {
	Error     errorDetail `json:"error"`
	RequestID string      `json:"requestId" doc:"Also in the header X-Request-Id and in the log."`
}

type errorDetail struct {
	Code    string         `json:"code" enum:"VALIDATION_ERROR,UNAUTHORIZED,FORBIDDEN,NOT_FOUND,TIMEOUT,CONFLICT,RATE_LIMITED,INTERNAL_ERROR,NO_AGENTS"`
	Message string         `json:"message"`
	Details map[string]any `json:"details" doc:"Depends on the code; never internals."`
}

// errorAnswer renders an error.
func errorAnswer(err error, requestID string) answer {
	e := core.AsError(err)
	status, ok := statuses[e.Code]
	code := e.Code
	if !ok { // a code of failed executions: on an answer it can only be our mistake
		status, code = http.StatusInternalServerError, core.CodeInternal
	}
	var own *statusError
	if errors.As(err, &own) {
		status = own.status
	}
	runtimeCode, _ := e.Details["runtimeCode"].(string)
	runtimeStatus, ofRuntime := runtimeStatuses[runtimeCode]
	if ofRuntime {
		status = runtimeStatus
	}
	a := answer{}
	message, details := e.Message, e.Details
	switch {
	case e.Unavailable:
		status = http.StatusServiceUnavailable
		a.retryAfter = retryAfter5
	case code == core.CodeInternal && !ofRuntime:
		message, details = "internal error", nil
	case status == http.StatusServiceUnavailable && ofRuntime:
		a.retryAfter = retryAfter5
	case code == core.CodeRateLimited || code == core.CodeNoAgents:
		a.retryAfter = retryAfter(details)
	}
	if code == core.CodeValidation {
		details = withProblems(details)
	}
	if details == nil {
		details = map[string]any{}
	}
	a.status = status
	a.body = errorBody{
		Error:     errorDetail{Code: string(code), Message: message, Details: details},
		RequestID: requestID,
	}
	return a
}

// withProblems completes the details of a VALIDATION_ERROR: whoever reads errors finds every problem there,
// a lone one too.
func withProblems(details map[string]any) map[string]any {
	if _, ok := details["errors"]; ok {
		return details
	}
	field, _ := details["field"].(string)
	reason, _ := details["reason"].(string)
	if field == "" && reason == "" {
		return details
	}
	whole := maps.Clone(details) // the error may be shared
	whole["errors"] = []core.Problem{{Path: field, Reason: reason}}
	return whole
}

// retryAfter is the header that goes with details {retryAfter} in seconds.
func retryAfter(details map[string]any) []string {
	if s, ok := details["retryAfter"].(int); ok && s > 0 {
		return []string{strconv.Itoa(s)}
	}
	return retryAfter5
}

// fail ends the request with an error. This is where errors stop, so here they are logged, once.
func (c *call) fail(err error) {
	if c.w.Written() {
		// The answer has begun and cannot be taken back: cut the connection, so that it is not mistaken
		// for a whole one.
		c.s.log.Error("answer broke off", "request", c.id, "operation", c.route.OperationID, "error", err)
		panic(http.ErrAbortHandler)
	}
	if c.r.Context().Err() != nil && errors.Is(err, context.Canceled) {
		c.w.WriteHeader(statusClientLeft)
		return
	}
	e := core.AsError(err)
	if _, known := statuses[e.Code]; !known || e.Code == core.CodeInternal {
		c.logged = true
		c.s.log.Error("request failed", "request", c.id, "operation", c.route.OperationID, "code", string(e.Code),
			"principal", c.principal.ID, "error", err)
	}
	if e.Code == core.CodeUnauthorized {
		c.w.Header().Set("WWW-Authenticate", `Bearer realm="wardroom"`)
		if c.r.TLS != nil && len(c.r.TLS.PeerCertificates) > 0 { // another certificate takes another connection
			c.w.Header()["Connection"] = []string{"close"}
		}
	}
	reply := errorAnswer(err, c.id)
	if body, ok := reply.body.(errorBody); ok && e.Code == core.CodeForbidden && body.Error.Details["action"] == nil && c.route.Action != "" {
		details := maps.Clone(body.Error.Details) // which may be those of an error that many callers get
		details["action"] = c.route.Action
		body.Error.Details = details
		reply.body = body
	}
	c.respond(reply)
}

// statusClientLeft counts requests whose client did not wait for the answer. Nobody sees it on the wire.
const statusClientLeft = 499
