// Package failure turns what a model's provider answered to a coding CLI into the error of a turn.
//
// It owns which HTTP status is which code of runtime.TurnError, and whether a later turn may succeed. It does not own
// how a CLI words its errors: the adapters of sdk/agentcli, which call it, find the status in them.
package failure

import (
	"net/http"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// FromStatus returns the error of a turn that a status of the model's provider ended. Message is what the agent said.
func FromStatus(status int, message string) *runtime.TurnError {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return Of(wire.TurnLoginRequired, message)
	case status == http.StatusTooManyRequests:
		return Of(wire.TurnModelRateLimited, message)
	case status >= http.StatusInternalServerError:
		return Of(wire.TurnModelUnavailable, message)
	}
	return Of(wire.TurnModelError, message)
}

// Of returns an error of a code of the package wire. Those that pass by themselves are retryable.
func Of(code, message string) *runtime.TurnError {
	e := &runtime.TurnError{Code: code, Message: message}
	switch code {
	case wire.TurnModelRateLimited, wire.TurnModelUnavailable, wire.TurnModelCut:
		e.Retryable = true
	}
	return e
}
