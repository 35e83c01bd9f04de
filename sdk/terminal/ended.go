package terminal

import (
	"context"
	"errors"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// ContextError returns the error of a call that its context ended: TIMEOUT or CANCELED, and for errors.Is the
// context's error as well.
func ContextError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &ended{runtime.Errorf(runtime.CodeTimeout, "the call did not end in time"), ctx.Err()}
	}
	return &ended{runtime.Errorf(runtime.CodeCanceled, "the call was cancelled"), context.Canceled}
}

// ended is a runtime.Error with the context's.
type ended struct {
	err   *runtime.Error
	cause error
}

func (e *ended) Error() string { return e.err.Error() }

func (e *ended) Unwrap() []error { return []error{e.err, e.cause} }
