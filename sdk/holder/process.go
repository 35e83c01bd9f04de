package holder

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// chunk is how much input goes out at once; the next follows when the command took it.
const chunk = 32 << 10

var (
	_ agentcli.Checkpointer = (*Client)(nil)
	_ agentcli.HookSource   = (*Client)(nil)
	_ agentcli.OutputHeader = (*Client)(nil)
	_ agentcli.Backlogger   = (*Client)(nil)
)

// Write types p, in order with other writers. It blocks while the command does not read. When ctx ends, what was
// not taken by then is dropped.
func (c *Client) Write(ctx context.Context, p []byte) error {
	select {
	case <-c.typing:
	case <-ctx.Done():
		return ended(ctx)
	}
	defer func() { c.typing <- struct{}{} }()
	for len(p) > 0 {
		part := p[:min(len(p), chunk)]
		p = p[len(part):]
		_, err := c.ask(ctx, func(id uint32) wire.Message { return wire.Input{ID: id, Data: part} },
			func(id uint32) wire.Message { return wire.Plain{What: wire.KindCancel, ID: id} })
		if err != nil {
			return err
		}
	}
	return nil
}

// Resize changes the terminal's size; INVALID_ARGUMENT beyond 1..1000.
func (c *Client) Resize(ctx context.Context, cols, rows int) error {
	if cols < 1 || cols > 1000 || rows < 1 || rows > 1000 {
		return runtime.Errorf(runtime.CodeInvalidArgument, "%dx%d is no size: 1 to 1000 columns and rows", cols, rows)
	}
	_, err := c.ask(ctx, func(id uint32) wire.Message {
		return wire.Resize{ID: id, Cols: uint16(cols), Rows: uint16(rows)}
	}, nil)
	return err
}

// Interrupt sends SIGTERM to the command.
func (c *Client) Interrupt(ctx context.Context) error {
	_, err := c.ask(ctx, func(id uint32) wire.Message { return wire.Signal{ID: id, Signal: uint8(unix.SIGTERM)} }, nil)
	return err
}

// Kill ends the command and everything it started at once, and returns when nothing of it is left. Who wants it
// to end by itself has called Interrupt before.
func (c *Client) Kill(ctx context.Context) error {
	select {
	case <-c.exited:
		return nil
	default:
	}
	_, err := c.ask(ctx, func(id uint32) wire.Message { return wire.Kill{ID: id} }, nil)
	return err
}

// Wait returns how the command ended. When the connection is cut first, it asks Options.Gone; without one it is
// UNAVAILABLE: the agent runs, as far as is known.
func (c *Client) Wait(ctx context.Context) (runtime.Exit, error) {
	select {
	case <-c.exited:
		return ExitOf(c.exit), nil
	case <-ctx.Done():
		return runtime.Exit{}, ended(ctx)
	case <-c.lost:
		select {
		case <-c.exited:
			return ExitOf(c.exit), nil
		default:
		}
		if c.opts.Gone != nil {
			return c.opts.Gone(ctx)
		}
		return runtime.Exit{}, c.why
	}
}

// ExitOf is the exit that a holder tells of, for callers.
func ExitOf(m wire.Exited) runtime.Exit {
	exit := runtime.Exit{Code: int(m.Code)}
	if m.Killed {
		exit.Reason = runtime.ReasonKilled
	}
	return exit
}

// OutputHead is how much output there was at the connection.
func (c *Client) OutputHead() (head uint64, ok bool) { return c.welcome.Head, true }

// Backlog returns how much input the command had not read at the connection.
func (c *Client) Backlog() int { return int(c.welcome.Unread) }

// Unread returns how much input the command has not read by now; errors.ErrUnsupported of a holder of an earlier version.
func (c *Client) Unread(ctx context.Context) (int, error) {
	if c.welcome.Version < 2 {
		return 0, errors.ErrUnsupported
	}
	r, err := c.ask(ctx, func(id uint32) wire.Message { return wire.Plain{What: wire.KindLoadUnread, ID: id} }, nil)
	return int(r.unread.Count), err
}

// SaveCheckpoint replaces the note in the holder.
func (c *Client) SaveCheckpoint(ctx context.Context, offset uint64, note []byte) error {
	if len(note) > wire.MaxPayload {
		return runtime.Errorf(runtime.CodeInvalidArgument, "a checkpoint has at most 4 MiB, not %d bytes", len(note))
	}
	_, err := c.ask(ctx, func(id uint32) wire.Message {
		return wire.Note{What: wire.KindSaveNote, ID: id, Offset: offset, Data: note}
	}, nil)
	return err
}

// LoadCheckpoint returns the note, or none.
func (c *Client) LoadCheckpoint(ctx context.Context) (uint64, []byte, error) {
	r, err := c.ask(ctx, func(id uint32) wire.Message { return wire.Plain{What: wire.KindLoadNote, ID: id} }, nil)
	if err != nil || len(r.note.Data) == 0 {
		return 0, nil, err
	}
	return r.note.Offset, r.note.Data, nil
}

// Close lets go of the holder. One whose command has ended ends too; its socket is gone when Close returns.
func (c *Client) Close() error {
	c.mu.Lock()
	first, out := !c.closed, c.out
	c.closed = true
	c.mu.Unlock()
	if first {
		select {
		case <-c.exited:
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			_, _ = c.ask(ctx, func(id uint32) wire.Message { return wire.Plain{What: wire.KindRelease, ID: id} }, nil)
			cancel()
		default:
		}
		if out != nil {
			_ = out.Close()
		}
		_ = c.conn.Close()
	}
	c.wg.Wait()
	return nil
}
