package secret

import (
	"errors"
	"fmt"
)

// Code is the stable reason of an Error.
type Code string

// Codes.
const (
	CodeNotFound      Code = "NOT_FOUND"      // there is no such secret, or no such field of it
	CodeInvalidRef    Code = "INVALID_REF"    // the reference is not in the provider's form
	CodeForbidden     Code = "FORBIDDEN"      // the store refuses it to the provider, or the host to the plugin
	CodeUnavailable   Code = "UNAVAILABLE"    // the store is not reachable; calling again later may help
	CodeTimeout       Code = "TIMEOUT"        // the store did not answer in time
	CodeCanceled      Code = "CANCELED"       // the caller ended the call
	CodeNotConfigured Code = "NOT_CONFIGURED" // there is no store to ask
	CodeUnimplemented Code = "UNIMPLEMENTED"
	CodeInternal      Code = "INTERNAL"
)

// Error is the one error type of a Provider. Message is written for an operator and holds no value.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // what to do about it
	Retry   bool   `json:"retryable,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// Errorf makes an Error. No argument is ever a value.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Retry: code == CodeUnavailable || code == CodeTimeout}
}

// AsError returns err as an *Error; a foreign error becomes INTERNAL without its text. AsError(nil) is nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeInternal, Message: "internal error of the secret provider"}
}
