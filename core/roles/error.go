package roles

import (
	"errors"
	"fmt"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
	"github.com/wardroom/wardroom/sdk/wire"
)

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
		Details: map[string]any{"runtimeCode": runtimecode.NotDelivered},
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
