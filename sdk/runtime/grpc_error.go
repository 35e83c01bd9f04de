package runtime

import (
	"errors"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
)

// ToStatus turns the error of a Runtime into that of a gRPC call. The text of a foreign error stays behind;
// that of a context says that the call was cancelled or late.
func ToStatus(err error) error {
	return pluginv1.ToStatus[*Error](err, func(err error) *pluginv1.ErrorDetail { return errorToProto(AsError(err)) })
}

// FromStatus turns the error of a gRPC call into that of a Runtime: an *Error, which also satisfies errors.Is
// for the context's error if it was the context that ended the call.
func FromStatus(err error) error {
	if err == nil {
		return nil
	}
	if own := (*Error)(nil); errors.As(err, &own) { // made on this side
		return err
	}
	e := errorFromProto(pluginv1.Detail(err))
	if cause := pluginv1.Context(err); cause != nil {
		return &ended{e, cause}
	}
	return e
}

// ended is an *Error of a call that its context ended.
type ended struct {
	err   *Error
	cause error
}

func (e *ended) Error() string { return e.err.Error() }

func (e *ended) Unwrap() []error { return []error{e.err, e.cause} }

func errorToProto(e *Error) *pluginv1.ErrorDetail {
	if e == nil {
		return nil
	}
	return &pluginv1.ErrorDetail{
		Code: pluginv1.Text(string(e.Code)), Message: pluginv1.Text(e.Message), Field: pluginv1.Text(e.Field),
		Hint: pluginv1.Text(e.Hint), Retryable: e.Retry,
	}
}

func errorFromProto(d *pluginv1.ErrorDetail) *Error {
	if d == nil {
		return nil
	}
	return &Error{Code: Code(d.Code), Message: d.Message, Field: d.Field, Hint: d.Hint, Retry: d.Retryable}
}
