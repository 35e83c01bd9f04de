package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gorilla/websocket"

	"github.com/wardroom/wardroom/sdk/agent/protocol"
)

// Codes that this library gives to task errors. Handlers may use any code of their own.
const (
	CodeAgentError     = "AGENT_ERROR"      // a plain error of the handler
	CodePanic          = "PANIC"            // the handler panicked
	CodeTimeout        = "TIMEOUT"          // the handler gave up when the task's time was over
	CodeBadResult      = "BAD_RESULT"       // what the handler returned cannot be encoded as JSON
	CodeResultTooLarge = "RESULT_TOO_LARGE" // the answer does not fit into a frame the server takes
	CodeOverloaded     = "OVERLOADED"       // far more tasks arrived than were asked for
)

// Causes of a handler's cancelled context, to be read with context.Cause.
var (
	// ErrReassigned: the session could not be resumed, so the server has given the task to others.
	ErrReassigned = errors.New("agent: the session was lost, the task was reassigned")
	// ErrStopped: the agent is stopping.
	ErrStopped = errors.New("agent: stopped")
)

// Errors of Task.Ask and Task.Tell, besides MessageError and the causes above.
var (
	// ErrTaskOver: the handler has returned.
	ErrTaskOver = errors.New("agent: the task is over")
	// ErrInline: an inline handler holds up the very connection the reply would come over.
	ErrInline = errors.New("agent: an inline handler cannot wait for a reply")
)

// MessageError says that a message of a handler goes nowhere: the server refused it, or it cannot be sent at all.
type MessageError struct {
	Code    string // such as VALIDATION_ERROR, NOT_FOUND or RATE_LIMITED
	Message string
}

// Error implements error.
func (e *MessageError) Error() string { return "agent: message refused: " + e.Code + ": " + e.Message }

// ErrAlreadyRun is returned by a second Run: an Agent runs once.
var ErrAlreadyRun = errors.New("agent: Run was called before")

// CancelledError is the cause of a handler's context when the server cancelled the task.
type CancelledError struct {
	Reason string // the server's words
}

// Error implements error.
func (e *CancelledError) Error() string { return "agent: task cancelled: " + e.Reason }

// Error is a task error as the server gets it. A handler returns one to choose the code, to give details,
// and to say whether another attempt may help.
type Error struct {
	Code      string
	Message   string
	Details   map[string]any
	Retryable bool
	cause     error
}

// Error implements error.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// Unwrap returns the error that Retryable wrapped, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Retryable marks err as one that another attempt may not meet, such as a busy model: the server then gives
// the task to an agent again. Code and details of an *Error are kept. Retryable(nil) is nil.
func Retryable(err error) error {
	if err == nil {
		return nil
	}
	e := asTaskError(err)
	return &Error{Code: e.Code, Message: e.Message, Details: e.Details, Retryable: true, cause: err}
}

// asTaskError turns any error of a handler into what is reported.
func asTaskError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		if e.Code == "" {
			c := *e
			c.Code = CodeAgentError
			return &c
		}
		return e
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &Error{Code: CodeTimeout, Message: err.Error(), Retryable: true}
	}
	return &Error{Code: CodeAgentError, Message: err.Error()}
}

// ConnectError says that the server refused this agent in a way that trying again does not change: a bad
// credential, a bad registration, or a session that is in use elsewhere. Run returns it.
type ConnectError struct {
	Status  int    // HTTP status of the refused upgrade; 0 when a frame refused
	Code    string // the server's error code, when it gave one
	Message string
}

// Error implements error.
func (e *ConnectError) Error() string {
	switch {
	case e.Code != "" && e.Message != "":
		return fmt.Sprintf("agent: the server refused the session: %s: %s", e.Code, e.Message)
	case e.Status != 0:
		return fmt.Sprintf("agent: the server refused the session: HTTP %d %s", e.Status, e.Message)
	}
	return "agent: the server ended the session: " + e.Message
}

// permanentCodes are the codes of fatal error frames after which a reconnect would only meet them again.
// CONFLICT: this session is now held by another connection, and two would drive each other out for ever.
var permanentCodes = map[string]bool{
	"VALIDATION_ERROR": true, "UNAUTHORIZED": true, "FORBIDDEN": true, "CONFLICT": true,
}

// finalCloseCodes are the codes of close frames after which a reconnect is in vain or unwanted. All other ends
// of a connection, a server that restarts among them, are followed by a reconnect.
var finalCloseCodes = map[int]string{
	4400: "VALIDATION_ERROR", // a bad registration, or too many bad frames
	4403: "FORBIDDEN",        // an operator disconnected the agent
	4409: "CONFLICT",         // another connection resumed this session
}

// flooded reports whether the server ended the connection for too many frames: it wants to be left alone for a
// while.
func flooded(err error) bool { return websocket.IsCloseError(err, 4429) }

// comesAgain reports whether the next session is likely to end as this one did: a frame of one side is too large for the other,
// or the server is out of its depth. Such a session does not begin the waits anew, whatever it was good for.
func comesAgain(err error) bool {
	return flooded(err) || errors.Is(err, websocket.ErrReadLimit) ||
		websocket.IsCloseError(err, websocket.CloseMessageTooBig, websocket.CloseTryAgainLater)
}

// longestWait bounds what a refusal may ask for: it may come from a proxy, and be meant for people.
const longestWait = time.Minute

// busyError is a refusal that passes, and for how long the server wants to be left alone.
type busyError struct {
	wait time.Duration
	err  error
}

// Error implements error.
func (e *busyError) Error() string { return e.err.Error() }

// Unwrap returns the refusal.
func (e *busyError) Unwrap() error { return e.err }

// closeRefusal returns the error that the end of a connection ends Run with, or nil if a reconnect may help.
func closeRefusal(err error) *ConnectError {
	var closed *websocket.CloseError
	if !errors.As(err, &closed) || finalCloseCodes[closed.Code] == "" {
		return nil
	}
	return &ConnectError{Code: finalCloseCodes[closed.Code], Message: closed.Text}
}

// refusal returns the error that a fatal error frame ends Run with, or nil if a reconnect may help.
func refusal(e protocol.Error) *ConnectError {
	if !e.Fatal || !permanentCodes[e.Code] {
		return nil
	}
	return &ConnectError{Code: e.Code, Message: e.Message}
}
