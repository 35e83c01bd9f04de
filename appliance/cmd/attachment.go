package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	// reattachFor is how long an attached terminal tries to come back after its connection was lost.
	reattachFor = 2 * time.Minute
	// quietLoss is how long a lost connection is not spoken of: most are back at once.
	quietLoss = time.Second
)

// goneError is a failure of this side's terminal. It hides its cause, which may be io.EOF: that is the name of
// the other side's end.
type goneError struct{ cause error }

func (e *goneError) Error() string { return "this terminal is gone: " + e.cause.Error() }

// errDetached ends an attachment by its keys.
var errDetached = errors.New("detached")

// attachment joins this terminal to an agent's.
type attachment struct {
	in, out  *os.File
	readOnly bool
	detach   detachMatcher
	dial     func(ctx context.Context, opts runtime.AttachOptions) (runtime.Terminal, error)

	others *others

	window window  // what of the agent's screen fits here
	told   bool    // that keys are refused
	seen   *uint64 // offset of the output that was shown; nil before the first
}

// run holds the attachment until the agent ends (exit), the keys detach (errDetached), ctx ends, or the
// connection cannot be made any more. This terminal is as it was when run returns.
func (a *attachment) run(ctx context.Context) (exit *runtime.Exit, err error) {
	// The first connection is made before anything is changed here, so that its errors need no cleaning up.
	remote, err := a.dial(ctx, a.options())
	if err != nil {
		return nil, err
	}
	screen, err := takeScreen(a.in, a.out)
	if err != nil {
		_ = remote.Close()
		return nil, fmt.Errorf("this terminal cannot be used: %w", err)
	}
	defer screen.restore()
	keyboard, err := openKeyboard(a.in, a.out)
	if err != nil {
		_ = remote.Close()
		return nil, fmt.Errorf("this terminal cannot be read: %w", err)
	}
	defer keyboard.close()
	for {
		exit, err = a.session(ctx, remote, screen, keyboard)
		_ = remote.Close()
		if exit != nil || !lost(err) || ctx.Err() != nil {
			return exit, err
		}
		if remote, err = a.reattach(ctx, screen, keyboard); err != nil {
			return nil, err
		}
	}
}

// options are what the next connection asks for.
func (a *attachment) options() runtime.AttachOptions {
	opts := runtime.AttachOptions{ReadOnly: a.readOnly, From: a.seen}
	if cols, rows, err := term.GetSize(int(a.out.Fd())); err == nil {
		opts.Cols, opts.Rows = cols, rows
	}
	return opts
}

// lost reports whether it is worth connecting again.
func lost(err error) bool {
	e := runtime.AsError(err)
	return errors.Is(err, io.EOF) || e != nil && (e.Retry || e.Code == runtime.CodeUnavailable || e.Code == runtime.CodeLagged)
}

// session shows output and passes on the keyboard until the connection ends.
func (a *attachment) session(
	ctx context.Context, remote runtime.Terminal, screen *screenGuard, keyboard *keyboard,
) (*runtime.Exit, error) {
	type end struct {
		exit *runtime.Exit
		err  error
	}
	over := make(chan end, 1)
	go func() {
		exit, err := a.show(remote, screen)
		over <- end{exit, err}
	}()
	finish := func(err error) (*runtime.Exit, error) {
		_ = remote.Close()
		<-over // it writes to the terminal until then
		return nil, err
	}
	uncover := time.NewTimer(othersFor)
	uncover.Stop()
	defer uncover.Stop()
	for {
		select {
		case e := <-over:
			return e.exit, e.err
		case <-a.others.changed:
			screen.others(a.others.now())
			uncover.Reset(othersFor)
		case <-uncover.C:
			if cols, rows, err := term.GetSize(int(a.out.Fd())); err == nil {
				if data, repaint := a.window.again(cols, rows); data != nil {
					_ = screen.write(data, repaint) // one that fails shows itself in over
				}
			}
		case <-ctx.Done():
			return finish(ctx.Err())
		case err := <-keyboard.failed:
			return finish(&goneError{err})
		case size := <-keyboard.resized:
			_ = remote.Resize(size.cols, size.rows) // a connection that is gone shows itself in over
			if data, repaint := a.window.resized(size.cols, size.rows); data != nil {
				_ = screen.write(data, repaint) // one that fails shows itself in over, too
			}
		case typed := <-keyboard.typed:
			pass, left := a.detach.feed(typed)
			if len(pass) > 0 && !a.readOnly {
				a.pressed(remote, screen, pass)
			}
			if left {
				return finish(errDetached)
			}
		}
	}
}

// pressed passes on what was typed. That it is refused must not end the looking: it is said, once. A connection
// that is gone shows itself elsewhere.
func (a *attachment) pressed(remote runtime.Terminal, screen *screenGuard, keys []byte) {
	var refused *runtime.Error
	if err := remote.Input(keys); errors.As(err, &refused) && refused.Code == runtime.CodeForbidden && !a.told {
		a.told = true
		screen.notice("keys are not passed on: " + clean(refused.Message))
	}
}

// show writes what comes to this terminal.
func (a *attachment) show(remote runtime.Terminal, screen *screenGuard) (*runtime.Exit, error) {
	for {
		frame, err := remote.Recv()
		if err != nil {
			return nil, err
		}
		cols, rows := 0, 0
		if mine, high, err := term.GetSize(int(a.out.Fd())); err == nil {
			cols, rows = mine, high
		}
		data, repaint := a.window.fit(frame, cols, rows)
		if err := screen.write(data, repaint); err != nil {
			return nil, &goneError{err}
		}
		seen := frame.Offset
		a.seen = &seen
		if frame.Exit != nil {
			return frame.Exit, nil
		}
	}
}

// reattach connects again, for as long as it is worth. The detach keys still leave.
func (a *attachment) reattach(ctx context.Context, screen *screenGuard, keyboard *keyboard) (runtime.Terminal, error) {
	type outcome struct {
		remote runtime.Terminal
		err    error
	}
	// The new connection lives as long as ctx: only its making is given up.
	dialing, stop := context.WithCancel(ctx)
	done := make(chan outcome, 1)
	go func() {
		remote, err := a.redial(ctx, dialing)
		done <- outcome{remote, err}
	}()
	abandon := func(err error) (runtime.Terminal, error) {
		stop()
		if o := <-done; o.remote != nil {
			_ = o.remote.Close()
		}
		return nil, err
	}
	notice := time.NewTimer(quietLoss)
	defer notice.Stop()
	for {
		select {
		case o := <-done:
			stop()
			return o.remote, o.err
		case <-notice.C:
			screen.notice("connection lost; trying to come back")
		case <-ctx.Done():
			return abandon(ctx.Err())
		case err := <-keyboard.failed:
			return abandon(&goneError{err})
		case <-keyboard.resized: // the next connection asks for the size that it finds
		case typed := <-keyboard.typed:
			// What is typed while there is no connection is dropped: its effect could not be seen.
			if _, left := a.detach.feed(typed); left {
				return abandon(errDetached)
			}
		}
	}
}

// redial tries until it is connected, or until it is not worth it any more.
func (a *attachment) redial(ctx, dialing context.Context) (runtime.Terminal, error) {
	began, pause := time.Now(), 50*time.Millisecond
	for {
		opts := a.options()
		if time.Since(began) >= quietLoss {
			opts.From = nil // the notice is on the screen: it has to be painted anew
		}
		attempt, cancel := context.WithCancel(ctx)
		unlink := context.AfterFunc(dialing, cancel)
		remote, err := a.dial(attempt, opts)
		if err == nil && unlink() {
			return &leasedTerminal{remote, cancel}, nil
		}
		if err == nil {
			_ = remote.Close()
			err = dialing.Err()
		}
		cancel()
		if !lost(err) || dialing.Err() != nil || time.Since(began) > reattachFor {
			return nil, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-dialing.Done():
			timer.Stop()
			return nil, dialing.Err()
		}
		pause = min(2*pause, 5*time.Second)
	}
}

// leasedTerminal frees the context of its connection with it.
type leasedTerminal struct {
	runtime.Terminal
	cancel context.CancelFunc
}

// Close implements runtime.Terminal.
func (l *leasedTerminal) Close() error {
	err := l.Terminal.Close()
	l.cancel()
	return err
}
