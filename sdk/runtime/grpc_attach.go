package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	pluginv1 "github.com/wardroom/wardroom/sdk/proto/v1"
)

// maxChunk bounds one message of a terminal, so that one does not hold up the others of a connection. With the
// rest of the message it fits into the buffers of 32 KiB that gRPC has; the next larger ones have 1 MiB, and are
// zeroed for each message.
const maxChunk = 31 << 10

// Attach sends frames from the handler's goroutine. A second one takes what the viewer types: gRPC ends its
// Recv with the handler, which is why the handler does not wait for it.
func (s *server) Attach(stream pluginv1.Runtime_AttachServer) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	open := first.GetOpen()
	if open == nil {
		return ToStatus(&Error{Code: CodeInvalidArgument, Field: "open", Message: "the first message of a terminal must open it"})
	}
	ctx := stream.Context()
	term, err := s.rt.Attach(ctx, open.Id, AttachOptions{
		ReadOnly: open.ReadOnly, From: open.From, Tail: int(open.Tail), Cols: int(open.Cols), Rows: int(open.Rows),
	})
	if err != nil {
		return ToStatus(err)
	}
	// Recv and Input have no context: the end of the viewer closes what they wait on.
	stop := context.AfterFunc(ctx, func() { _ = term.Close() })
	defer func() {
		stop()
		_ = term.Close()
	}()
	if err := stream.SendHeader(nil); err != nil {
		return err
	}
	out := &attached{stream: stream}
	go out.typed(term)
	for {
		frame, err := term.Recv()
		if p := out.panicked.Load(); p != nil {
			panic(*p)
		}
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return ToStatus(ctx.Err())
		case errors.Is(err, io.EOF):
			return nil
		default:
			return ToStatus(err)
		}
		if err := out.frame(&frame); err != nil {
			return err
		}
	}
}

// attached is the server's end of an open terminal.
type attached struct {
	stream grpc.BidiStreamingServer[pluginv1.AttachRequest, pluginv1.AttachResponse]
	mu     sync.Mutex // one sender at a time: frames, and the errors of what was typed
	// panicked is a panic of the goroutine that takes what is typed. The handler goes on with it, where the
	// server catches it: elsewhere it would end the process, and with it every other terminal.
	panicked atomic.Pointer[string]
}

// typed hands over what the viewer types until the viewer is gone. One that leaves in good order has typed
// everything by then, and its terminal ends.
func (a *attached) typed(term Terminal) {
	defer func() {
		if p := recover(); p != nil {
			text := fmt.Sprintf("%v\n\n%s", p, debug.Stack())
			a.panicked.Store(&text)
			_ = term.Close() // which ends the handler's Recv
		}
	}()
	for {
		msg, err := a.stream.Recv()
		if errors.Is(err, io.EOF) {
			_ = term.Close() // which ends the handler's Recv
		}
		if err != nil {
			return
		}
		switch r := msg.Request.(type) {
		case *pluginv1.AttachRequest_Input:
			err = term.Input(r.Input)
		case *pluginv1.AttachRequest_Resize:
			err = term.Resize(int(r.Resize.GetCols()), int(r.Resize.GetRows()))
		default:
			err = &Error{Code: CodeInvalidArgument, Message: "a terminal takes input and resize once it is open"}
		}
		if err != nil {
			a.mu.Lock()
			err = a.stream.Send(&pluginv1.AttachResponse{InputError: errorToProto(AsError(err))})
			a.mu.Unlock()
			if err != nil {
				return
			}
		}
	}
}

// frame sends one frame, in pieces if it is large. Only the last piece has more than data.
func (a *attached) frame(f *Frame) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	data := f.Data
	for len(data) > maxChunk {
		if err := a.stream.Send(&pluginv1.AttachResponse{Data: data[:maxChunk], More: true}); err != nil {
			return err
		}
		data = data[maxChunk:]
	}
	return a.stream.Send(&pluginv1.AttachResponse{
		Data: data, Offset: f.Offset, Repaint: f.Repaint, Lost: f.Lost, Cols: number(f.Cols), Rows: number(f.Rows),
		Exit: exitToProto(f.Exit),
	})
}

// maxFrame bounds a frame that comes in pieces.
const maxFrame = 64 << 20

// terminal is the client's end of an open terminal.
type terminal struct {
	stream   grpc.BidiStreamingClient[pluginv1.AttachRequest, pluginv1.AttachResponse]
	cancel   context.CancelFunc
	readOnly bool

	done bool // Recv returned the end; only Recv uses it

	sending sync.Mutex            // one sends at a time; Recv never waits for it, or two that wait for the other side would for ever
	failed  atomic.Pointer[Error] // of an earlier Input or Resize
	typed   atomic.Bool           // there was an Input
	closed  atomic.Bool
}

func (c *client) Attach(ctx context.Context, id string, opts AttachOptions) (Terminal, error) {
	ctx, cancel := context.WithCancel(ctx)
	stream, err := c.rpc.Attach(ctx)
	if err == nil {
		err = stream.Send(&pluginv1.AttachRequest{Request: &pluginv1.AttachRequest_Open{Open: &pluginv1.AttachOpen{
			Id: text(id), ReadOnly: opts.ReadOnly, From: opts.From, Tail: number(opts.Tail), Cols: number(opts.Cols), Rows: number(opts.Rows),
		}}})
		if errors.Is(err, io.EOF) { // the server ended it; Recv knows why
			err = nil
		}
	}
	if err == nil {
		err = pluginv1.Opened(stream)
	}
	if err != nil {
		cancel()
		return nil, FromStatus(err)
	}
	return &terminal{stream: stream, cancel: cancel, readOnly: opts.ReadOnly}, nil
}

func (t *terminal) Recv() (Frame, error) {
	if t.done {
		return Frame{}, io.EOF
	}
	var head []byte
	for {
		msg, err := t.stream.Recv()
		if err != nil {
			return Frame{}, t.end(err)
		}
		if t.closed.Load() {
			continue
		}
		if msg.InputError != nil {
			t.failed.Store(errorFromProto(msg.InputError))
			continue
		}
		data := msg.Data
		if msg.More || head != nil {
			if len(head)+len(data) > maxFrame {
				t.cancel()
				return Frame{}, t.end(Errorf(CodeInternal, "the runtime sent a frame beyond %d bytes", maxFrame))
			}
			head = append(head, data...)
			if msg.More {
				continue
			}
			data = head
		}
		frame := Frame{
			Data: data, Offset: msg.Offset, Repaint: msg.Repaint, Lost: msg.Lost, Cols: int(msg.Cols), Rows: int(msg.Rows),
			Exit: exitFromProto(msg.Exit),
		}
		if frame.Exit != nil {
			t.done = true
			t.cancel()
		}
		return frame, nil
	}
}

// end is what Recv returns once the stream ended with err.
func (t *terminal) end(err error) error {
	t.done = true
	t.cancel()
	if t.closed.Load() || errors.Is(err, io.EOF) {
		return io.EOF
	}
	return FromStatus(err)
}

func (t *terminal) Input(p []byte) error {
	if t.readOnly {
		return Errorf(CodeForbidden, "the terminal is read-only")
	}
	t.typed.Store(true)
	for len(p) > 0 {
		n := min(len(p), maxChunk)
		if err := t.send(&pluginv1.AttachRequest{Request: &pluginv1.AttachRequest_Input{Input: p[:n]}}); err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

func (t *terminal) Resize(cols, rows int) error {
	if cols < 1 || cols > 1000 || rows < 1 || rows > 1000 {
		return &Error{
			Code: CodeInvalidArgument, Field: "size", Message: "a terminal has 1 to 1000 columns and rows",
		}
	}
	return t.send(&pluginv1.AttachRequest{Request: &pluginv1.AttachRequest_Resize{
		Resize: &pluginv1.TerminalSize{Cols: uint32(cols), Rows: uint32(rows)},
	}})
}

// send sends one request. The failure of an earlier one is returned now, once: what is typed is not waited for.
func (t *terminal) send(msg *pluginv1.AttachRequest) error {
	t.sending.Lock()
	defer t.sending.Unlock()
	if t.closed.Load() {
		return Errorf(CodeNotRunning, "the terminal is closed")
	}
	if err := t.failed.Swap(nil); err != nil {
		return err
	}
	if err := t.stream.Send(msg); err != nil {
		if errors.Is(err, io.EOF) { // Recv has the reason
			return Errorf(CodeNotRunning, "the terminal ended")
		}
		return FromStatus(err)
	}
	return nil
}

// leaveTime bounds how long the other side may take over what was typed last.
const leaveTime = 500 * time.Millisecond

// Close lets the other side have what was typed: a stream that is cancelled takes with it what was not read yet.
// Recv returns once the other side is through, or leaveTime is over.
func (t *terminal) Close() error {
	if t.closed.Swap(true) {
		return nil
	}
	if t.typed.Load() && t.sending.TryLock() { // else nothing was typed, or it is stuck
		err := t.stream.CloseSend()
		t.sending.Unlock()
		if err == nil {
			time.AfterFunc(leaveTime, t.cancel)
			return nil
		}
	}
	t.cancel()
	return nil
}
