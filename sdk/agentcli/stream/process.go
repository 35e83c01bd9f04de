package stream

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// Terminal is the stream of a command. A Read that waits ends when Close is called.
type Terminal interface {
	io.ReadWriteCloser
	Resize(cols, rows int) error // 1 to 1000 each
}

// Options are a command that runs. All but Info, Usage and RingBytes are needed.
type Options struct {
	Terminal Terminal
	Info     agentcli.ProcessInfo
	// Interrupt sends SIGTERM to the command.
	Interrupt func(ctx context.Context) error
	// Kill ends the command and everything it started. It is also called for one that has ended.
	Kill func(ctx context.Context) error
	// Wait returns when the command has ended. It is called once.
	Wait func() (runtime.Exit, error)
	// Usage measures the command and what it started. Nil: it is not measured.
	Usage func(ctx context.Context) (agentcli.Usage, error)
	// RingBytes is how much output is kept, at least 64 KiB; 0: DefaultRing.
	RingBytes int
}

const (
	// DefaultRing is how many bytes of output are kept.
	DefaultRing = 256 << 10
	chunk       = 64 << 10               // bytes of one read
	maxSize     = 1000                   // columns and rows
	settle      = 250 * time.Millisecond // silence after which the output of an ended command is complete
	settleMost  = 5 * time.Second        // and so long after its end at most, unless the reader is slow
)

// Process is an agentcli.Process over a Terminal.
type Process struct {
	o      Options
	id     string
	nonce  string
	forget func()

	typing  chan struct{} // holds a token while nobody types
	drained chan struct{} // closed when the terminal gives no more
	ended   chan struct{} // closed when exit is known and the output complete
	exit    runtime.Exit  // valid once ended is closed
	failure error         // valid once ended is closed

	mu      sync.Mutex // guards all below
	ring    ring
	over    bool          // the output is complete
	killing bool          // nothing is held up any more
	stalled bool          // read waits for the reader
	reader  *output       // or nil
	changed chan struct{} // closed and replaced when any of the above changes
}

var (
	_ agentcli.Process = (*Process)(nil)
	_ agentcli.Meter   = (*Process)(nil)
)

func newProcess(id string, o Options) *Process {
	o.RingBytes = cmp.Or(max(o.RingBytes, 0), DefaultRing)
	o.RingBytes = max(o.RingBytes, chunk) // one read always fits
	p := &Process{
		o: o, id: id, nonce: newNonce(), typing: make(chan struct{}, 1), drained: make(chan struct{}),
		ended: make(chan struct{}), changed: make(chan struct{}), ring: ring{limit: o.RingBytes},
	}
	p.typing <- struct{}{}
	return p
}

// Handle implements agentcli.Process.
func (p *Process) Handle() []byte {
	data, err := json.Marshal(handle{Version: handleVersion, ID: p.id, Nonce: p.nonce})
	if err != nil {
		panic("stream: a handle is plain data: " + err.Error())
	}
	return data
}

// Info implements agentcli.Process.
func (p *Process) Info() agentcli.ProcessInfo { return p.o.Info }

// change tells everyone who waits; p.mu is held.
func (p *Process) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// read moves output into the ring. A reader that is a whole ring behind holds it up, and so the command; without
// a reader the oldest output gives way.
func (p *Process) read() {
	defer close(p.drained)
	buf := make([]byte, chunk)
	for {
		n, err := p.o.Terminal.Read(buf)
		if n > 0 {
			p.store(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

func (p *Process) store(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.full(len(b)) {
		p.stalled = true
		changed := p.changed
		p.mu.Unlock()
		<-changed
		p.mu.Lock()
	}
	p.stalled = false
	p.ring.add(b)
	p.change()
}

// full reports whether n more bytes would take output from the reader that it has not read.
func (p *Process) full(n int) bool {
	return !p.killing && p.reader != nil && p.reader.at < p.ring.end() && p.reader.at+uint64(p.o.RingBytes) < p.ring.end()+uint64(n)
}

// wait learns how the command ended, and when its output is complete: at the end of the terminal, or after some
// silence where something that the command started still holds it. What that goes on to write does not put the end off.
func (p *Process) wait() {
	exit, failure := p.o.Wait()
	late := time.NewTimer(settleMost)
	defer late.Stop()
	for quiet := false; !quiet; {
		p.mu.Lock()
		changed := p.changed
		p.mu.Unlock()
		timer := time.NewTimer(settle)
		select {
		case <-p.drained:
			quiet = true
		case <-changed:
		case <-timer.C:
			p.mu.Lock()
			quiet = !p.stalled // else it is the reader who is silent
			p.mu.Unlock()
		case <-late.C:
			p.mu.Lock()
			if quiet = !p.stalled; !quiet {
				late.Reset(settleMost)
			}
			p.mu.Unlock()
		}
		timer.Stop()
	}
	_ = p.o.Terminal.Close()
	<-p.drained
	<-p.typing // whoever types has failed by now
	p.exit, p.failure = exit, failure
	p.mu.Lock()
	p.over = true
	p.change()
	p.mu.Unlock()
	close(p.ended)
}

// Resize implements agentcli.Process.
func (p *Process) Resize(_ context.Context, cols, rows int) error {
	if cols < 1 || cols > maxSize || rows < 1 || rows > maxSize {
		return runtime.Errorf(runtime.CodeInvalidArgument, "%dx%d is no size of a terminal: 1 to %d columns and rows", cols, rows, maxSize)
	}
	if p.hasEnded() {
		return notRunning()
	}
	if err := p.o.Terminal.Resize(cols, rows); err != nil {
		return runtime.Errorf(runtime.CodeInternal, "the terminal cannot be resized: %v", err)
	}
	return nil
}

// Interrupt implements agentcli.Process.
func (p *Process) Interrupt(ctx context.Context) error {
	if p.hasEnded() {
		return notRunning()
	}
	return p.o.Interrupt(ctx)
}

// Kill implements agentcli.Process.
func (p *Process) Kill(ctx context.Context) error {
	p.mu.Lock()
	p.killing = true
	p.change()
	p.mu.Unlock()
	if err := p.o.Kill(ctx); err != nil {
		return err
	}
	// A process in the middle of an exec shows no mark, for longer than is waited for where the machine is busy: until the
	// command has ended it is looked for again.
	again := time.NewTicker(killAgain)
	defer again.Stop()
	for {
		select {
		case <-p.ended:
			if p.failure != nil && !errors.Is(p.failure, agentcli.ErrGone) {
				return p.failure
			}
			return nil
		case <-ctx.Done():
			return late(ctx, "the command did not end in time")
		case <-again.C:
			_ = p.o.Kill(ctx) // the first one said that it could
		}
	}
}

// killAgain is how often a command that was killed and goes on is killed again.
const killAgain = time.Second

// Wait implements agentcli.Process.
func (p *Process) Wait(ctx context.Context) (runtime.Exit, error) {
	select {
	case <-p.ended:
		return p.exit, p.failure
	case <-ctx.Done():
		return runtime.Exit{}, late(ctx, "the command did not end in time")
	}
}

// Usage implements agentcli.Meter.
func (p *Process) Usage(ctx context.Context) (agentcli.Usage, error) {
	switch {
	case p.hasEnded():
		return agentcli.Usage{}, notRunning()
	case p.o.Usage == nil:
		return agentcli.Usage{}, runtime.Errorf(runtime.CodeUnimplemented, "this runtime does not measure agents")
	}
	return p.o.Usage(ctx)
}

// Close lets go of the process; one that has ended is not found again.
func (p *Process) Close() error {
	p.mu.Lock()
	p.reader = nil
	p.change()
	p.mu.Unlock()
	if p.hasEnded() {
		p.forget()
	}
	return nil
}

func (p *Process) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func notRunning() error {
	return runtime.Errorf(runtime.CodeNotRunning, "the agent's process has ended")
}

// late is the error for a caller whose time ran out.
func late(ctx context.Context, text string) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return runtime.Errorf(runtime.CodeCanceled, "the call was cancelled")
	}
	return runtime.Errorf(runtime.CodeTimeout, "%s", text)
}
