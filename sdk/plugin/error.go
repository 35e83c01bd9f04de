package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/status"

	"github.com/wardroom/wardroom/sdk/audit"
	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/secret"
)

// Code is the stable reason of an Error.
type Code string

// Codes.
const (
	CodeInvalidConfig   Code = "INVALID_CONFIG"   // Problems says where
	CodeInvalidArgument Code = "INVALID_ARGUMENT" // a bug of the caller
	CodeNotConfigured   Code = "NOT_CONFIGURED"
	CodeForbidden       Code = "FORBIDDEN"
	CodeTooLarge        Code = "RESOURCE_LIMIT"
	CodeTimeout         Code = "TIMEOUT"
	CodeCanceled        Code = "CANCELED"
	CodeUnavailable     Code = "UNAVAILABLE" // the other side is not reachable; calling again later may help
	CodeUnimplemented   Code = "UNIMPLEMENTED"
	CodeInternal        Code = "INTERNAL"
)

// Error is the error type of the base service and of the host's services. Message is for an operator and holds
// no secret.
type Error struct {
	Code     Code      `json:"code"`
	Message  string    `json:"message"`
	Field    string    `json:"field,omitempty"`
	Hint     string    `json:"hint,omitempty"` // what to do about it
	Retry    bool      `json:"retryable,omitempty"`
	Problems []Problem `json:"problems,omitempty"` // of a configuration
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Code, e.Message) }

// Errorf makes an Error.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// AsError returns err as an *Error; those of runtimes, secret providers and audit sinks keep code, message and
// hint, and any other becomes INTERNAL without its text. AsError(nil) is nil.
func AsError(err error) *Error {
	var own *Error
	var ofRuntime *runtime.Error
	var ofSecret *secret.Error
	var ofAudit *audit.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own):
		return own
	case errors.As(err, &ofRuntime):
		return &Error{Code: Code(ofRuntime.Code), Message: ofRuntime.Message, Field: ofRuntime.Field, Hint: ofRuntime.Hint, Retry: ofRuntime.Retry}
	case errors.As(err, &ofSecret):
		return &Error{Code: Code(ofSecret.Code), Message: ofSecret.Message, Hint: ofSecret.Hint, Retry: ofSecret.Retry}
	case errors.As(err, &ofAudit):
		return &Error{Code: Code(ofAudit.Code), Message: ofAudit.Message, Hint: ofAudit.Hint, Retry: ofAudit.Retry}
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fromDetail(pluginv1.Detail(err))
	default:
		return &Error{Code: CodeInternal, Message: "internal error of the plugin"}
	}
}

// invalid makes the error of a configuration that is refused.
func invalid(problems []Problem) *Error {
	var list []string
	e := &Error{Code: CodeInvalidConfig, Problems: problems}
	for _, p := range problems {
		if p.Severity == SeverityWarning {
			continue
		}
		if len(list) == 0 {
			e.Field = p.Path
		}
		if p.Path != "" {
			list = append(list, p.Path+": "+p.Text)
		} else {
			list = append(list, p.Text)
		}
	}
	e.Message = "the configuration is not valid: " + strings.Join(list, "; ")
	return e
}

// toStatus turns an error into that of a gRPC call; Problems travel as a detail of their own.
func toStatus(err error) error {
	if err == nil {
		return nil
	}
	e := AsError(err)
	if own := (*Error)(nil); !errors.As(err, &own) {
		if bare := pluginv1.ContextStatus(err); bare != nil {
			return bare
		}
	}
	made := (&pluginv1.ErrorDetail{
		Code: string(e.Code), Message: e.Message, Field: e.Field, Hint: e.Hint, Retryable: e.Retry,
	}).Status()
	if len(e.Problems) == 0 {
		return made
	}
	with, err := status.Convert(made).WithDetails(&pluginv1.ValidateResponse{Problems: problemsToProto(e.Problems)})
	if err != nil { // such a message always encodes
		return made
	}
	return with.Err()
}

// fromStatus turns the error of a gRPC call into an *Error, which also satisfies errors.Is for the context's
// error if it was the context that ended the call.
func fromStatus(err error) error {
	if err == nil {
		return nil
	}
	e := fromDetail(pluginv1.Detail(err))
	for _, detail := range status.Convert(err).Details() {
		if p, ok := detail.(*pluginv1.ValidateResponse); ok {
			e.Problems = problemsFromProto(p.Problems)
		}
	}
	if cause := pluginv1.Context(err); cause != nil {
		return errors.Join(e, cause)
	}
	return e
}

func fromDetail(d *pluginv1.ErrorDetail) *Error {
	d = d.Clipped()
	return &Error{Code: Code(d.Code), Message: d.Message, Field: d.Field, Hint: d.Hint, Retry: d.Retryable}
}

func problemsToProto(in []Problem) []*pluginv1.Problem {
	out := make([]*pluginv1.Problem, len(in))
	for i, p := range in {
		out[i] = &pluginv1.Problem{Path: pluginv1.Text(p.Path), Severity: pluginv1.Text(p.Severity), Text: pluginv1.Text(p.Text)}
	}
	return out
}

func problemsFromProto(in []*pluginv1.Problem) []Problem {
	var out []Problem
	for _, p := range in {
		out = append(out, Problem{Path: p.GetPath(), Severity: p.GetSeverity(), Text: p.GetText()})
	}
	return out
}
