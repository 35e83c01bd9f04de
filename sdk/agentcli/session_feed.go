package agentcli

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
)

const (
	readBytes  = 64 << 10
	readRetry  = 200 * time.Millisecond
	replayLook = 20 * time.Millisecond  // between two looks whether history was read
	replayRest = 500 * time.Millisecond // it was when no output comes for so long, if nobody knows how much there is
	replayMost = 30 * time.Second       // ... or so long after the output was opened
	// A viewer that was farther than what was read so far waits so long for the rest.
	historyMost = 3 * time.Second
)

// feeder reads the output of the process, and gives it to the display. Its goroutine is run.
type feeder struct {
	ctx      context.Context // of the session
	proc     Process
	base     uint64 // offset of the first byte of this life
	display  *display
	typist   *typist
	mail     *mailbox
	output   func()           // called on the loop: output came
	commands func(oscs []osc) // called on the loop
	logger   hclog.Logger

	noted    atomic.Bool               // a note about output is in the mailbox
	opened   atomic.Pointer[time.Time] // when the output was opened; nil: not yet
	fed      atomic.Uint64             // output before it was read, and its commands are in the mailbox or done
	caughtUp chan struct{}             // closed when the last byte was seen
}

// run feeds the display with the output, until that ends or ctx does.
func (f *feeder) run() {
	defer close(f.caughtUp)
	buf := make([]byte, readBytes)
	for f.ctx.Err() == nil {
		ended, err := f.readFrom(buf)
		if ended {
			return
		}
		if err != nil && f.ctx.Err() == nil {
			f.logger.Debug("the output broke off; reading on", "error", err)
		}
		select {
		case <-f.ctx.Done():
		case <-time.After(readRetry):
		}
	}
}

// readFrom reads one Output to its end; ended when no further one will have more.
func (f *feeder) readFrom(buf []byte) (ended bool, err error) {
	f.display.mu.Lock()
	from := f.display.at
	f.display.mu.Unlock()
	out, err := f.proc.Output(f.ctx, from-f.base)
	if err != nil {
		return errors.Is(err, ErrGone), err
	}
	now := time.Now()
	f.opened.CompareAndSwap(nil, &now)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() { // a blocked Read ends when the session does
		defer close(done)
		select {
		case <-f.ctx.Done():
		case <-stop:
		}
		_ = out.Close()
	}()
	defer func() {
		close(stop)
		<-done
	}()
	if start := out.Offset() + f.base; start > from {
		f.logger.Debug("output was lost", "bytes", start-from)
		f.display.skip(start)
	}
	f.fed.Store(out.Offset() + f.base)
	for {
		n, err := out.Read(buf)
		if n > 0 {
			f.take(buf[:n])
		}
		if err != nil {
			return errors.Is(err, io.EOF), err
		}
	}
}

// take feeds one piece of output.
func (f *feeder) take(p []byte) {
	replies, oscs := f.display.feed(p)
	if len(replies) > 0 {
		f.typist.reply(slices.Clone(replies))
	}
	if len(oscs) > 0 {
		f.mail.post(func() { f.commands(oscs) })
		f.pressure()
	}
	if !f.noted.Swap(true) {
		f.mail.post(f.output)
	}
	f.fed.Add(uint64(len(p)))
	f.display.pace()
}

// pressure waits while the loop has much to do: a flood of commands does not pile up.
func (f *feeder) pressure() {
	const most = 256
	for f.mail.size() > most && f.ctx.Err() == nil {
		caught := make(chan struct{})
		if !f.mail.post(func() { close(caught) }) {
			return
		}
		select {
		case <-caught:
		case <-f.ctx.Done():
			return
		}
	}
}

// readHistory reports whether the output up to where it was when the process was found has been read, and the loop knows of
// all the commands in it: up to head if that is known.
func (f *feeder) readHistory(head uint64, known bool) bool {
	opened := f.opened.Load()
	if opened == nil {
		return false
	}
	if known && f.fed.Load() >= head {
		return true
	}
	since := time.Since(*opened)
	if !known && since >= replayRest && f.display.quiet() >= replayRest {
		return true
	}
	if since < replayMost {
		return false
	}
	f.logger.Warn("the earlier output of the agent is not read to its end in time", "seconds", int(since.Seconds()))
	return true
}
