package agentcli

import (
	"context"
	"errors"
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
	"github.com/wardroom/wardroom/sdk/wire"
)

// A CLI that is stopped or starved has not read what is typed. After the end of the process that typed it, the message has
// an unknown delivery, is sent again, and would be had twice once the CLI goes on.

// backlogRest is how long after it has read all of its backlog a CLI may take to show what it took of it.
const backlogRest = 3 * time.Second

// backlogMost bounds the wait for output, of a process that does not tell what was read: it may have been nothing that
// the CLI answers.
const backlogMost = 2 * time.Minute

// backlog knows whether the CLI may still take what an earlier process typed. The session's loop owns it.
type backlog struct {
	there bool
	since time.Time // when it was seen
	head  uint64    // of the output then
	mute  bool      // the process does not tell what was read since
	asked bool      // it is being asked
	again time.Time // when it may be asked next
	moved time.Time // when all was read or, of a mute process, there was output behind head; zero: not yet
}

// unread reports whether the CLI had input to read when it was found, and may not have taken it yet.
func (d *delivery) unread() bool {
	b := &d.backlog
	switch {
	case !b.there:
		return false
	case !b.moved.IsZero():
	case !b.mute:
		d.askUnread()
		return true
	case d.s.display.offset() <= b.head:
		b.there = time.Since(b.since) < backlogMost
		return b.there
	default:
		b.moved = time.Now()
	}
	b.there = time.Since(b.moved) < backlogRest
	return b.there
}

// askUnread asks the process whether all was read. One that cannot be reached is asked again.
func (d *delivery) askUnread() {
	b := &d.backlog
	if b.asked || time.Now().Before(b.again) {
		return
	}
	b.asked = true
	d.measure(func(unread int, err error) {
		b.asked, b.again = false, time.Now().Add(screenEvery)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			b.mute = true
		case err == nil && unread == 0:
			b.moved = time.Now()
		}
	})
}

// measure asks how many bytes the command has not read by now. done runs on the loop; errors.ErrUnsupported where that is not known.
func (d *delivery) measure(done func(unread int, err error)) {
	var unread int
	err := errors.ErrUnsupported
	p, ok := d.s.proc.(Backlogger)
	d.s.do(func() {
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(d.s.ctx, measureTimeout)
		defer cancel()
		unread, err = p.Unread(ctx)
	}, func() { done(unread, err) })
}

// takenAs returns what is remembered of a message that is sent again, if the agent took it under a key before; nil if it
// did not, as far as is known.
func (d *delivery) takenAs(m *message) *inputRecord {
	first, n, ok := wire.ParseResendKey(m.id)
	if !ok {
		return nil
	}
	for n = min(n, maxInputs) - 1; n >= 1; n-- {
		key := first
		if n > 1 {
			key = wire.ResendKey(first, n)
		}
		if r := d.inputs.find(key); r != nil && r.Sum == textSum(m.text) && (r.State == inputSent || r.State == inputTurn) {
			return r
		}
	}
	return nil
}

// takenMeanwhile takes messages out of the queue that are sent again and that the agent has turned out to have: the turn that
// began is theirs.
func (d *delivery) takenMeanwhile() {
	queue := d.takeQueue()
	for _, m := range queue {
		r := d.takenAs(m)
		if r == nil || d.s.fusion.turn == nil || d.s.fusion.turn.input != r.ID {
			d.queue = append(d.queue, m)
			continue
		}
		d.s.book.note("a message that was sent again had been taken")
		if !m.expect || d.s.fusion.turn.msg != nil {
			d.answer(m, runtime.SendResult{Sent: true}, nil)
			continue
		}
		m.stage, d.s.fusion.turn.msg = stageTook, m
	}
}
