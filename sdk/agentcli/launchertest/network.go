package launchertest

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Network is a Launcher whose agents are reached over a network that is slow, and that can be cut. What it reaches is as
// much a Checkpointer, an OutputHeader, a HookSource and a Meter as the processes of the launcher behind it. Safe for
// concurrent use.
type Network struct {
	agentcli.Launcher
	// Delay is how long the output of a process takes to be opened, and each piece of it to come. Set before use.
	Delay time.Duration

	mu  sync.Mutex    // guards cut
	cut chan struct{} // closed while the network is cut; replaced when it is whole again
}

// NewNetwork returns a network in front of a launcher.
func NewNetwork(l agentcli.Launcher, delay time.Duration) *Network {
	return &Network{Launcher: l, Delay: delay, cut: make(chan struct{})}
}

// Cut cuts every connection; new ones fail until Mend. The agents run on.
func (n *Network) Cut() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !isClosed(n.cut) {
		close(n.cut)
	}
}

// Mend lets new connections through.
func (n *Network) Mend() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if isClosed(n.cut) {
		n.cut = make(chan struct{})
	}
}

func (n *Network) line() chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// errCut is what everything is whose connection was cut.
func errCut() error {
	return &runtime.Error{Code: runtime.CodeUnavailable, Message: "the connection was cut", Retry: true}
}

// Launch implements agentcli.Launcher.
func (n *Network) Launch(ctx context.Context, cmd agentcli.Command) (agentcli.Process, error) {
	return n.connect(func() (agentcli.Process, error) { return n.Launcher.Launch(ctx, cmd) })
}

// Find implements agentcli.Launcher.
func (n *Network) Find(ctx context.Context, handle []byte) (agentcli.Process, error) {
	return n.connect(func() (agentcli.Process, error) { return n.Launcher.Find(ctx, handle) })
}

// Latest implements agentcli.Rediscoverer, as far as the launcher does.
func (n *Network) Latest(ctx context.Context, id string, since time.Time) ([]byte, error) {
	if isClosed(n.line()) {
		return nil, errCut()
	}
	if l, ok := n.Launcher.(agentcli.Rediscoverer); ok {
		return l.Latest(ctx, id, since)
	}
	return nil, agentcli.ErrGone
}

func (n *Network) connect(reach func() (agentcli.Process, error)) (agentcli.Process, error) {
	line := n.line()
	if isClosed(line) {
		return nil, errCut()
	}
	p, err := reach()
	if err != nil {
		return nil, err
	}
	return &reached{Process: p, line: line, delay: n.Delay}, nil
}

// reached is a process at the other end of a network.
type reached struct {
	agentcli.Process
	line  <-chan struct{} // closed when the connection is cut
	delay time.Duration
}

var (
	_ agentcli.Checkpointer = (*reached)(nil)
	_ agentcli.OutputHeader = (*reached)(nil)
	_ agentcli.HookSource   = (*reached)(nil)
	_ agentcli.Backlogger   = (*reached)(nil)
	_ agentcli.Meter        = (*reached)(nil)
)

// call runs f with a context that ends with the connection.
func (r *reached) call(ctx context.Context, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-r.line:
			cancel()
		case <-done:
		}
	}()
	if isClosed(r.line) {
		return errCut()
	}
	err := f(ctx)
	if isClosed(r.line) {
		return errCut()
	}
	return err
}

// Write implements agentcli.Process.
func (r *reached) Write(ctx context.Context, p []byte) error {
	return r.call(ctx, func(ctx context.Context) error { return r.Process.Write(ctx, p) })
}

// Resize implements agentcli.Process.
func (r *reached) Resize(ctx context.Context, cols, rows int) error {
	return r.call(ctx, func(ctx context.Context) error { return r.Process.Resize(ctx, cols, rows) })
}

// Interrupt implements agentcli.Process.
func (r *reached) Interrupt(ctx context.Context) error { return r.call(ctx, r.Process.Interrupt) }

// Kill implements agentcli.Process.
func (r *reached) Kill(ctx context.Context) error { return r.call(ctx, r.Process.Kill) }

// Wait implements agentcli.Process.
func (r *reached) Wait(ctx context.Context) (exit runtime.Exit, err error) {
	err = r.call(ctx, func(ctx context.Context) error {
		exit, err = r.Process.Wait(ctx)
		return err
	})
	return exit, err
}

// Output implements agentcli.Process.
func (r *reached) Output(ctx context.Context, from uint64) (agentcli.Output, error) {
	if err := r.pause(ctx); err != nil {
		return nil, err
	}
	out, err := r.Process.Output(ctx, from)
	if err != nil {
		return nil, err
	}
	o := &slowOutput{Output: out, r: r, ctx: ctx, closed: make(chan struct{})}
	go func() { // a Read that blocks ends with the connection
		select {
		case <-r.line:
			_ = o.Close()
		case <-o.closed:
		}
	}()
	return o, nil
}

// pause waits as the network does.
func (r *reached) pause(ctx context.Context) error {
	timer := time.NewTimer(r.delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.line:
		return errCut()
	case <-ctx.Done():
		return ctx.Err()
	}
	if isClosed(r.line) {
		return errCut()
	}
	return nil
}

// slowOutput is the output of a reached process.
type slowOutput struct {
	agentcli.Output
	r      *reached
	ctx    context.Context // of whoever opened it
	once   sync.Once
	closed chan struct{}
}

// Read implements io.Reader.
func (o *slowOutput) Read(p []byte) (int, error) {
	n, err := o.Output.Read(p)
	if isClosed(o.r.line) {
		return 0, errCut()
	}
	if o.r.delay > 0 && n > 0 {
		if err := o.r.pause(o.ctx); err != nil {
			return 0, err
		}
	}
	return n, err
}

// Close implements io.Closer.
func (o *slowOutput) Close() (err error) {
	err = net.ErrClosed
	o.once.Do(func() {
		close(o.closed)
		err = o.Output.Close()
	})
	return err
}

// SaveCheckpoint implements agentcli.Checkpointer.
func (r *reached) SaveCheckpoint(ctx context.Context, offset uint64, note []byte) error {
	c, ok := r.Process.(agentcli.Checkpointer)
	if !ok {
		return runtime.Errorf(runtime.CodeUnimplemented, "the process keeps no checkpoints")
	}
	return r.call(ctx, func(ctx context.Context) error { return c.SaveCheckpoint(ctx, offset, note) })
}

// LoadCheckpoint implements agentcli.Checkpointer.
func (r *reached) LoadCheckpoint(ctx context.Context) (offset uint64, note []byte, err error) {
	c, ok := r.Process.(agentcli.Checkpointer)
	if !ok {
		return 0, nil, nil
	}
	err = r.call(ctx, func(ctx context.Context) error {
		offset, note, err = c.LoadCheckpoint(ctx)
		return err
	})
	return offset, note, err
}

// Backlog implements agentcli.Backlogger.
func (r *reached) Backlog() int {
	b, ok := r.Process.(agentcli.Backlogger)
	if !ok {
		return 0
	}
	return b.Backlog()
}

// Unread implements agentcli.Backlogger.
func (r *reached) Unread(ctx context.Context) (unread int, err error) {
	b, ok := r.Process.(agentcli.Backlogger)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	err = r.call(ctx, func(ctx context.Context) error {
		unread, err = b.Unread(ctx)
		return err
	})
	return unread, err
}

// OutputHead implements agentcli.OutputHeader.
func (r *reached) OutputHead() (uint64, bool) {
	h, ok := r.Process.(agentcli.OutputHeader)
	if !ok {
		return 0, false
	}
	return h.OutputHead()
}

// Hooks implements agentcli.HookSource.
func (r *reached) Hooks() <-chan *agentcli.HookCall {
	if h, ok := r.Process.(agentcli.HookSource); ok {
		return h.Hooks()
	}
	return nil
}

// Usage implements agentcli.Meter.
func (r *reached) Usage(ctx context.Context) (usage agentcli.Usage, err error) {
	m, ok := r.Process.(agentcli.Meter)
	if !ok {
		return usage, runtime.Errorf(runtime.CodeUnimplemented, "the process is not measured")
	}
	err = r.call(ctx, func(ctx context.Context) error {
		usage, err = m.Usage(ctx)
		return err
	})
	return usage, err
}
