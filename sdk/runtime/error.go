package runtime

import (
	"errors"
	"fmt"
)

// Code is the stable reason of an Error. The codes in capital letters of the interface (CLI_NOT_FOUND and so
// on) reach callers of the appliance as details.runtimeCode.
type Code string

// Codes.
const (
	CodeInvalidSpec       Code = "INVALID_SPEC"
	CodeInvalidArgument   Code = "INVALID_ARGUMENT"
	CodeUnknownType       Code = "UNKNOWN_TYPE"
	CodeWorkdirNotAllowed Code = "WORKDIR_NOT_ALLOWED"
	CodeCLINotFound       Code = "CLI_NOT_FOUND"
	CodeAuthRequired      Code = "AUTH_REQUIRED"
	CodeSpawnFailed       Code = "SPAWN_FAILED"
	CodeImageNotFound     Code = "IMAGE_NOT_FOUND"
	CodeNetworkError      Code = "NETWORK_ERROR"
	CodeResourceLimit     Code = "RESOURCE_LIMIT" // no memory, no CPU, or MaxAgents is reached
	CodeSocketError       Code = "SOCKET_ERROR"
	CodeNotFound          Code = "NOT_FOUND"
	CodeAlreadyExists     Code = "ALREADY_EXISTS"
	CodeNotRunning        Code = "NOT_RUNNING"
	CodeBlocked           Code = "BLOCKED"
	CodeNoPrompt          Code = "NO_PROMPT"
	CodeNotDelivered      Code = "NOT_DELIVERED"
	CodeDeliveryUnknown   Code = "DELIVERY_UNKNOWN"
	CodeTimeout           Code = "TIMEOUT"
	CodeForbidden         Code = "FORBIDDEN"
	CodeLagged            Code = "LAGGED"
	CodeInvalidHandle     Code = "INVALID_HANDLE"
	CodeUnimplemented     Code = "UNIMPLEMENTED"
	CodeUnavailable       Code = "UNAVAILABLE" // the runtime is not there; calling again later may help
	CodeCanceled          Code = "CANCELED"    // the caller ended the call
	CodeInternal          Code = "INTERNAL"
)

// Error is the one error type of a Runtime. Message is written for the caller and may be shown; it holds no
// secret. It crosses gRPC and HTTP unchanged.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Field   string `json:"field,omitempty"` // of the spec or the argument that is wrong
	Hint    string `json:"hint,omitempty"`  // what to do about it
	Retry   bool   `json:"retryable,omitempty"`
}

// Error implements error.
func (e *Error) Error() string {
	if e.Field != "" {
		return fmt.Sprintf("%s: %s: %s", e.Code, e.Field, e.Message)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Errorf makes an Error.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid makes an INVALID_SPEC error for one field.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalidSpec, Field: field, Message: fmt.Sprintf(format, args...)}
}

// NotFound makes a NOT_FOUND error for an agent.
func NotFound(id string) *Error { return Errorf(CodeNotFound, "agent %q does not exist", id) }

// AsError returns err as an *Error; a foreign error becomes INTERNAL without its text. AsError(nil) is nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeInternal, Message: "internal error of the runtime"}
}

// ErrorCode returns the code of err; empty for nil.
func ErrorCode(err error) Code {
	if err == nil {
		return ""
	}
	return AsError(err).Code
}
