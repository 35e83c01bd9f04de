//go:build !faultclock

package appliance

import "github.com/wardroom/wardroom/core"

// newClock returns the clock of the process. A build with the tag faultclock, which only rigs make, has another one.
func newClock() core.Clock { return core.SystemClock{} }
