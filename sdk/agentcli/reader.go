package agentcli

import (
	"errors"
	"io"
	"slices"
	"time"
)

const (
	readBytes  = 64 << 10
	readRetry  = 200 * time.Millisecond
	replayRest = 20 * time.Millisecond // history has been read when no output comes for so long
	replayMost = time.Second           // ... or after so long
	// A viewer that was farther than what was read so far waits so long for the rest.
	historyMost = 3 * time.Second
)

// read feeds the display with the output, until that ends or ctx does.
func (s *session) read() {
	defer close(s.caughtUp)
	buf := make([]byte, readBytes)
	for s.ctx.Err() == nil {
		ended, err := s.readFrom(buf)
		if ended {
			return
		}
		if err != nil && s.ctx.Err() == nil {
			s.logger.Debug("the output broke off; reading on", "error", err)
		}
		select {
		case <-s.ctx.Done():
		case <-time.After(readRetry):
		}
	}
}

// readFrom reads one Output to its end; ended when no further one will have more.
func (s *session) readFrom(buf []byte) (ended bool, err error) {
	s.display.mu.Lock()
	from := s.display.at
	s.display.mu.Unlock()
	out, err := s.proc.Output(s.ctx, from-s.base)
	if err != nil {
		return errors.Is(err, ErrGone), err
	}
	now := time.Now()
	s.opened.CompareAndSwap(nil, &now)
	stop := make(chan struct{})
	done := make(chan struct{})
	go func() { // a blocked Read ends when the session does
		defer close(done)
		select {
		case <-s.ctx.Done():
		case <-stop:
		}
		_ = out.Close()
	}()
	defer func() {
		close(stop)
		<-done
	}()
	if start := out.Offset() + s.base; start > from {
		s.logger.Debug("output was lost", "bytes", start-from)
		s.display.skip(start)
	}
	for {
		n, err := out.Read(buf)
		if n > 0 {
			s.take(buf[:n])
		}
		if err != nil {
			return errors.Is(err, io.EOF), err
		}
	}
}

// take feeds one piece of output.
func (s *session) take(p []byte) {
	replies, oscs := s.display.feed(p)
	if len(replies) > 0 {
		s.typist.reply(slices.Clone(replies))
	}
	if len(oscs) > 0 {
		s.mail.post(func() { s.commands(oscs) })
		s.pressure()
	}
	if !s.outputNoted.Swap(true) {
		s.mail.post(s.output)
	}
	s.display.pace()
}

// pressure waits while the loop has much to do: a flood of commands does not pile up.
func (s *session) pressure() {
	const most = 256
	for s.mail.size() > most && s.ctx.Err() == nil {
		caught := make(chan struct{})
		if !s.mail.post(func() { close(caught) }) {
			return
		}
		select {
		case <-caught:
		case <-s.ctx.Done():
			return
		}
	}
}

// unmute lets the terminal answer again, and messages be typed, once history was read, at the latest at until. What
// was left on the input line shows only then.
func (s *session) unmute(until time.Time) {
	opened := s.opened.Load()
	read := opened != nil && time.Since(*opened) >= replayRest && s.display.quiet() >= replayRest
	if read || !time.Now().Before(until) {
		s.display.mute(false)
		s.behind = false
		s.pump()
		return
	}
	s.after(replayRest, func() { s.unmute(until) })
}
