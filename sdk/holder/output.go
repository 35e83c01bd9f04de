package holder

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// outputBuffer is small because a reader with a larger buffer of its own is served past it.
const outputBuffer = 8 << 10

// Output opens the output at an offset; an earlier Output of this client ends. ctx bounds the opening and the
// reading. A reader that takes nothing for some seconds is cut off with UNAVAILABLE, and may open it again.
func (c *Client) Output(ctx context.Context, from uint64) (agentcli.Output, error) {
	conn, frames, body, err := c.hello(ctx, wire.Hello{Role: wire.RoleOutput, Client: c.welcome.Client, From: from}, wire.KindOutputStart)
	if err != nil {
		if c.over(err) {
			return &output{ended: true, offset: c.exit.Head, stop: func() bool { return true }}, nil
		}
		return nil, err
	}
	_ = frames // it has read exactly one frame, and holds nothing back
	start, err := wire.ParseOutputStart(body)
	if err != nil {
		_ = conn.Close()
		return nil, badHolder(err)
	}
	out := &output{client: c, conn: conn, in: bufio.NewReaderSize(conn, outputBuffer), offset: start.Offset}
	out.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	c.mu.Lock()
	earlier, closed := c.out, c.closed
	c.out = out
	c.mu.Unlock()
	if earlier != nil {
		_ = earlier.Close()
	}
	if closed {
		_ = out.Close()
	}
	return out, nil
}

// over reports whether the command has ended, and the holder with it, after a dial that failed with err: nothing is kept any more.
// A dial may also fail for a while only, when the last output can still be read.
func (c *Client) over(err error) bool {
	select {
	case <-c.exited:
	default:
		return false
	}
	select {
	case <-c.lost:
		return true
	default:
		return errors.Is(err, agentcli.ErrGone)
	}
}

// output is the client's end of an output connection.
type output struct {
	client *Client
	conn   net.Conn
	in     *bufio.Reader
	stop   func() bool

	mu       sync.Mutex // held by the reader
	left     int        // bytes of the present frame that were not read
	ended    bool
	offsetMu sync.Mutex
	offset   uint64
}

// Read returns output. io.EOF after the last byte of an ended command.
func (o *output) Read(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.left == 0 {
		if o.ended {
			return 0, io.EOF
		}
		head, err := o.in.Peek(wire.HeaderLen)
		if err != nil {
			return 0, o.cut()
		}
		kind, n, err := wire.ParseHeader(head)
		if err != nil {
			return 0, badHolder(err)
		}
		_, _ = o.in.Discard(wire.HeaderLen)
		switch kind {
		case wire.KindData:
			o.left = n
		case wire.KindEnd:
			o.ended = true
		default:
			if _, err := o.in.Discard(n); err != nil {
				return 0, o.cut()
			}
		}
	}
	if len(p) == 0 {
		return 0, nil
	}
	n, err := o.in.Read(p[:min(len(p), o.left)])
	o.left -= n
	o.offsetMu.Lock()
	o.offset += uint64(n)
	o.offsetMu.Unlock()
	if n == 0 && err != nil {
		return 0, o.cut()
	}
	return n, nil
}

// cut returns why the connection ended in the middle.
func (o *output) cut() error {
	select {
	case <-o.client.lost:
		return o.client.why
	default:
		return &runtime.Error{Code: runtime.CodeUnavailable, Message: "the output was cut off", Hint: "open it again", Retry: true}
	}
}

// Offset is that of the next byte that Read returns.
func (o *output) Offset() uint64 {
	o.offsetMu.Lock()
	defer o.offsetMu.Unlock()
	return o.offset
}

// Close ends Read.
func (o *output) Close() error {
	o.stop()
	if o.conn == nil {
		return nil
	}
	_ = o.conn.Close()
	return nil
}
