package agentcli

import (
	"time"

	"github.com/wardroom/wardroom/sdk/runtime"
)

const (
	copyShare = 20 // copies take at most one part in so many of the time
	copyPause = 50 * time.Millisecond
)

// sessionCopier takes copies of the session of an agent that runs, where its room may be gone with it: after turns, on a
// goroutine of the runtime, and never so that a turn waits for one. The session's loop owns it.
type sessionCopier struct {
	s     *session
	take  func(last runtime.Agent) error // nil: the room lasts, or the agent's type has no sessions to copy
	due   bool
	busy  bool
	next  time.Time // not before
	timer func()
}

// turnEnded has a copy taken soon.
func (c *sessionCopier) turnEnded() {
	c.due = c.take != nil
	c.arm()
}

func (c *sessionCopier) arm() {
	if !c.due || c.busy || c.timer != nil {
		return
	}
	c.timer = c.s.after(max(time.Until(c.next), copyPause), func() {
		c.timer = nil
		c.run()
	})
}

func (c *sessionCopier) run() {
	c.due, c.busy = false, true
	c.s.dirty = true
	c.s.store() // the driver's state says where the session is
	last, begin, take, s := c.s.agent, time.Now(), c.take, c.s
	s.background(func() {
		err := take(last)
		s.mail.post(func() {
			c.busy = false
			c.next = time.Now().Add(max(s.o.CopyEvery, copyShare*time.Since(begin)))
			if err != nil && !s.over {
				s.logger.Debug("the session of an agent that runs is not copied", "error", err)
				c.due = c.due || !isGone(err) && runtime.ErrorCode(err) != runtime.CodeResourceLimit
			}
			if !s.over {
				c.arm()
			}
		})
	})
}
