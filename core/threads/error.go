package threads

import (
	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/internal/runtimecode"
)

// unsure reports whether an agent may run although its start failed.
func unsure(err error) bool {
	code := runtimecode.Of(err)
	return code == runtimecode.Internal || code == runtimecode.Timeout || core.ErrorCode(err) == core.CodeTimeout
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
	if reason, _ := e.Details["reason"].(string); reason != "" && runtimecode.Of(err) != "" {
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
