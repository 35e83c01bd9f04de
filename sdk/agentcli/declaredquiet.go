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
		d.waits(d.prompted(d.below(d.h.Rows())))
	default:
		d.lookAgain(step)
	}
}
