package agentcli

import (
	"sync"
	"sync/atomic"
	"time"
)

// loop is the one goroutine that owns the state of a session. What others want of it they post into the mailbox.
type loop struct {
	mail  *mailbox
	group sync.WaitGroup // of all other goroutines of the session
	over  bool           // nothing is done any more; the loop owns it
}

// spawn runs fn on a goroutine that the session joins.
func (l *loop) spawn(fn func()) { l.group.Go(fn) }

// after posts fn to the loop later.
func (l *loop) after(d time.Duration, fn func()) (cancel func()) {
	var off atomic.Bool
	timer := time.AfterFunc(d, func() {
		l.mail.post(func() {
			if !off.Load() && !l.over {
				fn()
			}
		})
	})
	return func() {
		off.Store(true)
		timer.Stop()
	}
}

// do runs fn on a goroutine of the session, and then done on the loop.
func (l *loop) do(fn, done func()) {
	l.spawn(func() {
		fn()
		l.mail.post(func() {
			if !l.over && done != nil {
				done()
			}
		})
	})
}
