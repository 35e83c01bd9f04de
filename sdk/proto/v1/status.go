package pluginv1

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/wardroom/wardroom/sdk/internal/clip"
)

// The codes that this package itself gives to failures that carry no ErrorDetail.
const (
	CodeCanceled      = "CANCELED"
	CodeTimeout       = "TIMEOUT"
	CodeUnavailable   = "UNAVAILABLE"
	CodeUnimplemented = "UNIMPLEMENTED"
	CodeForbidden     = "FORBIDDEN"
	CodeTooLarge      = "RESOURCE_LIMIT"
	CodeInternal      = "INTERNAL"
)

// statusOf is the one table from our codes to gRPC's; what is not in it is Internal. gRPC's code is for
// proxies, metrics and people with other clients: ours is in the detail.
var statusOf = map[string]codes.Code{
	"INVALID_SPEC":        codes.InvalidArgument,
	"INVALID_ARGUMENT":    codes.InvalidArgument,
	"INVALID_CONFIG":      codes.InvalidArgument,
	"INVALID_HANDLE":      codes.InvalidArgument,
	"INVALID_REF":         codes.InvalidArgument,
	"UNKNOWN_TYPE":        codes.InvalidArgument,
	"WORKDIR_NOT_ALLOWED": codes.PermissionDenied,
	"FORBIDDEN":           codes.PermissionDenied,
	"CLI_NOT_FOUND":       codes.FailedPrecondition,
	"AUTH_REQUIRED":       codes.FailedPrecondition,
	"IMAGE_NOT_FOUND":     codes.FailedPrecondition,
	"NOT_RUNNING":         codes.FailedPrecondition,
	"BLOCKED":             codes.FailedPrecondition,
	"NO_PROMPT":           codes.FailedPrecondition,
	"NOT_CONFIGURED":      codes.FailedPrecondition,
	"NOT_FOUND":           codes.NotFound,
	"ALREADY_EXISTS":      codes.AlreadyExists,
	"RESOURCE_LIMIT":      codes.ResourceExhausted,
	"LAGGED":              codes.DataLoss,
	"NOT_DELIVERED":       codes.Aborted,
	"DELIVERY_UNKNOWN":    codes.Unknown,
	"TIMEOUT":             codes.DeadlineExceeded,
	"CANCELED":            codes.Canceled,
	"NETWORK_ERROR":       codes.Unavailable,
	"SOCKET_ERROR":        codes.Unavailable,
	"UNAVAILABLE":         codes.Unavailable,
	"UNIMPLEMENTED":       codes.Unimplemented,
}

// Bounds of what a failed call says, in bytes: it goes into logs, into what lists and health show, and into headers.
const (
	maxCode = 100
	maxSaid = 2000
)

// Clipped returns the detail with texts that are valid UTF-8 and not too long: of a plugin they may be anything. Of nil it returns nil.
func (d *ErrorDetail) Clipped() *ErrorDetail {
	if d == nil {
		return nil
	}
	said := func(text string) string { return clip.Marked(Text(text), maxSaid, "...") }
	return &ErrorDetail{
		Code: clip.Text(Text(d.Code), maxCode), Message: said(d.Message), Field: said(d.Field), Hint: said(d.Hint), Retryable: d.Retryable,
	}
}

// Status returns the detail as the error of a gRPC call, clipped: a status that cannot be encoded, or is larger than headers may be, would
// lose all of it.
func (d *ErrorDetail) Status() error {
	clean := d.Clipped()
	code, ok := statusOf[clean.Code]
	if !ok {
		code = codes.Internal
	}
	st, err := status.New(code, clean.Message).WithDetails(clean)
	if err != nil { // an ErrorDetail always encodes
		return status.Error(code, clean.Message)
	}
	return st.Err()
}

// Detail returns what a failed call says: the detail that the other side sent, or what the bare status stands
// for. The text of a bare status is of libraries, so it is not passed on. It returns nil for nil.
func Detail(err error) *ErrorDetail {
	if err == nil {
		return nil
	}
	switch {
	case errors.Is(err, context.Canceled):
		return &ErrorDetail{Code: CodeCanceled, Message: "the call was cancelled"}
	case errors.Is(err, context.DeadlineExceeded):
		return &ErrorDetail{Code: CodeTimeout, Message: "the plugin did not answer in time", Retryable: true}
	}
	st, ok := status.FromError(err)
	if !ok {
		return &ErrorDetail{Code: CodeInternal, Message: "internal error of the plugin"}
	}
	for _, detail := range st.Details() {
		if d, ok := detail.(*ErrorDetail); ok && d.Code != "" {
			return d
		}
	}
	switch st.Code() {
	case codes.OK:
		return nil
	case codes.Canceled:
		return &ErrorDetail{Code: CodeCanceled, Message: "the call was cancelled"}
	case codes.DeadlineExceeded:
		return &ErrorDetail{Code: CodeTimeout, Message: "the plugin did not answer in time", Retryable: true}
	case codes.Unavailable:
		return &ErrorDetail{Code: CodeUnavailable, Message: "the plugin is not reachable", Retryable: true}
	case codes.Unimplemented:
		return &ErrorDetail{Code: CodeUnimplemented, Message: "the plugin does not do this"}
	case codes.Unauthenticated, codes.PermissionDenied:
		return &ErrorDetail{Code: CodeForbidden, Message: "the plugin refused the call"}
	case codes.ResourceExhausted:
		return &ErrorDetail{Code: CodeTooLarge, Message: "the message is larger than plugins take"}
	default:
		return &ErrorDetail{Code: CodeInternal, Message: "internal error of the plugin"}
	}
}

// Context returns the context error that a failed call stands for, or nil: what errors.Is is asked about. A
// TIMEOUT that the other side decided on is not one.
func Context(err error) error {
	switch st, _ := status.FromError(err); {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded
	case len(st.Details()) > 0:
		return nil
	case st.Code() == codes.Canceled:
		return context.Canceled
	case st.Code() == codes.DeadlineExceeded:
		return context.DeadlineExceeded
	}
	return nil
}

// ContextStatus returns the bare status of a handler that its context ended, or nil for any other error.
func ContextStatus(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	return nil
}

// ToStatus turns the error of a service, whose own errors are an E, into that of a call. detail makes any error one
// of the service's own. The text of a foreign error stays behind; that of a context says that the call was cancelled
// or late.
func ToStatus[E error](err error, detail func(error) *ErrorDetail) error {
	if err == nil {
		return nil
	}
	var own E
	if !errors.As(err, &own) {
		if bare := ContextStatus(err); bare != nil {
			return bare
		}
	}
	return detail(err).Status()
}

// FromStatus turns the error of a call into that of a service, whose own errors are an E, which own makes of what the other
// side said. It also satisfies errors.Is for the context's error if it was the context that ended the call.
func FromStatus[E error](err error, own func(*ErrorDetail) E) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[E](err); ok { // made on this side
		return err
	}
	e := own(Detail(err))
	if cause := Context(err); cause != nil {
		return &ended{e, cause}
	}
	return e
}

// ended is the error of a call that its context ended.
type ended struct{ err, cause error }

func (e *ended) Error() string { return e.err.Error() }

func (e *ended) Unwrap() []error { return []error{e.err, e.cause} }

// Stamp leaves the zero time out.
func Stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}

// Unstamp is the reverse of Stamp. A time before the year 1 or after 9999, for which JSON has no form, is none.
func Unstamp(t *timestamppb.Timestamp) time.Time {
	if !t.IsValid() { // nor is nil
		return time.Time{}
	}
	return t.AsTime()
}

// Text returns s as valid UTF-8: protobuf refuses a whole message for one bad byte in a string.
func Text(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
