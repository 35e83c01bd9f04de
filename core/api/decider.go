package api

import (
	"time"

	"github.com/wardroom/wardroom/core"
)

// maxDeciding bounds how long a request waits for decisions about the rows of its lists, but for the last one. It is there for policies
// that operators wrote: at the limit of each decision, a page would take minutes.
const maxDeciding = 10 * time.Second

// errSlow is the error of a list of which nothing could be shown in that time.
var errSlow = core.Unavailable("policy_slow",
	"the policy took more than %s to decide which rows of the list the caller may read, and there was no time for one to show: "+
		"make the policy quicker, as a list asks it about each row", maxDeciding)

// may reports whether the caller may read a row of a list; slow, that there was no time to decide about it.
func (c *call) may(need Access) (may, slow bool) {
	if c.slow() {
		return false, true
	}
	clock := c.s.opts.Clock
	began := clock.Now()
	may = c.mayList(need)
	c.deciding += clock.Now().Sub(began)
	return may, false
}

// slow reports whether no time is left to decide about rows.
func (c *call) slow() bool { return c.deciding >= maxDeciding }
