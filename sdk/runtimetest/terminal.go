package runtimetest

import (
	"context"
	"io"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// terminal implements runtime.Terminal.
type terminal struct {
	ctx      context.Context // of the call that attached
	stop     context.CancelFunc
	closed   context.Context // ends at Close
	alive    context.Context // of the runtime
	agent    *agent
	readOnly bool
	viewer   viewer
}

func attach(ctx, alive context.Context, a *agent, opts runtime.AttachOptions) *terminal {
	closed, stop := context.WithCancel(context.Background())
	t := &terminal{ctx: ctx, alive: alive, closed: closed, stop: stop, agent: a, readOnly: opts.ReadOnly, viewer: viewer{tail: opts.Tail, sized: -1}}
	if opts.From != nil {
		t.viewer.offset, t.viewer.begun = *opts.From, true
	}
	if opts.Cols > 0 && opts.Rows > 0 && !opts.ReadOnly {
		a.firstSize(opts.Cols, opts.Rows)
	}
	return t
}

// Recv implements runtime.Terminal.
func (t *terminal) Recv() (runtime.Frame, error) {
	for {
		if t.closed.Err() != nil || t.viewer.done {
			return runtime.Frame{}, io.EOF
		}
		if err := ended(t.ctx, t.alive); err != nil {
			return runtime.Frame{}, err
		}
		frame, ok, wait := t.agent.out.next(&t.viewer)
		if ok {
			return frame, nil
		}
		select {
		case <-wait:
		case <-t.closed.Done():
		case <-t.ctx.Done():
		case <-t.alive.Done():
		}
	}
}

// Input implements runtime.Terminal.
func (t *terminal) Input(p []byte) error {
	if t.readOnly {
		return runtime.Errorf(runtime.CodeForbidden, "the terminal was opened read-only")
	}
	if t.closed.Err() != nil {
		return runtime.Errorf(runtime.CodeUnavailable, "the terminal is closed")
	}
	return t.agent.typed(p)
}

// Resize implements runtime.Terminal. The last wish counts.
func (t *terminal) Resize(cols, rows int) error {
	if cols < 1 || cols > 1000 || rows < 1 || rows > 1000 {
		return &runtime.Error{Code: runtime.CodeInvalidArgument, Field: "size", Message: "columns and rows must be from 1 to 1000"}
	}
	t.agent.out.resize(cols, rows)
	return nil
}

// Close implements runtime.Terminal.
func (t *terminal) Close() error {
	t.stop()
	return nil
}
