package core

import (
	"errors"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// What is public of errors.
type (
	Code    = wire.Code
	Problem = wire.Problem
)

// The closed set of error codes.
const (
	CodeValidation   Code = "VALIDATION_ERROR" // the request is wrong; it changed nothing
	CodeUnauthorized Code = "UNAUTHORIZED"     // no credential, or one that does not verify
	CodeForbidden    Code = "FORBIDDEN"        // a good credential without the right
	CodeNotFound     Code = "NOT_FOUND"        // the named resource does not exist
	CodeTimeout      Code = "TIMEOUT"          // a deadline passed
	CodeConflict     Code = "CONFLICT"         // the resource's present state refuses the request
	CodeRateLimited  Code = "RATE_LIMITED"     // a bound on rate or queue length was met
	CodeInternal     Code = "INTERNAL_ERROR"   // our fault, or a dependency's; the text is generic
	CodeNoAgents     Code = "NO_AGENTS"        // fewer capable agents than the pattern needs
)

// Codes that appear only as the reason of a failed execution, never as the code of an HTTP answer.
const (
	CodeAgentError       Code = "AGENT_ERROR"       // an agent reported an error or ran over its task time
	CodeInterrupted      Code = "INTERRUPTED"       // the work cannot go on after a restart
	CodeApprovalRejected Code = "APPROVAL_REJECTED" // an approve step with onReject: fail said no
	CodeEscalationFailed Code = "ESCALATION_FAILED" // an escalation ended in fail
)

// Error is the one error type that crosses package borders. Message and Details are written for the
// caller of the API and may be shown to them; the wrapped cause is for the log only.
type Error struct {
	Code    Code
	Message string
	// Details holds the fields that decisions.md lists per code, for example {field, reason, errors}.
	Details map[string]any
	// Unavailable marks an error that passes by itself (store low on space, shutting down, a runtime that is away): HTTP
	// answers 503 with Retry-After.
	Unavailable bool

	cause error
}

// Error implements error. The cause is part of the text, so it goes to logs and never to callers.
func (e *Error) Error() string {
	if e.cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Code, e.Message, e.cause)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// WithCause returns a copy of e that wraps cause, for the log.
func (e *Error) WithCause(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// Errorf makes an Error without details.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid makes a VALIDATION_ERROR for one field.
func Invalid(field, format string, args ...any) *Error {
	reason := fmt.Sprintf(format, args...)
	return &Error{
		Code:    CodeValidation,
		Message: field + ": " + reason,
		Details: map[string]any{"field": field, "reason": reason},
	}
}

// InvalidAll makes one VALIDATION_ERROR that lists every problem. It returns nil for an empty list, as an
// untyped nil error so that callers may return it directly.
func InvalidAll(what string, problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	first := problems[0]
	message := fmt.Sprintf("%s: %s: %s", what, first.Path, first.Reason)
	if first.Path == what {
		message = fmt.Sprintf("%s: %s", what, first.Reason)
	}
	if more := len(problems) - 1; more > 0 {
		message += fmt.Sprintf(" (and %d more)", more)
	}
	return &Error{
		Code:    CodeValidation,
		Message: message,
		Details: map[string]any{"field": first.Path, "reason": first.Reason, "errors": problems},
	}
}

// NotFound makes a NOT_FOUND error for a resource kind ("pattern", "execution") and its id.
func NotFound(resource, id string) *Error {
	return &Error{
		Code:    CodeNotFound,
		Message: fmt.Sprintf("%s %q does not exist", resource, id),
		Details: map[string]any{"resource": resource, "id": id},
	}
}

// Conflict makes a CONFLICT error; status is the resource's present status, or empty.
func Conflict(resource, id, status, format string, args ...any) *Error {
	details := map[string]any{"resource": resource, "id": id}
	if status != "" {
		details["status"] = status
	}
	return &Error{Code: CodeConflict, Message: fmt.Sprintf(format, args...), Details: details}
}

// RateLimited makes a RATE_LIMITED error. window is the time that limit counts in, 0 for what is open or stored at once;
// retryAfter is when it is worth another try, 0 if only others can make room.
func RateLimited(limit int64, window, retryAfter time.Duration, format string, args ...any) *Error {
	seconds := func(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
	return &Error{
		Code: CodeRateLimited, Message: fmt.Sprintf(format, args...),
		Details: map[string]any{"limit": limit, "windowSeconds": seconds(window), "retryAfter": seconds(retryAfter)},
	}
}

// NoRuntime makes a NO_AGENTS for an agent that nothing could start as things are configured; it does not pass by itself,
// unlike that of RuntimeAway.
func NoRuntime(format string, args ...any) *Error {
	return &Error{
		Code: CodeNoAgents, Message: fmt.Sprintf(format, args...),
		Details: map[string]any{"required": 1, "available": 0, "capabilities": []string{}, "reason": "no_runtime"},
	}
}

// RuntimeAway makes a NO_AGENTS for an agent that a runtime could start if it were ready; it passes when the runtime comes
// back.
func RuntimeAway(format string, args ...any) *Error {
	e := NoRuntime(format, args...)
	e.Details["reason"], e.Unavailable = "runtime_unavailable", true
	return e
}

// Unavailable makes an INTERNAL_ERROR that HTTP answers with 503; reason is a stable word for details.
func Unavailable(reason, format string, args ...any) *Error {
	return &Error{
		Code:        CodeInternal,
		Message:     fmt.Sprintf(format, args...),
		Details:     map[string]any{"reason": reason},
		Unavailable: true,
	}
}

// AsError returns err as an *Error. A foreign error becomes an INTERNAL_ERROR whose message says nothing
// of it; the foreign error stays reachable as the cause. AsError(nil) is nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeInternal, Message: "internal error", Details: map[string]any{}, cause: err}
}

// ErrorCode returns the code of err: empty for nil, INTERNAL_ERROR for a foreign error.
func ErrorCode(err error) Code {
	if err == nil {
		return ""
	}
	return AsError(err).Code
}
