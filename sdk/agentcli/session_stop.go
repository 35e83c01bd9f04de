package agentcli

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/wardroom/wardroom/sdk/runtime"
)

// stopCause says why a process is about to end.
type stopCause int32

const (
	notStopping stopCause = iota
	stopAsked             // Stop asked it to
	stopKilled            // Stop killed it
)

const (
	defaultGrace = 5 * time.Second
	maxGrace     = 10 * time.Minute
)

// stopper ends the process of a session for whoever calls Stop. Methods may be called concurrently.
type stopper struct {
	proc     Process
	mail     *mailbox
	ended    <-chan struct{} // closed when nothing of the session runs any more
	politely func()          // called on the loop: asks the CLI to end
	logger   hclog.Logger
	cause    atomic.Int32 // why the process is about to end: a stopCause
}

// stop ends the process: politely, then with SIGTERM, then by force. It returns when nothing of the session is left.
func (p *stopper) stop(ctx context.Context, opts runtime.StopOptions) error {
	grace := cmp.Or(max(min(opts.Grace, maxGrace), 0), defaultGrace)
	if !opts.Force {
		p.cause.CompareAndSwap(int32(notStopping), int32(stopAsked))
		if done, err := p.stopPolitely(ctx, grace); done || err != nil {
			return err
		}
	}
	p.cause.Store(int32(stopKilled))
	if err := p.proc.Kill(ctx); err != nil && !errors.Is(err, ErrGone) {
		select {
		case <-p.ended:
			return nil
		default:
			return stopError(ctx, err)
		}
	}
	return p.waitEnd(ctx)
}

// stopPolitely gives the process the grace; done if it ended.
func (p *stopper) stopPolitely(ctx context.Context, grace time.Duration) (done bool, err error) {
	deadline := time.Now().Add(grace)
	p.mail.post(p.politely)
	if p.endsBy(ctx, time.Now().Add(grace/2)) {
		return true, nil
	}
	if err := p.proc.Interrupt(ctx); err != nil && !errors.Is(err, ErrGone) && ctx.Err() == nil {
		p.logger.Debug("SIGTERM failed", "error", err)
	}
	if p.endsBy(ctx, deadline) {
		return true, nil
	}
	if ctx.Err() != nil {
		return false, stopError(ctx, ctx.Err())
	}
	return false, nil
}

func (p *stopper) endsBy(ctx context.Context, deadline time.Time) bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(time.Until(deadline)):
	case <-ctx.Done():
	}
	return false
}

func (p *stopper) waitEnd(ctx context.Context) error {
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		return stopError(ctx, ctx.Err())
	}
}

func stopError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return runtime.Errorf(runtime.CodeTimeout, "the agent did not end in time")
	}
	if e, ok := errors.AsType[*runtime.Error](err); ok {
		return e
	}
	return runtime.Errorf(runtime.CodeInternal, "the agent could not be ended")
}
