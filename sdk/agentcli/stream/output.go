package stream

import (
	"context"
	"io"
	"os"

	"github.com/wardroom/wardroom/sdk/agentcli"
	"github.com/wardroom/wardroom/sdk/runtime"
)

// output is the one reader of a process.
type output struct {
	p      *Process
	stop   func() bool // of watching the context of Output's caller
	at     uint64      // guarded by p.mu
	closed bool        // guarded by p.mu
}

// Output implements agentcli.Process.
func (p *Process) Output(ctx context.Context, from uint64) (agentcli.Output, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := &output{p: p, at: min(max(from, p.ring.start()), p.ring.end())}
	p.reader = o
	p.change()
	// A reader whose context has ended must not hold the command up any longer.
	o.stop = context.AfterFunc(ctx, o.end)
	return o, nil
}

// Offset implements agentcli.Output.
func (o *output) Offset() uint64 {
	o.p.mu.Lock()
	defer o.p.mu.Unlock()
	return o.at
}

// Read implements io.Reader.
func (o *output) Read(b []byte) (int, error) {
	p := o.p
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		switch {
		case o.closed:
			return 0, os.ErrClosed
		case p.reader != o:
			return 0, runtime.Errorf(runtime.CodeUnavailable, "another reader took over")
		case o.at < p.ring.end():
			n := copy(b, p.ring.from(o.at))
			o.at += uint64(n)
			p.change()
			return n, nil
		case p.over:
			return 0, io.EOF
		}
		changed := p.changed
		p.mu.Unlock()
		<-changed
		p.mu.Lock()
	}
}

// Close ends a Read that waits.
func (o *output) Close() error {
	o.stop()
	o.end()
	return nil
}

func (o *output) end() {
	p := o.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if o.closed {
		return
	}
	o.closed = true
	if p.reader == o {
		p.reader = nil
	}
	p.change()
}
