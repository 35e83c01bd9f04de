package threads

import (
	"errors"

	"github.com/wardroom/wardroom/core"
)

// Codes of runtimes, as they stand in details.runtimeCode.
const (
	codeInvalidArgument = "INVALID_ARGUMENT"
	codeAuthRequired    = "AUTH_REQUIRED"
	codeNotRunning      = "NOT_RUNNING"
	codeBlocked         = "BLOCKED"
	codeNoPrompt        = "NO_PROMPT"
	codeDeliveryUnknown = "DELIVERY_UNKNOWN"
	codeInternal        = "INTERNAL"
	codeTimeout         = "TIMEOUT"
	codeCanceled        = "CANCELED"
)

// runtimeCode returns the runtime's code of an error, or "".
func runtimeCode(err error) string {
	var e *core.Error
	if !errors.As(err, &e) {
		return ""
	}
	code, _ := e.Details["runtimeCode"].(string)
	return code
}

// passing tells whether an error may pass by itself: something is away, full, or starting.
func passing(err error) bool {
	var e *core.Error
	return errors.As(err, &e) && e.Unavailable || runtimeCode(err) == codeCanceled
}

// unsure tells whether an agent may run although its start failed.
func unsure(err error) bool {
	code := runtimeCode(err)
	return code == codeInternal || code == codeTimeout || core.ErrorCode(err) == core.CodeTimeout
}

// noAgent tells whether an error says that the agent is not there any more.
func noAgent(err error) bool {
	return core.ErrorCode(err) == core.CodeNotFound || runtimeCode(err) == codeNotRunning
}

func fieldOf(err error) string {
	field, _ := core.AsError(err).Details["field"].(string)
	return field
}

// threadError is an error as the record of a failed thread has it. What a runtime refuses names a field of the request
// for the agent, which the thread's caller did not write.
func threadError(err error) *core.ThreadError {
	e := core.AsError(err)
	message := e.Message
	if reason, _ := e.Details["reason"].(string); reason != "" && runtimeCode(err) != "" {
		message = "the agent cannot be started: " + reason
	}
	return &core.ThreadError{Code: e.Code, Message: message}
}

// over is the error of calls that a thread which is over, or about to be, does not take.
func over(r *core.ThreadRecord) error {
	status := string(r.Status)
	if !r.Status.Terminal() {
		return core.Conflict("thread", r.ID, status, "the thread is being ended")
	}
	return core.Conflict("thread", r.ID, status, "the thread is %s already", status)
}
