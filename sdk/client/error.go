package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// Codes of the API's errors, and of the errors of failed executions.
const (
	CodeValidation   = "VALIDATION_ERROR"
	CodeUnauthorized = "UNAUTHORIZED"
	CodeForbidden    = "FORBIDDEN"
	CodeNotFound     = "NOT_FOUND"
	CodeTimeout      = "TIMEOUT"
	CodeConflict     = "CONFLICT"
	CodeRateLimited  = "RATE_LIMITED"
	CodeInternal     = "INTERNAL_ERROR"
	CodeNoAgents     = "NO_AGENTS"
	CodeAgentError   = "AGENT_ERROR" // of executions only
	CodeInterrupted  = "INTERRUPTED" // of executions only
)

// Error is an error answer of the API.
type Error struct {
	Status     int            // HTTP status
	Code       string         // one of the codes above
	Message    string         // for people
	Details    map[string]any // by code; may be nil
	RequestID  string         // names the request in the server's log
	RetryAfter time.Duration  // the server's wish; 0 when it had none
	Body       []byte         // the answer as it came

	foreign bool // it has not the API's form: a proxy may have answered
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Problem is one finding of the server's validation.
type Problem = wire.Problem

// Problems returns details.errors of a VALIDATION_ERROR: every problem the server found, or nil.
func (e *Error) Problems() []Problem {
	list, ok := e.Details["errors"].([]any)
	if !ok {
		return nil
	}
	var problems []Problem
	for _, item := range list {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		var p Problem
		p.Path, _ = fields["path"].(string)
		p.Reason, _ = fields["reason"].(string)
		line, _ := fields["line"].(float64)
		column, _ := fields["column"].(float64)
		p.Line, p.Column = int(line), int(column)
		problems = append(problems, p)
	}
	return problems
}

// ExecutionID returns details.executionId, which the errors of a synchronous execute carry once it has begun, or "".
func (e *Error) ExecutionID() string {
	id, _ := e.Details["executionId"].(string)
	return id
}

// goesOn reports whether the error names what the request began and what goes on, an execution or a message of a thread, or that
// the request was done and only its record was refused.
func (e *Error) goesOn() bool {
	return e.ExecutionID() != "" || e.Details["inputId"] != nil || e.Details["done"] == true
}

// ConnectionError is a request that got no answer.
type ConnectionError struct {
	Server string // base address
	// Sent is false when the connection could not be made, or its certificate is not trusted, so that the server never saw the request.
	Sent bool
	Err  error
}

// Error implements error.
func (e *ConnectionError) Error() string {
	if !e.Sent {
		return fmt.Sprintf("cannot connect to %s: %v", e.Server, e.Err)
	}
	return fmt.Sprintf("lost the connection to %s: %v", e.Server, e.Err)
}

// Unwrap returns the cause.
func (e *ConnectionError) Unwrap() error { return e.Err }

// CodeOf returns the API code of err, or "" when err is not an API error.
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}

// notFound reports whether err is the answer of a server that has not what the request names.
func notFound(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Code == CodeNotFound && !e.foreign
}

// Unreachable reports whether err may pass by itself: no connection, or an answer of 502, 503 or 504 that
// does not speak of missing agents.
func Unreachable(err error) bool {
	var conn *ConnectionError
	if errors.As(err, &conn) {
		return true
	}
	var e *Error
	if !errors.As(err, &e) || e.Code == CodeNoAgents {
		return false
	}
	switch e.Status {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// newError makes an Error of an answer. An answer without the API's envelope (a proxy's page) gets the code
// that fits its status.
func newError(resp *http.Response, body []byte) *Error {
	e := &Error{
		Status:     resp.StatusCode,
		RequestID:  resp.Header.Get("X-Request-Id"),
		RetryAfter: retryAfter(resp.Header.Get("Retry-After")),
		Body:       body,
	}
	var envelope struct {
		Error struct {
			Code    string         `json:"code"`
			Message string         `json:"message"`
			Details map[string]any `json:"details"`
		} `json:"error"`
		RequestID string `json:"requestId"`
	}
	if json.Unmarshal(body, &envelope) == nil && envelope.Error.Code != "" {
		e.Code, e.Message, e.Details = envelope.Error.Code, envelope.Error.Message, envelope.Error.Details
		if envelope.RequestID != "" {
			e.RequestID = envelope.RequestID
		}
		return e
	}
	e.foreign = true
	e.Code = codeOfStatus(resp.StatusCode)
	e.Message = fmt.Sprintf("the server answered %s without an error body; is this a Wardroom server?",
		strings.TrimSpace(fmt.Sprintf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode))))
	return e
}

func codeOfStatus(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return CodeUnauthorized
	case http.StatusForbidden:
		return CodeForbidden
	case http.StatusNotFound:
		return CodeNotFound
	case http.StatusRequestTimeout:
		return CodeTimeout
	case http.StatusConflict:
		return CodeConflict
	case http.StatusTooManyRequests:
		return CodeRateLimited
	}
	if status >= 500 || status < 400 {
		return CodeInternal
	}
	return CodeValidation
}

// retryAfter reads the header's form in seconds, which is the one Wardroom sends.
func retryAfter(header string) time.Duration {
	seconds, err := strconv.Atoi(header)
	if err != nil || seconds < 0 || seconds > 24*3600 {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
