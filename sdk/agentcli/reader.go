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
	replayLook = 20 * time.Millisecond  // between two looks whether history was read
	replayRest = 500 * time.Millisecond // it was when no output comes for so long, if nobody knows how much there is
	replayMost = 30 * time.Second       // ... or so long after the output was opened
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
	s.fed.Store(out.Offset() + s.base)
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
	s.fed.Add(uint64(len(p)))
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

// catchUp ends the time in which the session is behind: once history was read, the terminal answers again, the driver looks
// at it, hooks are heard, and messages are typed. What was left on the input line shows only then.
func (s *session) catchUp() {
	if s.over || !s.behind {
		return
	}
	if !s.readHistory() {
		s.after(replayLook, s.catchUp)
		return
	}
	s.display.mute(false)
	s.behind = false
	if s.wish != (wish{}) {
		s.after(redoGrace, s.redo)
	}
	if w, ok := s.driver.(outputWatcher); ok {
		w.output(s.display.offset())
	}
	if s.pauseTimer == nil {
		s.pause()
	}
	s.pump()
}

// readHistory reports whether the output up to where it was when the process was found has been read, and the loop knows of
// all the commands in it.
func (s *session) readHistory() bool {
	opened := s.opened.Load()
	if opened == nil {
		return false
	}
	if s.headKnown && s.fed.Load() >= s.head {
		return true
	}
	since := time.Since(*opened)
	if !s.headKnown && since >= replayRest && s.display.quiet() >= replayRest {
		return true
	}
	if since < replayMost {
		return false
	}
	s.logger.Warn("the earlier output of the agent is not read to its end in time", "seconds", int(since.Seconds()))
	return true
}
