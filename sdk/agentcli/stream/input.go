package stream

import (
	"context"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// deadliner is a Terminal whose Write can be given up, such as a TTY.
type deadliner interface{ SetWriteDeadline(t time.Time) error }

// Write types bytes, one caller at a time. When ctx ends before the command took them all, some may have been
// typed; on a Terminal without SetWriteDeadline the rest follows when the command reads again.
func (p *Process) Write(ctx context.Context, b []byte) error {
	const text = "the command did not read in time"
	select {
	case <-p.typing:
	case <-p.ended:
		return notRunning()
	case <-ctx.Done():
		return late(ctx, text)
	}
	written := make(chan error, 1)
	go func() {
		_, err := p.o.Terminal.Write(b)
		written <- err
		p.typing <- struct{}{}
	}()
	var err error
	select {
	case err = <-written:
	case <-ctx.Done():
		d, ok := p.o.Terminal.(deadliner)
		if !ok || d.SetWriteDeadline(time.Unix(1, 0)) != nil {
			return late(ctx, text)
		}
		err = <-written
		_ = d.SetWriteDeadline(time.Time{})
		if err != nil {
			return late(ctx, text)
		}
	}
	if err != nil {
		if p.hasEnded() {
			return notRunning()
		}
		return runtime.Errorf(runtime.CodeUnavailable, "the terminal cannot be written to: %v", err)
	}
	return nil
}
