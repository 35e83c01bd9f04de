package runtimes

import (
	"cmp"
	"context"
	"errors"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// codes maps a runtime's codes to ours. What is not named is INTERNAL_ERROR. core/api gives some of them a
// status of their own by details.runtimeCode.
var codes = map[runtime.Code]core.Code{
	runtime.CodeInvalidSpec:       core.CodeValidation,
	runtime.CodeInvalidArgument:   core.CodeValidation,
	runtime.CodeUnknownType:       core.CodeValidation,
	runtime.CodeWorkdirNotAllowed: core.CodeValidation,
	runtime.CodeCLINotFound:       core.CodeValidation,
	runtime.CodeImageNotFound:     core.CodeValidation,
	runtime.CodeAuthRequired:      core.CodeConflict,
	runtime.CodeAlreadyExists:     core.CodeConflict,
	runtime.CodeNotRunning:        core.CodeConflict,
	runtime.CodeBlocked:           core.CodeConflict,
	runtime.CodeNoPrompt:          core.CodeConflict,
	runtime.CodeNotDelivered:      core.CodeConflict,
	runtime.CodeDeliveryUnknown:   core.CodeConflict,
	runtime.CodeForbidden:         core.CodeForbidden,
	runtime.CodeTimeout:           core.CodeTimeout,
}

// unavailable are the codes that pass by themselves.
var unavailable = map[runtime.Code]bool{
	runtime.CodeUnavailable: true, runtime.CodeResourceLimit: true, runtime.CodeSocketError: true, runtime.CodeLagged: true,
}

// fields gives the names that our callers use for fields of a spec.
var fields = map[string]string{"approval": "approvalPreset"}

// translate makes our error of a runtime's. The agent's id and status go into the details of a conflict.
func translate(err error, r *core.ManagedAgentRecord) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, ok := errors.AsType[*core.Error](err); ok {
		return err
	}
	var e *runtime.Error
	if !errors.As(err, &e) {
		return core.AsError(err)
	}
	if e.Code == runtime.CodeNotFound && r != nil {
		return core.NotFound("managed agent", r.ID)
	}
	code, known := codes[e.Code]
	if !known {
		code = core.CodeInternal
	}
	details := map[string]any{"runtimeCode": string(e.Code)}
	message := e.Message
	if e.Hint != "" {
		message += "; " + e.Hint
		details["hint"] = e.Hint
	}
	switch code {
	case core.CodeValidation:
		field := e.Field
		if ours, ok := fields[field]; ok {
			field = ours
		}
		field = cmp.Or(field, fieldOf(e.Code))
		details["field"], details["reason"] = field, message
		message = field + ": " + message
	case core.CodeConflict:
		details["resource"] = "managed agent"
		if r != nil {
			details["id"], details["status"] = r.ID, string(r.Status)
		}
	case core.CodeInternal:
		details["reason"] = "runtime"
	}
	if e.Retry {
		details["retryable"] = true
	}
	mapped := &core.Error{Code: code, Message: message, Details: details, Unavailable: unavailable[e.Code]}
	return mapped.WithCause(err)
}

// fieldOf is the field that a code speaks of when the runtime names none.
func fieldOf(code runtime.Code) string {
	switch code {
	case runtime.CodeUnknownType, runtime.CodeCLINotFound:
		return "type"
	case runtime.CodeWorkdirNotAllowed:
		return "workdir"
	case runtime.CodeImageNotFound:
		return "image"
	}
	return "body"
}
