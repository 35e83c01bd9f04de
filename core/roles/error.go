package roles

import (
	"errors"
	"fmt"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/wire"
)

// Codes of runtimes, as they stand in details.runtimeCode.
const (
	codeInvalidArgument = "INVALID_ARGUMENT"
	codeUnknownType     = "UNKNOWN_TYPE"
	codeCLINotFound     = "CLI_NOT_FOUND"
	codeAuthRequired    = "AUTH_REQUIRED"
	codeSpawnFailed     = "SPAWN_FAILED"
	codeNotRunning      = "NOT_RUNNING"
	codeBlocked         = "BLOCKED"
	codeNoPrompt        = "NO_PROMPT"
	codeNotDelivered    = "NOT_DELIVERED"
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

// passing tells whether an error may pass by itself: the runtime is away, full, or starting.
func passing(err error) bool {
	var e *core.Error
	return errors.As(err, &e) && e.Unavailable || runtimeCode(err) == codeCanceled
}

// noAgent tells whether an error says that the agent is not there any more.
func noAgent(err error) bool {
	return core.ErrorCode(err) == core.CodeNotFound || runtimeCode(err) == codeNotRunning
}

// Failures of turns.
var (
	errGone        = errors.New("the agent is gone")
	errInterrupted = &core.Error{
		Code: core.CodeAgentError, Message: "the turn was interrupted in the agent's terminal",
		Details: map[string]any{"reason": "interrupted"},
	}
	errRefused = &core.Error{
		Code: core.CodeAgentError, Message: "an approval was refused in the turn, and the agent said nothing to the task",
		Details: map[string]any{"reason": "refused"},
	}
	errUntaken = &core.Error{
		Code: core.CodeAgentError, Message: "the agent did not take the message",
		Details: map[string]any{"runtimeCode": codeNotDelivered},
	}
)

// turnFailed makes the error of a turn that failed: what the agent said of it is no answer to anybody.
func turnFailed(kind string, e *wire.TurnError) error {
	return &core.Error{
		Code: core.CodeAgentError, Message: kind + ": " + e.Message,
		Details: map[string]any{"turnCode": e.Code, "retryable": e.Retryable, "type": kind},
	}
}

// turnCode returns the code of a turn that failed, or "".
func turnCode(err error) string {
	var e *core.Error
	if !errors.As(err, &e) {
		return ""
	}
	code, _ := e.Details["turnCode"].(string)
	return code
}

// notReady makes the error of an agent that did not come to its first prompt.
func notReady(kind, code, format string, args ...any) error {
	return &core.Error{
		Code: core.CodeAgentError, Message: kind + ": " + fmt.Sprintf(format, args...),
		Details: map[string]any{"runtimeCode": code, "type": kind},
	}
}
