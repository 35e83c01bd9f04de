package audit

import (
	"errors"
	"fmt"
)

// Code is the stable reason of an Error.
type Code string

// Codes.
const (
	CodeInvalidArgument Code = "INVALID_ARGUMENT" // a batch with gaps, or out of order
	CodeForbidden       Code = "FORBIDDEN"        // the service behind refuses the sink
	CodeFull            Code = "RESOURCE_LIMIT"   // no room left
	CodeUnavailable     Code = "UNAVAILABLE"      // the service behind is not reachable; calling again later may help
	CodeTimeout         Code = "TIMEOUT"
	CodeCanceled        Code = "CANCELED" // the caller ended the call
	CodeUnimplemented   Code = "UNIMPLEMENTED"
	// CodeRejected says that the destination will never take one record, the one behind lastDurable: the appliance tells
	// its operator, and goes on with the next. A sink first tries what it can to keep the record in another form.
	CodeRejected Code = "REJECTED"
	CodeInternal Code = "INTERNAL"
)

// Error is the one error type of a Sink. Message is written for an operator and holds nothing of a record.
type Error struct {
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // what to do about it
	Retry   bool   `json:"retryable,omitempty"`
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// Errorf makes an Error.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...), Retry: code == CodeUnavailable || code == CodeTimeout || code == CodeFull}
}

// AsError returns err as an *Error; a foreign error becomes INTERNAL without its text. AsError(nil) is nil.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return &Error{Code: CodeInternal, Message: "internal error of the audit sink", Retry: true}
}
