package cmd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/sdk/client"
)

// Exit codes. They are a contract with scripts: never renumbered.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitConflict    = 4
	exitAuth        = 5
	exitTimeout     = 6
	exitUnavailable = 7
	exitConfig      = 78 // EX_CONFIG of sysexits.h, which systemd knows
	exitInterrupted = 130
)

var exitTable = []struct {
	code    int
	meaning string
}{
	{exitOK, "done"},
	{exitFailed, "the operation failed: an execution or batch failed or was cancelled, or an internal error"},
	{exitUsage, "wrong usage, or the input, definition or configuration is not valid"},
	{exitNotFound, "the named thing does not exist"},
	{exitConflict, "the present state of the thing refuses it"},
	{exitAuth, "no credential, a wrong one, or one without the right"},
	{exitTimeout, "a deadline passed: of the request or of the execution"},
	{exitUnavailable, "the server cannot be reached or is not ready, no agents, or too many requests"},
	{exitConfig, "serve or dev: the configuration is not valid"},
	{exitInterrupted, "interrupted by a signal; what was started on the server goes on"},
}

func exitCodesTopic() *cobra.Command {
	var text strings.Builder
	text.WriteString("Exit codes of wardroom:\n\n")
	for _, row := range exitTable {
		fmt.Fprintf(&text, "  %3d  %s\n", row.code, row.meaning)
	}
	text.WriteString("\nA failed execution exits with 1 whatever its reason, except TIMEOUT (6) and NO_AGENTS (7).")
	return &cobra.Command{Use: "exit-codes", Short: "Exit codes and what they mean", Long: text.String()}
}

// usageError is a mistake in the command itself.
type usageError struct {
	message    string
	candidates []string // what the command may have meant
	hint       string
}

func (e *usageError) Error() string { return e.message }

func usagef(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{
		message: fmt.Sprintf(format, args...),
		hint:    fmt.Sprintf("see `%s --help`", cmd.CommandPath()),
	}
}

// outcomeError is an operation that was carried out and did not end well. With an empty message nothing
// more is printed: the command's output said it all.
type outcomeError struct {
	code    int
	message string
	hint    string
	cause   error // or nil
}

func (e *outcomeError) Error() string { return e.message }
func (e *outcomeError) Unwrap() error { return e.cause }

// interruption is a command ended by a signal.
type interruption struct {
	cause error
	hint  string // how to go on
}

func (e *interruption) Error() string { return "interrupted" }
func (e *interruption) Unwrap() error { return e.cause }

// configError is a configuration that serve or dev cannot start with.
type configError struct{ cause error }

func (e *configError) Error() string { return e.cause.Error() }
func (e *configError) Unwrap() error { return e.cause }

// exitCode maps an error to its exit code. It is the one such table.
func exitCode(err error) int {
	var (
		usage     *usageError
		outcome   *outcomeError
		interrupt *interruption
		config    *configError
		api       *client.Error
		conn      *client.ConnectionError
		own       *core.Error
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &interrupt):
		return exitInterrupted
	case errors.As(err, &config):
		return exitConfig
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &outcome):
		return outcome.code
	case errors.As(err, &conn):
		return exitUnavailable
	case errors.As(err, &api):
		if api.Code == client.CodeInternal && api.Status == http.StatusServiceUnavailable {
			return exitUnavailable
		}
		return exitCodeOf(core.Code(api.Code))
	case errors.As(err, &own):
		if own.Unavailable {
			return exitUnavailable
		}
		return exitCodeOf(own.Code)
	case errors.Is(err, context.DeadlineExceeded):
		return exitTimeout
	}
	return exitFailed
}

func exitCodeOf(code core.Code) int {
	switch code {
	case core.CodeValidation:
		return exitUsage
	case core.CodeNotFound:
		return exitNotFound
	case core.CodeConflict:
		return exitConflict
	case core.CodeUnauthorized, core.CodeForbidden:
		return exitAuth
	case core.CodeTimeout:
		return exitTimeout
	case core.CodeNoAgents, core.CodeRateLimited:
		return exitUnavailable
	}
	return exitFailed
}
