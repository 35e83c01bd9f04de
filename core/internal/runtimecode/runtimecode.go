// Package runtimecode reads what a runtime said of an agent from the error of a call: its code, as it stands in the
// details of an error of core.
//
// It owns the codes by which services decide what to do next, and not their meaning (sdk/runtime does) nor the
// translation into errors of core (core/runtimes does). Services that drive agents call it.
package runtimecode

import (
	"errors"

	"github.com/wardroom/wardroom/core"
)

// Codes of runtimes.
const (
	InvalidArgument = "INVALID_ARGUMENT"
	UnknownType     = "UNKNOWN_TYPE"
	CLINotFound     = "CLI_NOT_FOUND"
	AuthRequired    = "AUTH_REQUIRED"
	SpawnFailed     = "SPAWN_FAILED"
	NotRunning      = "NOT_RUNNING"
	Blocked         = "BLOCKED"
	NoPrompt        = "NO_PROMPT"
	NotDelivered    = "NOT_DELIVERED"
	DeliveryUnknown = "DELIVERY_UNKNOWN"
	Internal        = "INTERNAL"
	Timeout         = "TIMEOUT"
	Canceled        = "CANCELED"
)

// Of returns the runtime's code of an error, or "".
func Of(err error) string {
	var e *core.Error
	if !errors.As(err, &e) {
		return ""
	}
	code, _ := e.Details["runtimeCode"].(string)
	return code
}

// Passing reports whether an error may pass by itself: something is away, full, or starting.
func Passing(err error) bool {
	var e *core.Error
	return errors.As(err, &e) && e.Unavailable || Of(err) == Canceled
}

// NoAgent reports whether an error says that the agent is not there any more.
func NoAgent(err error) bool {
	return core.ErrorCode(err) == core.CodeNotFound || Of(err) == NotRunning
}
