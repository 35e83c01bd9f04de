package agent

import (
	"fmt"
	"sync/atomic"

	"github.com/wardroom/wardroom/sdk/internal/clip"
)

// frameOverhead is more than what a frame adds to a result.
const frameOverhead = 1024

// maxErrorText is how many bytes are left of a text of an error that is too large to be sent.
const maxErrorText = 1024

// frameLimit is the size in bytes of the largest frame that the server takes; 0 if it has not sent one. A larger one would end
// the connection, be sent again by the next, and so on for ever. A session may bring a smaller limit than the one before, so
// what is sent again is looked at again. Safe for concurrent use.
type frameLimit struct{ atomic.Int64 }

// fits reports whether n bytes of JSON fit into a frame.
func (l *frameLimit) fits(n int) bool {
	limit := l.Load()
	return limit <= 0 || int64(n+frameOverhead) <= limit
}

// cut returns an answer that fits: a itself, or one with an error in the place of the result, or with the error without what is
// too much. It leaves a as it is.
func (l *frameLimit) cut(a *answer) *answer {
	short := *a
	if a.err == nil && !l.fits(len(a.result)) {
		short.result = nil
		short.err = &Error{Code: CodeResultTooLarge, Message: fmt.Sprintf(
			"the result has %d bytes, the server takes messages of %d", len(a.result), l.Load())}
	}
	if short.err != nil {
		short.err = l.shortened(short.err)
	}
	if short.err == a.err {
		return a
	}
	return &short
}

// shortened cuts a task error to what fits into a frame: the details go first.
func (l *frameLimit) shortened(e *Error) *Error {
	if l.fits(len(taskErrorPayload(&answer{err: e}, 0))) {
		return e
	}
	short := Error{Code: e.Code, Message: e.Message, Retryable: e.Retryable, cause: e.cause}
	if len(short.Code) > maxErrorText {
		short.Code = CodeAgentError
	}
	short.Message = clip.Marked(short.Message, maxErrorText, "...")
	return &short
}

// refusal is the error of a message that does not fit.
func (l *frameLimit) refusal(n int) *MessageError {
	return &MessageError{Code: codeValidation, Message: fmt.Sprintf(
		"content: the message has %d bytes, the server takes frames of %d", n, l.Load())}
}
