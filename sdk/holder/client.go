package holder

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/holder/wire"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Times of the connection.
const (
	helloTime = 10 * time.Second
	writeTime = 10 * time.Second // the holder always reads; one that does not is stuck
)

// maxCalls is how many hook calls wait for a consumer; the holder keeps no more.
const maxCalls = 64

// Options say what to connect to.
type Options struct {
	// Dial opens a connection to the holder. It is called for the client and for each Output.
	Dial func(ctx context.Context) (net.Conn, error)
	// Nonce is that of the life that is meant.
	Nonce wire.Nonce
	// Gone is asked by Wait when the connection was cut before the end of the command was reported: it returns how the
	// command ended, agentcli.ErrGone when holder and command are gone for certain, and any other error when they run
	// as far as is known. A cut connection alone says nothing of the agent, so nil means the last.
	Gone func(ctx context.Context) (runtime.Exit, error)
}

// Client drives one holder. While it is connected no other client is; a newer one ends it. Methods may be called
// concurrently; errors are *runtime.Error or agentcli.ErrGone.
type Client struct {
	opts    Options
	conn    net.Conn
	welcome wire.Welcome
	hooks   chan *agentcli.HookCall
	wg      sync.WaitGroup
	nextID  atomic.Uint32

	sending sync.Mutex    // one frame at a time
	typing  chan struct{} // holds a token while there is no write

	exited chan struct{} // closed when exit is known
	lost   chan struct{} // closed when the connection is
	exit   wire.Exited   // valid once exited is closed
	why    error         // valid once lost is closed

	mu      sync.Mutex // guards what follows
	pending map[uint32]chan reply
	calls   map[uint64]chan struct{} // Done of each call that was yielded
	out     *output
	closed  bool
}

type reply struct {
	done   wire.Done
	note   wire.Note
	unread wire.Unread
}

// Connect connects. agentcli.ErrGone when nothing listens there, or another life is held; UNAVAILABLE when that cannot
// be said.
func Connect(ctx context.Context, opts Options) (*Client, error) {
	c := &Client{
		opts: opts, hooks: make(chan *agentcli.HookCall, maxCalls), typing: make(chan struct{}, 1),
		exited: make(chan struct{}), lost: make(chan struct{}),
		pending: make(map[uint32]chan reply), calls: make(map[uint64]chan struct{}),
	}
	c.typing <- struct{}{}
	conn, frames, body, err := c.hello(ctx, wire.Hello{Role: wire.RoleControl}, wire.KindWelcome)
	if err != nil {
		return nil, err
	}
	c.conn = conn
	if c.welcome, err = wire.ParseWelcome(body); err != nil {
		_ = conn.Close()
		return nil, badHolder(err)
	}
	c.wg.Go(func() { c.read(frames) })
	return c, nil
}

// Welcome says how things stood at the connection.
func (c *Client) Welcome() wire.Welcome { return c.welcome }

// hello opens a connection and reads the answer, which has to be of that kind.
func (c *Client) hello(ctx context.Context, m wire.Hello, want wire.Kind) (net.Conn, *wire.Reader, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	conn, err := c.opts.Dial(ctx)
	if err != nil {
		return nil, nil, nil, dialError(ctx, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	m.Min, m.Max, m.Nonce = wire.MinVersion, wire.Version, c.opts.Nonce
	frames := wire.NewReader(conn)
	var kind wire.Kind
	var body []byte
	if err = wire.Write(conn, m); err == nil {
		kind, body, err = frames.Next()
	}
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil && kind != want {
		err = refusal(kind, body)
	}
	if err != nil {
		_ = conn.Close()
		return nil, nil, nil, dialError(ctx, err)
	}
	return conn, frames, body, nil
}

func dialError(ctx context.Context, err error) error {
	var known *runtime.Error
	switch {
	case errors.Is(err, agentcli.ErrGone) || errors.As(err, &known):
		return err
	case ctx.Err() != nil:
		return runtime.Errorf(runtime.CodeTimeout, "the holder does not answer")
	case nobody(err):
		return agentcli.ErrGone
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE):
		return &runtime.Error{Code: runtime.CodeResourceLimit, Message: "too many open files", Retry: true, Hint: "raise LimitNOFILE of the service"}
	}
	return cutOff() // whether the holder ended while it was asked, or something on the way did, is not known
}

// cutOff is the error of a connection that ended without a word.
func cutOff() error {
	return &runtime.Error{Code: runtime.CodeUnavailable, Message: "the connection to the holder of the agent was lost", Retry: true}
}

// nobody reports whether a dial failed because nothing listens on a socket of this machine. The same answer from
// another machine may be that of something on the way.
func nobody(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Net != "unix" {
		return false
	}
	return errors.Is(err, syscall.ENOENT) || errors.Is(err, syscall.ECONNREFUSED)
}

func refusal(kind wire.Kind, body []byte) error {
	if kind != wire.KindRefused {
		return badHolder(errors.New("unexpected answer"))
	}
	m, err := wire.ParseRefused(body)
	if err != nil {
		return badHolder(err)
	}
	switch m.Code {
	case wire.CodeNonce:
		return agentcli.ErrGone
	case wire.CodeSuperseded:
		return superseded()
	}
	return badHolder(m)
}

func badHolder(err error) error {
	return &runtime.Error{
		Code: runtime.CodeInternal, Message: "the holder cannot be understood: " + err.Error(),
		Hint: "it was started by another version; stop the agent and start it again",
	}
}

func superseded() error {
	return runtime.Errorf(runtime.CodeUnavailable, "another process drives the agent now")
}

// read takes what the holder sends until the connection ends.
func (c *Client) read(frames *wire.Reader) {
	var why error
	for why == nil {
		kind, body, err := frames.Next()
		if err != nil {
			why = cutOff()
			break
		}
		why = c.take(kind, body)
	}
	_ = c.conn.Close()
	c.mu.Lock()
	c.why = why
	for number, done := range c.calls {
		close(done)
		delete(c.calls, number)
	}
	c.mu.Unlock()
	close(c.lost)
	close(c.hooks)
}

// take handles one frame. An error ends the connection.
func (c *Client) take(kind wire.Kind, body []byte) error {
	switch kind {
	case wire.KindDone:
		m, err := wire.ParseDone(body)
		if err != nil {
			return badHolder(err)
		}
		c.resolve(m.ID, reply{done: m})
	case wire.KindNote:
		m, err := wire.ParseNote(kind, body)
		if err != nil {
			return badHolder(err)
		}
		m.Data = append([]byte(nil), m.Data...)
		c.resolve(m.ID, reply{note: m})
	case wire.KindUnread:
		m, err := wire.ParseUnread(body)
		if err != nil {
			return badHolder(err)
		}
		c.resolve(m.ID, reply{unread: m})
	case wire.KindExited:
		m, err := wire.ParseExited(body)
		if err != nil {
			return badHolder(err)
		}
		select {
		case <-c.exited: // told twice
		default:
			c.exit = m
			close(c.exited)
		}
	case wire.KindHookCall:
		m, err := wire.ParseHookCall(kind, body)
		if err != nil {
			return badHolder(err)
		}
		c.called(m)
	case wire.KindHookGone:
		m, err := wire.ParseHookAnswer(kind, body)
		if err != nil {
			return badHolder(err)
		}
		c.abandoned(m.Call)
	case wire.KindRefused:
		return refusal(kind, body)
	}
	return nil // a kind of a later version
}

func (c *Client) resolve(id uint32, r reply) {
	c.mu.Lock()
	waiting := c.pending[id]
	delete(c.pending, id)
	c.mu.Unlock()
	if waiting != nil {
		waiting <- r
	}
}

// send writes one frame.
func (c *Client) send(m wire.Message) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	if err := c.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return c.gone()
	}
	if err := wire.Write(c.conn, m); err != nil {
		_ = c.conn.Close() // half a frame may be out
		return c.gone()
	}
	return nil
}

// gone returns why the connection does not work any more.
func (c *Client) gone() error {
	select {
	case <-c.lost:
		return c.why
	case <-time.After(time.Second): // read is about to find out
		return cutOff()
	}
}

// ask sends a request and waits for its reply. cancel, if there is one, tells the holder that ctx ended.
func (c *Client) ask(ctx context.Context, build func(id uint32) wire.Message, cancel func(id uint32) wire.Message) (reply, error) {
	id := c.nextID.Add(1)
	answer := make(chan reply, 1)
	c.mu.Lock()
	c.pending[id] = answer
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.pending, id)
		c.mu.Unlock()
	}()
	if err := c.send(build(id)); err != nil {
		return reply{}, err
	}
	select {
	case r := <-answer:
		return r, codeError(r.done)
	case <-c.lost:
		select {
		case r := <-answer:
			return r, codeError(r.done)
		default:
			return reply{}, c.why
		}
	case <-ctx.Done():
		if cancel != nil {
			_ = c.send(cancel(id))
		}
		return reply{}, ended(ctx)
	}
}

// ended is the error for a caller who did not wait.
func ended(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return runtime.Errorf(runtime.CodeTimeout, "the agent did not take it in time")
	}
	return runtime.Errorf(runtime.CodeTimeout, "the call was cancelled")
}

func codeError(m wire.Done) error {
	switch m.Code {
	case wire.CodeOK:
		return nil
	case wire.CodeEnded:
		return runtime.Errorf(runtime.CodeNotRunning, "the agent's process has ended")
	case wire.CodeCancelled:
		return runtime.Errorf(runtime.CodeTimeout, "the agent did not take it in time")
	case wire.CodeBusy:
		return &runtime.Error{Code: runtime.CodeResourceLimit, Message: "too much input waits for the agent", Retry: true}
	case wire.CodeInvalid:
		return runtime.Errorf(runtime.CodeInvalidArgument, "%s", m.Text)
	case wire.CodeLeft:
		return runtime.Errorf(runtime.CodeInternal, "%s", m.Text)
	}
	return runtime.Errorf(runtime.CodeInternal, "the holder failed: %s", m.Text)
}

// Cut ends the connection as the network would: the command runs on, and Wait asks Options.Gone.
func (c *Client) Cut() error { return c.conn.Close() }
