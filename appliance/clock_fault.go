//go:build faultclock

package appliance

import (
	"os"

	"github.com/wardroom/wardroom/core"
	"github.com/wardroom/wardroom/core/coretest"
)

// newClock returns a clock that a rig moves by the file that WARDROOM_FAULT_CLOCK names. No release is built with the tag.
func newClock() core.Clock {
	if path := os.Getenv("WARDROOM_FAULT_CLOCK"); path != "" {
		return coretest.NewFaultClock(path)
	}
	return core.SystemClock{}
}
