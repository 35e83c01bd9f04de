package api

import (
	"time"

	"github.com/wardroom/wardroom/core"
)

// maxDeciding bounds how long one list waits for decisions about its rows, but for the last one. It is there for policies that operators
// wrote: at the limit of each decision, a page would take minutes.
const maxDeciding = 10 * time.Second

// errSlow is the error of a list of which there was no time to decide about all.
var errSlow = core.Unavailable("policy_slow",
	"the policy took more than %s to decide which rows of the list the caller may read; ask for fewer, or try again: what it decided in time is kept. "+
		"The policy should be made quicker: a list asks it about each row", maxDeciding)

// decider decides about the rows of one list. It is not safe for concurrent use.
type decider struct {
	c     *call
	spent time.Duration // on decisions
}

// may reports whether the caller may read a row; the error is errSlow.
func (d *decider) may(need Access) (bool, error) {
	if d.spent >= maxDeciding {
		return false, errSlow
	}
	clock := d.c.s.opts.Clock
	began := clock.Now()
	may := d.c.mayList(need)
	d.spent += clock.Now().Sub(began)
	return may, nil
}
