package cmd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wardroom/wardroom/sdk/client"
)

// defaultWait is how long a command that follows running work bears a server that went away.
const defaultWait = 2 * time.Minute

// Pauses between tries while the server is away.
const (
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
)

// persist calls try until it succeeds or fails for a reason that time will not mend, bearing a server that
// cannot be reached for up to wait. A server that was not there from the start is reported at once: then
// nothing has been started that is worth waiting for.
func (c *cli) persist(ctx context.Context, wait time.Duration, try func() error) error {
	err := try()
	var conn *client.ConnectionError
	if err == nil || ctx.Err() != nil || !client.Unreachable(err) || (errors.As(err, &conn) && !conn.Sent) {
		return err
	}
	return c.outlast(ctx, wait, err, try)
}

// outlive is persist for a server that has answered before: one that takes no connection is away as well.
func (c *cli) outlive(ctx context.Context, wait time.Duration, try func() error) error {
	err := try()
	if err == nil || ctx.Err() != nil || !client.Unreachable(err) {
		return err
	}
	return c.outlast(ctx, wait, err, try)
}

// noteOutages tells the person when a stream lost the server, and when it has it again.
func (c *cli) noteOutages(stream *client.Stream) {
	stream.OnOutage(func(err error) {
		if err == nil {
			fmt.Fprintln(c.deps.Stderr, "the server is back")
			return
		}
		fmt.Fprintf(c.deps.Stderr, "the server is away (%s); waiting for it\n", clean(err.Error()))
	})
}

// outlast calls try again and again after err, for up to wait, telling the person at the start and the end
// of the outage.
func (c *cli) outlast(ctx context.Context, wait time.Duration, err error, try func() error) error {
	if wait <= 0 {
		return err
	}
	if isTerminal(c.deps.Stderr) {
		fmt.Fprintln(c.deps.Stderr) // below a progress bar
	}
	fmt.Fprintf(c.deps.Stderr, "the server is away (%s); waiting up to %s for it\n", clean(err.Error()), wait)
	deadline := time.Now().Add(wait)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		if time.Now().Add(pause).After(deadline) {
			return fmt.Errorf("gave up after %s: %w", wait, err)
		}
		if err := pauseFor(ctx, pause); err != nil {
			return err
		}
		err = try()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err == nil || !client.Unreachable(err) {
			fmt.Fprintln(c.deps.Stderr, "the server is back")
			return err
		}
	}
}

// pauseFor waits for d or the end of ctx, whose error it returns.
func pauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// unanswered makes a request that met --timeout a lost connection, for commands that bear an outage.
func (c *cli) unanswered(ctx context.Context, api *client.Client, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &client.ConnectionError{Server: api.BaseURL(), Sent: true, Err: fmt.Errorf("no answer within %s", c.timeout)}
	}
	return err
}
