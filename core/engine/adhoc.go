package engine

import (
	"context"
	"errors"
	"io"

	"github.com/wardroom/wardroom/core"
)

// Ad-hoc executions are made, driven and ended by core.ThreadService. The engine shows them like others.

// awaitAdHoc returns an ad-hoc execution once it is terminal, by its journal.
func (e *Engine) awaitAdHoc(ctx context.Context, exec *core.Execution) (*core.Execution, error) {
	var after uint64
	for !exec.Status.Terminal() {
		if e.stopping() {
			return nil, errShuttingDown()
		}
		seen, err := e.followToEnd(ctx, exec.ID, after)
		after = max(after, seen)
		var gone *core.Error
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && !(errors.As(err, &gone) && gone.Unavailable && !e.stopping()):
			return nil, err
		case err != nil && !e.pause(storeRetry): // too slow a reader, or a store that is read later
			return nil, errShuttingDown()
		}
		if exec, err = e.store.FindExecution(ctx, exec.ID); err != nil {
			return nil, err
		}
	}
	return exec, nil
}

// followToEnd reads the events of an execution after a sequence up to the last one, and returns the sequence that it
// came to. It returns nil at the end.
func (e *Engine) followToEnd(ctx context.Context, id string, after uint64) (uint64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := e.Stream(ctx, id, after)
	if err != nil {
		return after, err
	}
	defer stream.Close()
	done := make(chan struct{})
	defer func() { <-done }()
	go func() { // a stream does not end with the engine
		defer close(done)
		select {
		case <-e.quit:
			cancel()
		case <-ctx.Done():
		}
	}()
	defer cancel()
	for {
		ev, err := stream.Next(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return after, nil
		case err != nil && e.stopping():
			return after, errShuttingDown()
		case err != nil:
			return after, err
		}
		after = ev.Seq
		if endsExecution(ev.Type) {
			return after, nil
		}
	}
}

// cancelAdHoc cancels an ad-hoc execution that is not over.
func (e *Engine) cancelAdHoc(ctx context.Context, exec *core.Execution, reason string) (*core.Execution, error) {
	if e.adHoc == nil {
		return nil, core.Unavailable("threads_unavailable", "execution %s is ad hoc, and managed threads are not served here", exec.ID)
	}
	return e.adHoc.CancelAdHoc(context.WithoutCancel(ctx), exec.ID, reason) // done or not, whether the caller waits or not
}
