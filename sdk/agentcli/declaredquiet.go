package agentcli

import "time"

const (
	quietLooks = 4   // a command is looked at so often while it is quiet, whether it runs
	quietMost  = 200 // one that runs on and on is taken to wait after so many times the quiet that is asked for
)

// stillness is what is known of a command without a prompt that prints nothing. Silence alone says little on a busy
// machine, where a command gets no processor, and of one that computes.
type stillness struct {
	looks  int    // in a row at which nothing of it ran
	offset uint64 // of the output at the last of them
	at     time.Time
	asking bool
}

// lookForQuiet decides whether a command waits that shows no prompt: when it printed nothing for a while, and did not run
// at any look meanwhile.
func (d *declaredDriver) lookForQuiet(wait time.Duration) {
	step := wait / quietLooks
	rest := step - min(d.h.Quiet(), d.h.Now().Sub(d.still.at))
	switch {
	case d.still.asking:
	case rest > 0 && rest <= step:
		d.lookAgain(rest)
	default:
		d.still.asking = true
		d.h.Running(func(running bool) {
			d.still.asking = false
			d.sawRunning(running, step)
		})
	}
}

func (d *declaredDriver) sawRunning(running bool, step time.Duration) {
	s := &d.still
	if s.offset != d.h.Offset() || running {
		s.looks, s.offset = 0, d.h.Offset()
	}
	if !running {
		s.looks++
	}
	s.at = d.h.Now()
	wait, quiet := d.quietTime(), d.h.Quiet()
	switch {
	case wait == 0 || d.saved.Ready && !d.saved.Busy: // something else told meanwhile
	case s.looks >= quietLooks && quiet >= wait, quiet >= quietMost*wait:
		s.looks = 0
		d.endQuiet(quiet >= quietMost*wait, step)
	default:
		d.lookAgain(step)
	}
}

// endQuiet takes a command for one that waits because it is quiet, unless its prompt is known and another program than the one that
// showed it has the terminal: that one runs, in silence, and what is typed now would be its input. long reports that it
// was quiet for so long that this does not count.
func (d *declaredDriver) endQuiet(long bool, step time.Duration) {
	prompted := d.prompted(d.below(d.h.Rows()))
	if long || d.pattern == nil || d.asked || !d.saved.Busy || d.saved.Owner == 0 {
		d.waits(prompted)
		return
	}
	d.still.asking = true
	offset := d.h.Offset()
	d.h.Foreground(func(group int) {
		d.still.asking = false
		switch {
		case !d.saved.Busy:
		case offset != d.h.Offset():
			d.look(d.h.Rows())
		case group == 0, group == d.saved.Owner, prompted && d.h.Quiet() >= d.foreign():
			d.waits(prompted)
		default:
			d.lookAgain(step)
		}
	})
}
