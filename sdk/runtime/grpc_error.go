package runtime

import pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"

// ToStatus turns the error of a Runtime into that of a gRPC call. The text of a foreign error stays behind;
// that of a context says that the call was cancelled or late.
func ToStatus(err error) error {
	return pluginv1.ToStatus[*Error](err, func(err error) *pluginv1.ErrorDetail { return errorToProto(AsError(err)) })
}

// FromStatus turns the error of a gRPC call into that of a Runtime: an *Error, which also satisfies errors.Is
// for the context's error if it was the context that ended the call.
func FromStatus(err error) error {
	return pluginv1.FromStatus(err, errorFromProto)
}

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
	if d = d.Clipped(); d == nil {
		return nil
	}
	return &Error{Code: Code(d.Code), Message: d.Message, Field: d.Field, Hint: d.Hint, Retry: d.Retryable}
}
